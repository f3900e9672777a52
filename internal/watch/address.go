package watch

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/picodata/go-picodata/options"
)

// addressError says why an address can't be used.
type addressError struct {
	address string
	reason  string
}

func (e *addressError) Error() string {
	return fmt.Sprintf("picodata: address %q: %s", e.address, e.reason)
}

// unspecified tells whether the host is 0.0.0.0 or ::, which says "all my interfaces" and
// can't be dialled by anybody else.
func unspecified(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsUnspecified()
}

// addressMap says where to dial what instances advertise.
type addressMap struct{ rules *options.MappingIndex }

func newAddressMap(config *options.Config) *addressMap {
	return &addressMap{options.IndexMappings(config.AddressMap)}
}

// dial makes of an advertised address the one to dial: address_map first, in which
// FROM may be the instance's name too (behind NAT several instances can advertise the same),
// then standIn, the host that the row came from, in place of an unspecified one. How addresses are read is
// the rule of options.ParseAddress: no port is 4327, a host with colons stands in brackets.
func (m *addressMap) dial(name, advertised string, standIn func() string) (string, error) {
	h, err := options.ParseAddress(advertised)
	if err != nil {
		return "", &addressError{clip(advertised), err.Error()}
	}
	mapped, ok := m.rules.Map(advertised)
	keepPort := false
	if to, named := m.rules.Named(name); named && name != "" {
		mapped, ok = to, true
		keepPort = !namesPort(mapped)
	}
	if ok {
		to, err := options.ParseAddress(mapped)
		if err != nil {
			return "", &addressError{clip(advertised), "address_map gives " + clip(mapped) + ": " + err.Error()}
		}
		if keepPort {
			to.Port = h.Port
		}
		h = to
	}
	if unspecified(h.Name) {
		host := standIn()
		if host == "" || unspecified(host) {
			return "", &addressError{clip(advertised), "it names no host; set the instance's advertise address, or address_map"}
		}
		h.Name = host
	}
	return h.Address(), nil
}

// namesPort tells whether an address that can be read names a port.
func namesPort(address string) bool {
	colon := strings.LastIndexByte(address, ':')
	return colon > strings.LastIndexByte(address, ']') && colon+1 < len(address)
}
