package watch

import (
	"net/netip"
	"testing"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

func TestDialAddress(t *testing.T) {
	rules := []options.Mapping{
		{From: "172.17.0.2:4327", To: "127.0.0.1:14327"},
		{From: "172.17.0.9", To: "nat.example"},
		{From: "172.17.0.8", To: "[2001:db8::1]"},
		{From: "i7", To: "127.0.0.1:14329"},
		{From: "i8", To: "far.example"},
		{From: "172.17.0.5", To: "0.0.0.0"},
		{From: "172.17.0.6", To: "not a host"},
		{From: "172.17.0.9:4330", To: "exact.example:1"},
	}
	for _, c := range []struct{ name, advertised, from, want string }{
		{"i1", "10.0.0.1:4327", "10.0.0.9", "10.0.0.1:4327"},
		{"i1", "nodeb", "x", "nodeb:4327"},
		{"i1", "nodeb:", "x", "nodeb:4327"},
		{"i1", "[::1]:4328", "x", "[::1]:4328"},
		{"i1", "::1:4328", "x", ""}, // is 4328 its port?
		{"i1", "", "x", ""},
		{"i1", ":4327", "x", ""},
		{"i1", "nodeb:0", "x", ""},
		{"i1", "nodeb:70000", "x", ""},
		{"i1", "172.17.0.2:4327", "x", "127.0.0.1:14327"},
		{"i1", "172.17.0.2:4328", "x", "172.17.0.2:4328"},
		{"i1", "172.17.0.9:4329", "x", "nat.example:4329"},
		{"i1", "172.17.0.8:4329", "x", "[2001:db8::1]:4329"},
		{"i7", "0.0.0.0:4327", "x", "127.0.0.1:14329"},
		{"i8", "172.17.0.2:4330", "x", "far.example:4330"}, // the name goes before the address
		{"i1", "172.17.0.6:4327", "x", ""},
		{"i1", "0.0.0.0:4327", "seed.example", "seed.example:4327"},
		{"i1", "[::]:4328", "10.1.1.1", "10.1.1.1:4328"},
		{"i1", "0.0.0.0:4327", "::1", "[::1]:4327"},
		{"i1", "0.0.0.0:4327", "", ""},
		{"i1", "0.0.0.0:4327", "0.0.0.0", ""},
		{"i1", "172.17.0.5:4327", "seed.example", "seed.example:4327"},
	} {
		got, err := newAddressMap(&options.Config{AddressMap: rules}).dial(c.name, c.advertised, func() string { return c.from })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s advertises %q, seen from %q: %q, %v; want %q", c.name, c.advertised, c.from, got, err, c.want)
		}
	}
}

func TestAllowedNetworks(t *testing.T) {
	networks := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("::ffff:192.168.0.0/112")}
	for _, c := range []struct {
		address          string
		allowed, decided bool
	}{
		{"10.1.2.3:4327", true, true},
		{"[::ffff:10.1.2.3]:4327", true, true},
		{"192.168.3.3:1", true, true},
		{"192.169.0.1:1", false, true},
		{"11.0.0.1:4327", false, true},
		{"[fd00::1]:4327", true, true},
		{"[fd00::1%eth0]:4327", true, true},
		{"[fe80::1]:4327", false, true},
		{"169.254.169.254:80", false, true},
		{"node.example:4327", false, false},
		{"::1:4327", false, true},
	} {
		if allowed, decided := metadata.AddressAllowed(networks, c.address); allowed != c.allowed || decided != c.decided {
			t.Errorf("%s: allowed %v, decided %v", c.address, allowed, decided)
		}
	}
	if allowed, decided := metadata.AddressAllowed(nil, "node.example:1"); !allowed || !decided {
		t.Error("without networks everything is allowed")
	}
}
