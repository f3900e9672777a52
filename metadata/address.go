package metadata

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/picodata/go-picodata/options"
)

// DefaultPort is where an instance listens for clients unless told otherwise.
const DefaultPort = 4327

// AddressError says why an address can't be used.
type AddressError struct {
	Address string
	Reason  string
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("picodata: address %q: %s", e.Address, e.Reason)
}

// ParseAddress splits HOST[:PORT]. The one rule: a host that holds colons stands in
// brackets. So "[::1]:4328" and "[::1]" are IPv6, while "::1:4328" is an error, for nobody
// can say whether 4328 is its port. A port that is missing or empty ("nodeb", "nodeb:") is
// DefaultPort; an empty host, port 0 and anything that isn't a number up to 65535 are errors.
func ParseAddress(s string) (host string, port uint16, err error) {
	fail := func(reason string) (string, uint16, error) {
		return "", 0, &AddressError{Address: s, Reason: reason}
	}
	var rest string
	if strings.HasPrefix(s, "[") {
		var closed bool
		if host, rest, closed = strings.Cut(s[1:], "]"); !closed {
			return fail("the bracket isn't closed")
		}
		if _, err := netip.ParseAddr(host); err != nil || !strings.Contains(host, ":") {
			return fail("brackets are for IPv6 addresses")
		}
		if rest != "" && rest[0] != ':' {
			return fail("only a port may follow the bracket")
		}
		rest = strings.TrimPrefix(rest, ":")
	} else {
		host, rest, _ = strings.Cut(s, ":")
		if strings.Contains(rest, ":") {
			return fail("write an IPv6 address in brackets, as in [::1]:4327")
		}
	}
	if host == "" {
		return fail("the host is missing")
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`/\@,[]<>"'`, r) }) {
		return fail("the host holds a character that no host has")
	}
	if rest == "" {
		return host, DefaultPort, nil
	}
	n, err := strconv.ParseUint(rest, 10, 16)
	if err != nil || n == 0 {
		return fail("the port is not a number from 1 to 65535")
	}
	return host, uint16(n), nil
}

// JoinAddress is the reverse of ParseAddress, with brackets where they belong.
func JoinAddress(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// unspecified tells whether the host is 0.0.0.0 or ::, which says "all my interfaces" and
// can't be dialled by anybody else.
func unspecified(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsUnspecified()
}

// mapAddress gives what address_map makes of an instance's advertised address. FROM may be,
// tried in this order, the instance's name, HOST:PORT or HOST alone; the first rule of the
// kind wins. TO without a port keeps the advertised one.
func mapAddress(rules []options.Mapping, name, host string, port uint16) (string, uint16, error) {
	if len(rules) == 0 {
		return host, port, nil
	}
	full := JoinAddress(host, port)
	for _, hit := range []func(from string) bool{
		func(from string) bool { return name != "" && from == name },
		func(from string) bool {
			h, p, err := ParseAddress(from)
			return err == nil && hasPort(from) && JoinAddress(h, p) == full
		},
		func(from string) bool {
			h, _, err := ParseAddress(from)
			return err == nil && !hasPort(from) && h == host || from == host
		},
	} {
		for _, r := range rules {
			if !hit(r.From) {
				continue
			}
			h, p, err := ParseAddress(r.To)
			if err != nil {
				return "", 0, err
			}
			if !hasPort(r.To) {
				p = port
			}
			return h, p, nil
		}
	}
	return host, port, nil
}

// hasPort tells whether an address that ParseAddress accepts names a port.
func hasPort(s string) bool {
	colon := strings.LastIndexByte(s, ':')
	return colon > strings.LastIndexByte(s, ']') && colon+1 < len(s)
}

// dialAddress makes of an advertised address the one to dial: address_map first, then the
// host that the row came from in place of an unspecified one.
func dialAddress(rules []options.Mapping, name, advertised, fromHost string) (string, error) {
	host, port, err := ParseAddress(advertised)
	if err != nil {
		return "", err
	}
	if host, port, err = mapAddress(rules, name, host, port); err != nil {
		return "", err
	}
	if unspecified(host) {
		if fromHost == "" || unspecified(fromHost) {
			return "", &AddressError{Address: advertised, Reason: "it names no host; set the instance's advertise address, or address_map"}
		}
		host = fromHost
	}
	return JoinAddress(host, port), nil
}

// NetworkAllowed tells whether allowed_networks lets discovery dial this IP address. An
// empty list allows everything. An IPv4 address in IPv6 clothes counts as IPv4, a zone as absent.
func NetworkAllowed(networks []netip.Prefix, ip netip.Addr) bool {
	if len(networks) == 0 {
		return true
	}
	ip = ip.Unmap().WithZone("")
	for _, n := range networks {
		if n.Addr().Is4In6() && n.Bits() >= 96 {
			n = netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-96)
		}
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// AddressAllowed is NetworkAllowed for HOST:PORT. decided is false for a DNS name: only
// whoever resolves it can check the addresses behind it, and must, before connecting.
func AddressAllowed(networks []netip.Prefix, address string) (allowed, decided bool) {
	if len(networks) == 0 {
		return true, true
	}
	host, _, err := ParseAddress(address)
	if err != nil {
		return false, true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false, false
	}
	return NetworkAllowed(networks, ip), true
}
