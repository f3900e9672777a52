package options

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

func TestMatchTakesNameBeforeAddressBeforeTier(t *testing.T) {
	rules := []NodeRule{{"tier:cold", 1}, {"h1:4327", 2}, {"i3", 3}, {"[::1]:4328", 4}, {"tier:hot", 5}, {"cold", 6}, {"", 7}, {"tier:", 8}}
	for _, tt := range []struct {
		name      string
		addresses []string
		tier      string
		want      int
		ok        bool
	}{
		{"i3", []string{"h1:4327"}, "cold", 3, true},
		{"i4", []string{"h1:4327"}, "cold", 2, true},
		{"i4", []string{"x:1", "H1:4327"}, "cold", 2, true},
		{"i4", []string{"h1"}, "cold", 2, true}, // a row without a port has the default one
		{"i4", []string{"[0:0::1]:4328"}, "cold", 4, true},
		{"i4", []string{"h1:4328"}, "cold", 1, true},
		{"i4", nil, "hot", 5, true},
		{"cold", nil, "", 6, true},
		{"tier:cold", nil, "", 1, true}, // an instance of such a name is selected by it
		{"i4", []string{"", "::1:4328"}, "warm", 0, false},
		{"", nil, "", 0, false}, // neither the empty selector nor tier: means such a node
	} {
		if got, ok := Match(rules, tt.name, tt.addresses, tt.tier); got != tt.want || ok != tt.ok {
			t.Errorf("Match(%q, %q, %q) = %d, %v, want %d, %v", tt.name, tt.addresses, tt.tier, got, ok, tt.want, tt.ok)
		}
	}
}

func TestMapAddress(t *testing.T) {
	c := New()
	if !mustSet(t, c, "address_map", "10.0.0.1:4327>127.0.0.1:14327,10.0.0.2>gate,[::1]:4327>[::2]:1,B:1>c:2") {
		return
	}
	for _, tt := range []struct {
		in, want string
		ok       bool
	}{
		{"10.0.0.1:4327", "127.0.0.1:14327", true},
		{"10.0.0.1", "127.0.0.1:14327", true},
		{"10.0.0.1:4328", "10.0.0.1:4328", false},
		{"10.0.0.2:4327", "gate:4327", true},
		{"10.0.0.2:99", "gate:99", true},
		{"[0::1]:4327", "[::2]:1", true},
		{"b:1", "c:2", true},
		{"", "", false},
		{"::1:4327", "::1:4327", false},
	} {
		if got, ok := c.MapAddress(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("MapAddress(%q) = %q, %v, want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
	if got, ok := New().MapAddress("a:1"); got != "a:1" || ok {
		t.Errorf("without address_map: %q, %v", got, ok)
	}
}

func TestParseAddress(t *testing.T) {
	for in, want := range map[string]string{
		"h": "h:4327", "h:": "h:4327", "h:1": "h:1", "1.2.3.4:5": "1.2.3.4:5", "[::1]": "[::1]:4327", "[::1]:": "[::1]:4327",
		"[fe80::1%eth0]:5": "[fe80::1%eth0]:5",
		"":                 "", ":1": "", "::1": "", "::1:4328": "", "[::1": "", "[::1]x": "", "[h]:1": "", "h:x": "", "h:0": "", "h:65536": "", "h h:1": "",
		"h,i:1": "", "/run/x": "", "@x:1": "", "[1.2.3.4]:1": "", "h:-1": "", "h:1:2": "", "[::1]:x": "",
	} {
		h, err := ParseAddress(in)
		if got := h.Address(); want == "" && err == nil || want != "" && (err != nil || got != want) {
			t.Errorf("ParseAddress(%q) = %s, %v, want %q", in, got, err, want)
		}
	}
}

func TestSameAddress(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"a:1", "A:1", true}, {"a", "a:4327", true}, {"[::1]:1", "[0:0::1]:1", true}, {"[::ffff:1.2.3.4]:1", "1.2.3.4:1", true},
		{"a:1", "a:2", false}, {"a:1", "b:1", false}, {"::1:1", "::1:1", true}, {"", "", true}, {"", "a:1", false},
	} {
		if got := SameAddress(tt.a, tt.b); got != tt.want {
			t.Errorf("SameAddress(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

func TestZones(t *testing.T) {
	domain := map[string]string{"DC": "M1", "RACK": "R7"}
	for item, want := range map[string]bool{
		"DC=M1": true, "dc=m1": true, "DC=M1/RACK=R7": true, "DC=M1/RACK=R8": false, "ROW=1": false,
	} {
		zone, err := ParseZone(item)
		if got := ZoneMatches(zone, domain); err != nil || got != want {
			t.Errorf("zone %q matches: %v, %v, want %v", item, got, err, want)
		}
	}
	for _, item := range []string{"", "DC", "=M1", "DC=", "DC=a/", "DC=a=b"} {
		if zone, err := ParseZone(item); err == nil {
			t.Errorf("ParseZone(%q) = %v, want an error", item, zone)
		}
	}
	if ZoneMatches(nil, domain) {
		t.Error("no zone matches a node")
	}
}

// What an index says of a node is what a walk over the rules says.
func TestRuleIndexAgainstWalk(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 9))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	address := func() string {
		return pick("10.0.0.1", "[::ffff:10.0.0.1]", "Node.example", "node.EXAMPLE", "[::1]", "bad host", "") + pick("", ":4327", ":5", ":x")
	}
	for range 20_000 {
		var rules []NodeRule
		var list []Mapping
		for i := range rnd.IntN(6) {
			rules = append(rules, NodeRule{Selector: pick("i1", "i2", "tier:a", "tier:b", address(), address()), Value: i})
			list = append(list, Mapping{From: pick("i1", address(), address()), To: pick("x", "y:1")})
		}
		name, tier, addresses := pick("", "i1", "i2"), pick("", "a", "b"), []string{address(), address()}
		want, ok := walk(rules, name, addresses, tier)
		if got, found := Match(rules, name, addresses, tier); got != want || found != ok {
			t.Fatalf("%+v for %q %q %q: %d %v, want %d %v", rules, name, addresses, tier, got, found, want, ok)
		}
		at := -1
		from, err := ParseAddress(addresses[0])
		for i, m := range list {
			h, errFrom := ParseAddress(m.From)
			if m.From == addresses[0] || err == nil && errFrom == nil && sameHost(h.Name, from.Name) && (!hasPort(m.From) || h.Port == from.Port) {
				at = i
				break
			}
		}
		got, found := (&Config{AddressMap: list}).MapAddress(addresses[0])
		if found != (at >= 0) || !found && got != addresses[0] || found && got != joinMapped(list[at].To, from.Port) {
			t.Fatalf("%+v of %q: %q %v, want item %d", list, addresses[0], got, found, at)
		}
	}
}

func walk(rules []NodeRule, name string, addresses []string, tier string) (int, bool) {
	for _, r := range rules {
		if name != "" && r.Selector == name {
			return r.Value, true
		}
	}
	for _, r := range rules {
		for _, a := range addresses {
			if isAddressSelector(r.Selector) && SameAddress(r.Selector, a) {
				return r.Value, true
			}
		}
	}
	for _, r := range rules {
		if tier != "" && r.Selector == tierPrefix+tier {
			return r.Value, true
		}
	}
	return 0, false
}

// manyRules is a DSN with a thousand address rules.
func manyRules(n int) string {
	var weights, addresses []string
	for i := range n {
		weights = append(weights, fmt.Sprintf("10.1.%d.%d:4327=%d", i/250, i%250, i%50))
		addresses = append(addresses, fmt.Sprintf("10.0.%d.%d:4327>10.1.%d.%d:4327", i/250, i%250, i/250, i%250))
	}
	return "picodata://u@h:4327/?node_weights=" + strings.Join(weights, ",") + "&address_map=" + url.QueryEscape(strings.Join(addresses, ","))
}

// A thousand rules cost what a thousand rules cost, not a million.
func BenchmarkManyRules(b *testing.B) {
	for _, n := range []int{100, 1000} {
		dsn := manyRules(n)
		b.Run(fmt.Sprint("dsn/", n), func(b *testing.B) {
			for range b.N {
				if _, err := ParseDSN(dsn); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
