package hazard

import (
	"database/sql/driver"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestFloats(t *testing.T) {
	for _, f := range []float64{0, 1, -1.5, 7, 7.75, 1e18, -(1 << 63), math.Nextafter(1<<63, 0), math.Inf(1), math.Inf(-1), 1e-300} {
		if why := FloatFault(f); why != "" {
			t.Errorf("%v: %s", f, why)
		}
	}
	for _, f := range []float64{math.NaN(), 1 << 63, 1e19, -1e19, math.MaxFloat64, -math.MaxFloat64} {
		if FloatFault(f) == "" {
			t.Errorf("%v passes", f)
		}
	}
}

func TestUUIDs(t *testing.T) {
	for _, s := range []string{
		"", "x", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "00000000-0000-0000-0000-000000000000", "99999999-9999-9999-d999-999999999999",
		strings.Repeat("f", 32), // any digest looks so
		"ffffffff-ffff-ffff-ffff-fffffffffffg", "ffffffff_ffff-ffff-ffff-ffffffffffff", strings.Repeat("f", 36),
	} {
		if why := UUIDFault(s); why != "" {
			t.Errorf("%s: %s", s, why)
		}
	}
	for _, s := range []string{
		"ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-e000-000000000000", "00000000-0000-0000-E000-00000000000A",
		"{00000000-0000-0000-f000-000000000000}", "urn:uuid:00000000-0000-0000-ef00-000000000000",
	} {
		if UUIDFault(s) == "" {
			t.Errorf("%s passes", s)
		}
	}
}

func values(vs ...any) []driver.NamedValue {
	args := make([]driver.NamedValue, len(vs))
	for i, v := range vs {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return args
}

// Two lists of arguments get the same blanks exactly if their fractions stand in the same places; blanks are all that is added.
func TestSuffixTellsPatternsApart(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 9))
	seen := map[string]string{} // suffix → places
	for range 20_000 {
		n := 1 + rnd.IntN(12)
		vs := make([]any, n)
		places := make([]byte, n)
		for i := range vs {
			places[i] = '0'
			switch rnd.IntN(5) {
			case 0:
				vs[i] = float64(rnd.IntN(100)) + 0.25
				places[i] = '1'
			case 1:
				vs[i] = float64(rnd.IntN(100))
			case 2:
				vs[i] = int64(rnd.IntN(100))
			case 3:
				vs[i] = []string{"x", "15", "1.0", "-2e3", "1.2.3", "v1.5", ""}[rnd.IntN(7)]
			case 4:
				if rnd.IntN(2) == 0 {
					vs[i] = []string{"1.5", "-0.25", "1e-3", "Infinity", "-Infinity", "7.75E0"}[rnd.IntN(6)]
					places[i] = '1'
				}
			}
		}
		key := strings.TrimRight(string(places), "0")
		suffix := Suffix(values(vs...))
		if strings.Trim(suffix, " \t\n") != "" {
			t.Fatalf("%q", suffix)
		}
		if old, ok := seen[suffix]; ok && old != key {
			t.Fatalf("%q is for %s and %s", suffix, old, key)
		}
		seen[suffix] = key
		if (suffix == "") != (key == "") {
			t.Fatalf("%q for %s", suffix, key)
		}
	}
}

func TestGuards(t *testing.T) {
	on := Guards{Floats: true, UUIDs: true}
	var e *Error
	if err := on.Value(3, math.NaN()); !errors.As(err, &e) || e.Kind != Float || e.Ordinal != 3 || e.Setting != "float_guard=off" {
		t.Errorf("%v", err)
	}
	if err := on.Value(1, "ffffffff-ffff-ffff-ffff-ffffffffffff"); !errors.As(err, &e) || e.Kind != UUID || e.Setting != "uuid_guard=off" {
		t.Errorf("%v", err)
	}
	for _, v := range []any{math.NaN(), "ffffffff-ffff-ffff-ffff-ffffffffffff"} {
		if err := (Guards{}).Value(1, v); err != nil {
			t.Errorf("off: %v", err)
		}
	}
}

func TestTexts(t *testing.T) {
	for sql, most := range map[string]int{
		"select a||b||c from t":                           2,
		"select a + b * c - 1 from t where x = y + 1":     3,
		"select f(a||b, c||d), e||f from t":               1,
		"insert into t values (-1, -2, -3), (-4, -5, -6)": 1,
		"select 'a||b||c||d' from t -- ||||":              0,
	} {
		if why := TextFault(sql, most); why != "" {
			t.Errorf("%s: %s", sql, why)
		}
	}
	for sql, most := range map[string]int{
		"select a||b||c from t":                                 1,
		"select 1" + strings.Repeat("+1", 16):                   15,
		"select t.a||t.b::text||t.c from t":                     1,
		strings.Repeat("(", 60) + "1" + strings.Repeat(")", 60): 100,
	} {
		if TextFault(sql, most) == "" {
			t.Errorf("%s passes with %d", sql, most)
		}
	}
}
