package options

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// checkFixpoint wants that what FormatDSN writes is read back to the same settings and the same text.
func checkFixpoint(t *testing.T, c *Config) {
	t.Helper()
	text := c.FormatDSN()
	again, err := ParseDSN(text)
	if err != nil {
		t.Fatalf("ParseDSN refuses what FormatDSN wrote: %s: %v", text, err)
	}
	if !sameConfig(c, again) {
		t.Fatalf("%s is read back otherwise:\n got %s\nwant %s", text, fields(again), fields(c))
	}
	if twice := again.FormatDSN(); twice != text {
		t.Fatalf("no fixpoint:\nfirst  %s\nsecond %s", text, twice)
	}
}

// fields prints a Config of a test in full, which its own methods refuse.
func fields(c *Config) string {
	type bare Config
	return fmt.Sprintf("%+v", bare(*c))
}

func TestFormatDSNIsAFixpointOfGoodDSNs(t *testing.T) {
	for _, tt := range goodDSNs {
		c, err := ParseDSN(tt.dsn)
		if err != nil {
			t.Errorf("ParseDSN(%q): %v", tt.dsn, err)
			continue
		}
		checkFixpoint(t, c)
	}
}

// TestFormatDSNIsAFixpointOfRandomConfigs fills Configs at random, as programs may, and formats those that are valid.
func TestFormatDSNIsAFixpointOfRandomConfigs(t *testing.T) {
	runs := 3000
	if testing.Short() {
		runs = 300
	}
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	valid := 0
	for range runs {
		c := randomConfig(rnd)
		if c.Normalize() != nil || c.check() != nil {
			continue
		}
		valid++
		checkFixpoint(t, c)
	}
	if valid < runs/8 {
		t.Errorf("seed %d: only %d of %d random Configs are valid: the test proves little", seed, valid, runs)
	}
}

// randomConfig changes some fields of a default Config.
func randomConfig(rnd *rand.Rand) *Config {
	c := New()
	text := func() string {
		const bytes = "ab01 @:/?#%&=+,;'\"\\[]<>~*é世\x01"
		b := make([]rune, rnd.IntN(8))
		for i := range b {
			b[i] = []rune(bytes)[rnd.IntN(len([]rune(bytes)))]
		}
		return string(b)
	}
	name := func() string { return fmt.Sprintf("n%d", rnd.IntN(5)) }
	host := func() Host {
		return Host{[]string{"h", "10.0.0.1", "::1", "fe80::1%eth0", "a-b.c_d"}[rnd.IntN(5)], uint16(1 + rnd.IntN(65535))}
	}
	v := reflect.ValueOf(c).Elem()
	for _, k := range table() {
		if rnd.IntN(8) != 0 {
			continue
		}
		f := v.FieldByName(k.Go)
		switch x := f.Addr().Interface().(type) {
		case *string:
			switch k.Name {
			case "ssl_min_protocol_version", "ssl_max_protocol_version":
				*x = tlsVersions[rnd.IntN(len(tlsVersions))]
			case "tls_server_name":
				*x = host().Name
			case "mirror":
				*x = "picodata://m:" + name() + "@h?max_conns=3"
			default:
				*x = text()
			}
		case *bool:
			*x = rnd.IntN(2) == 0
		case *int:
			*x = rnd.IntN(20)
		case *Limit:
			*x = []Limit{LimitUnset, NoLimit, 7}[rnd.IntN(3)]
		case *float64:
			*x = rnd.Float64()
		case *time.Duration:
			*x = time.Duration(rnd.Int64N(int64(3 * time.Hour)))
			if rnd.IntN(2) == 0 {
				*x = x.Truncate(time.Minute)
			}
		case *[]string:
			*x = []string{name()}
			if k.Name == "prefer_zones" {
				*x = []string{name() + "=" + name() + "/" + name() + "=x", name() + "=y"}
			}
		case *[]NodeRule:
			*x = []NodeRule{{name(), rnd.IntN(9)}, {host().Address(), rnd.IntN(9)}, {"tier:" + name(), rnd.IntN(9)}}
		case *[]Mapping:
			*x = []Mapping{{host().Address(), host().Address()}, {"x", "y"}}
		case *[]netip.Prefix:
			*x = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
		case *[]Setting:
			*x = []Setting{{name(), strings.ReplaceAll(text(), ",", "")}, {"pico_query_metadata", "true"}, {"read_preference", "ANY"}}
		case *[]Host:
			*x = []Host{host(), {"last", 1}}
		case *NoShard:
			*x = NoShard{Behavior: NoShardN, Shard: rnd.IntN(9)}
		default:
			f.SetUint(uint64(rnd.IntN(3)))
		}
	}
	return c
}

func TestFormatDurationIsReadBack(t *testing.T) {
	for text, d := range map[string]time.Duration{
		"0": 0, "1ns": 1, "1.5s": 1500 * time.Millisecond, "1m": time.Minute, "10m": 10 * time.Minute, "1h": time.Hour,
		"1h30m": 90 * time.Minute, "100h0m1s": 100*time.Hour + time.Second, "1m10s": 70 * time.Second, "10h": 10 * time.Hour, "-1h": -time.Hour,
	} {
		if got := formatDuration(d); got != text {
			t.Errorf("formatDuration(%d) = %s, want %s", d, got, text)
		}
		if back, err := time.ParseDuration(text); err != nil || back != d {
			t.Errorf("ParseDuration(%s) = %v, %v", text, back, err)
		}
	}
}

func TestFormatOfNothing(t *testing.T) {
	if got := (*Config)(nil).FormatDSN(); got != "" {
		t.Errorf("FormatDSN(nil) = %q", got)
	}
	if got := (&Config{InstanceRole: 99, Mode: 77}).FormatDSN(); !strings.HasPrefix(got, "picodata:///?") {
		t.Errorf("FormatDSN of nonsense = %q", got)
	}
}
