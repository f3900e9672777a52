package options

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Address is host:port as net.Dial takes it, with IPv6 in brackets.
func (h Host) Address() string {
	return net.JoinHostPort(h.Name, strconv.Itoa(int(h.Port)))
}

// String is Address.
func (h Host) String() string { return h.Address() }

var (
	errAddressEmpty     = errors.New("no address")
	errAddressHost      = errors.New("not a host name or IP address")
	errAddressPort      = errors.New("the port must be a number from 1 to 65535")
	errAddressAmbiguous = errors.New("ambiguous: an IPv6 address is written in brackets, [address]:port")
	errAddressSocket    = errors.New("unix sockets are not supported: Picodata listens on TCP only")
)

// ParseAddress reads one host:port, as a DSN, a node rule or a topology row gives it. The rule for
// all of them: no port or an empty one means DefaultPort, an IPv6 literal has brackets
// whenever a port follows, a bare one is read if all of it is an address and
// refused as ambiguous if its last group could as well be a port. Errors never quote the text.
func ParseAddress(text string) (Host, error) {
	if text == "" {
		return Host{}, errAddressEmpty
	}
	name, port := text, ""
	switch {
	case text[0] == '[':
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return Host{}, errAddressHost
		}
		name = text[1:end]
		if ip, err := netip.ParseAddr(name); err != nil || !ip.Is6() {
			return Host{}, errAddressHost
		}
		rest := text[end+1:]
		if rest != "" && rest[0] != ':' {
			return Host{}, errAddressHost
		}
		port = strings.TrimPrefix(rest, ":")
	case isSocketPath(text):
		return Host{}, errAddressSocket
	case strings.Count(text, ":") > 1:
		return Host{}, errAddressAmbiguous
	default:
		name, port, _ = strings.Cut(text, ":")
	}
	if err := checkHostName(name); err != nil {
		return Host{}, err
	}
	n, err := parsePort(port)
	if err != nil {
		return Host{}, err
	}
	return Host{Name: name, Port: n}, nil
}

// parsePort reads a port; an empty one is DefaultPort.
func parsePort(text string) (uint16, error) {
	if text == "" {
		return DefaultPort, nil
	}
	n, err := parseDecimal(text, 1, 65535)
	if err != nil {
		return 0, errAddressPort
	}
	return uint16(n), nil
}

// checkHostName tells whether name is an IP literal (with a zone, if IPv6) or may be a DNS name.
func checkHostName(name string) error {
	if name == "" {
		return errAddressEmpty
	}
	if isSocketPath(name) {
		return errAddressSocket
	}
	if strings.IndexByte(name, ':') >= 0 {
		ip, err := netip.ParseAddr(name)
		if err != nil {
			return errAddressHost
		}
		for _, r := range ip.Zone() {
			if !hostRune(r) {
				return errAddressHost
			}
		}
		return nil
	}
	if len(name) > 253 {
		return errAddressHost
	}
	for _, r := range name {
		if !hostRune(r) {
			return errAddressHost
		}
	}
	return nil
}

// hostRune is what DNS names and zones are made of; the underscore is seen in container names.
func hostRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		r == '-' || r == '.' || r == '_'
}

// isSocketPath tells a file name from a host: libpq takes an absolute path for the folder of a
// unix socket and a leading @ for an abstract one.
func isSocketPath(text string) bool {
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, "@") || strings.HasPrefix(text, "./") ||
		len(text) > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/')
}

// SameAddress tells whether two host:port texts name the same place: DNS names in any case, IP
// addresses in any spelling, a missing port as DefaultPort.
func SameAddress(a, b string) bool { return a == b || endpointOf(a) == endpointOf(b) }

// endpoint is the same for all texts that name one place; port 0 is a host alone, or a text that can't be read.
type endpoint struct {
	ip   netip.Addr
	name string
	port uint16
}

func endpointOf(text string) endpoint {
	h, err := ParseAddress(text)
	if err != nil {
		return endpoint{name: text}
	}
	p := hostOf(h.Name)
	p.port = h.Port
	return p
}

// hostOf is the same for all spellings of a host name or IP literal.
func hostOf(name string) endpoint {
	if c := name[max(len(name)-1, 0):]; strings.IndexByte(name, ':') >= 0 || c >= "0" && c <= "9" { // what no address ends in is a name
		if ip, err := netip.ParseAddr(name); err == nil {
			return endpoint{ip: ip.Unmap()}
		}
	}
	return endpoint{name: strings.ToLower(name)}
}

// sameHost compares two host names or IP literals.
func sameHost(a, b string) bool { return hostOf(a) == hostOf(b) }
