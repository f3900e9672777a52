package options

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// binding ties one key to its Config field: how a text becomes its value and back, and what
// makes a value wrong, however it came there.
type binding struct {
	kind    string                     // type, for documents
	allowed string                     // allowed values, for documents and errors
	set     func(*Config, string) bool // reads a text; false: not of this type
	get     func(*Config) string       // the canonical text
	ok      func(*Config) bool         // the field's value is an allowed one
	why     func(*Config) string       // if not nil: more than "want …" about a value that isn't ok
	fault   func(text string) string   // if not nil: the same about a text that set refused
}

// bindInt is for an integer from low to high.
func bindInt(field func(*Config) *int, low, high int) binding {
	return binding{
		kind:    "integer",
		allowed: fmt.Sprintf("%d to %d", low, high),
		set: func(c *Config, text string) bool {
			n, err := parseDecimal(text, math.MinInt, math.MaxInt)
			*field(c) = n
			return err == nil
		},
		get: func(c *Config) string { return strconv.Itoa(*field(c)) },
		ok:  func(c *Config) bool { return *field(c) >= low && *field(c) <= high },
	}
}

// bindDuration is for a Go duration from low to high; with orZero, 0 is allowed too.
func bindDuration(field func(*Config) *time.Duration, low, high time.Duration, orZero bool) binding {
	allowed := formatDuration(low) + " to " + formatDuration(high)
	if orZero {
		allowed = "0 or " + allowed
	}
	return binding{
		kind:    "duration",
		allowed: allowed,
		set: func(c *Config, text string) bool {
			d, err := time.ParseDuration(text)
			*field(c) = d
			return err == nil
		},
		fault: func(text string) string {
			if _, err := parseDecimal(text, math.MinInt, math.MaxInt); err == nil {
				return "a duration has a unit, as in 500ms, 5s or 1h30m"
			}
			return ""
		},
		get: func(c *Config) string { return formatDuration(*field(c)) },
		ok: func(c *Config) bool {
			d := *field(c)
			return d >= low && d <= high || orZero && d == 0
		},
	}
}

// bindSeconds is bindDuration for a key that libpq has too, in whole seconds.
func bindSeconds(field func(*Config) *time.Duration, low, high time.Duration, orZero bool) binding {
	b := bindDuration(field, low, high, orZero)
	set := b.set
	b.kind = "duration or whole seconds"
	b.fault = nil
	b.set = func(c *Config, text string) bool {
		const most = int64(math.MaxInt64 / time.Second)
		if n, err := parseDecimal(text, -most, most); err == nil {
			*field(c) = time.Duration(n) * time.Second
			return true
		}
		return set(c, text)
	}
	return b
}

// formatDuration is d as time.ParseDuration reads it, without the zero units that
// Duration.String adds: 1h, not 1h0m0s.
func formatDuration(d time.Duration) string {
	text := d.String()
	if text == "0s" {
		return "0"
	}
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// bindBool is for on and off; the other spellings of PostgreSQL and picopyn's True and False are
// read too.
func bindBool(field func(*Config) *bool) binding {
	return binding{
		kind:    "boolean",
		allowed: "on or off",
		set: func(c *Config, text string) bool {
			v, ok := parseBool(text)
			*field(c) = v
			return ok
		},
		get: func(c *Config) string {
			if *field(c) {
				return "on"
			}
			return "off"
		},
		ok: func(*Config) bool { return true },
	}
}

// bindBit is bindBool with libpq's canonical 1 and 0.
func bindBit(field func(*Config) *bool) binding {
	b := bindBool(field)
	b.allowed = "1 or 0"
	b.get = func(c *Config) string {
		if *field(c) {
			return "1"
		}
		return "0"
	}
	return b
}

// parseBool reads on, true, yes, 1 and their opposites in any case.
func parseBool(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "on", "true", "yes", "1":
		return true, true
	case "off", "false", "no", "0":
		return false, true
	}
	return false, false
}

// bindEnum is for an enum with its table of texts.
func bindEnum[T ~uint8](field func(*Config) *T, key string, names []string) binding {
	return binding{
		kind:    "choice",
		allowed: alternatives(names),
		set: func(c *Config, text string) bool {
			return unmarshalEnum(field(c), key, names, text) == nil
		},
		get: func(c *Config) string { return enumText(names, *field(c)) },
		ok:  func(c *Config) bool { return int(*field(c)) < len(names) },
	}
}

// bindText is for a text that the server or the TLS library gets.
func bindText(field func(*Config) *string) binding {
	return binding{
		kind:    "text",
		allowed: "any UTF-8 text without NUL",
		set: func(c *Config, text string) bool {
			*field(c) = text
			return true
		},
		get: func(c *Config) string { return *field(c) },
		ok:  func(c *Config) bool { return cleanText(*field(c)) },
	}
}

// bindSecret is for a password: any bytes but NUL, which the protocol can't carry.
func bindSecret(field func(*Config) *string) binding {
	b := bindText(field)
	b.kind = "secret"
	b.allowed = "any bytes but NUL"
	b.ok = func(c *Config) bool { return strings.IndexByte(*field(c), 0) < 0 }
	return b
}

// cleanText tells whether a text can travel in a startup message.
func cleanText(text string) bool { return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 }

// bindNames is for a list of words that are compared exactly.
func bindNames(field func(*Config) *[]string, check func(string) bool, allowed string) binding {
	return binding{
		kind:    "list",
		allowed: allowed,
		set: func(c *Config, text string) bool {
			*field(c) = splitList(text)
			return true
		},
		get: func(c *Config) string { return strings.Join(*field(c), ",") },
		ok: func(c *Config) bool {
			list := *field(c)
			for i, name := range list {
				if !cleanItem(name) || check != nil && !check(name) || slices.Contains(list[:i], name) {
					return false
				}
			}
			return true
		},
	}
}

// bindRules is for SELECTOR=INT,….
func bindRules(field func(*Config) *[]NodeRule, low, high int) binding {
	return binding{
		kind:    "list",
		allowed: fmt.Sprintf("SELECTOR=INT,… with SELECTOR an instance name, host:port or tier:NAME, each once, and INT %d to %d", low, high),
		set: func(c *Config, text string) bool {
			*field(c) = nil
			for _, item := range splitList(text) {
				i := strings.LastIndexByte(item, '=')
				if i < 0 {
					return false
				}
				n, err := parseDecimal(item[i+1:], math.MinInt, math.MaxInt)
				if err != nil {
					return false
				}
				*field(c) = append(*field(c), NodeRule{Selector: canonicalSelector(item[:i]), Value: n})
			}
			return true
		},
		get: func(c *Config) string {
			items := make([]string, len(*field(c)))
			for i, r := range *field(c) {
				items[i] = r.Selector + "=" + strconv.Itoa(r.Value)
			}
			return strings.Join(items, ",")
		},
		ok: func(c *Config) bool {
			seen := make(map[endpoint]bool, len(*field(c)))
			for _, r := range *field(c) {
				key := endpoint{name: r.Selector}
				if isAddressSelector(r.Selector) {
					key = endpointOf(r.Selector)
				}
				if r.Value < low || r.Value > high || !goodSelector(r.Selector) || seen[key] {
					return false
				}
				seen[key] = true
			}
			return true
		},
	}
}

// canonicalSelector writes an address the one way that net.JoinHostPort does.
func canonicalSelector(selector string) string {
	if isAddressSelector(selector) {
		if h, err := ParseAddress(selector); err == nil {
			return h.Address()
		}
	}
	return selector
}

// goodSelector tells whether a selector can match anything.
func goodSelector(selector string) bool {
	if !cleanItem(selector) || strings.IndexByte(selector, '=') >= 0 {
		return false
	}
	if isAddressSelector(selector) {
		_, err := ParseAddress(selector)
		return err == nil
	}
	return selector != tierPrefix
}

// bindMap is for FROM>TO,…, where TO is an address; fromName allows an instance name as FROM.
func bindMap(field func(*Config) *[]Mapping, fromName bool) binding {
	allowed := "FROM>TO,… with FROM and TO host[:port] and each FROM once"
	if fromName {
		allowed = "FROM>TO,… with FROM an instance name or host:port, each once, and TO host[:port]"
	}
	return binding{
		kind:    "list",
		allowed: allowed,
		set: func(c *Config, text string) bool {
			*field(c) = nil
			for _, item := range splitList(text) {
				from, to, ok := strings.Cut(item, ">")
				if !ok {
					return false
				}
				*field(c) = append(*field(c), Mapping{From: from, To: to})
			}
			return true
		},
		get: func(c *Config) string {
			items := make([]string, len(*field(c)))
			for i, m := range *field(c) {
				items[i] = m.From + ">" + m.To
			}
			return strings.Join(items, ",")
		},
		ok: func(c *Config) bool {
			seen := make(map[string]bool, len(*field(c)))
			for _, m := range *field(c) {
				if !cleanItem(m.From) || !cleanItem(m.To) || strings.ContainsAny(m.From+m.To, ">") {
					return false
				}
				if _, err := ParseAddress(m.To); err != nil {
					return false
				}
				if _, err := ParseAddress(m.From); err != nil && (!fromName || isAddressSelector(m.From)) {
					return false
				}
				if seen[m.From] {
					return false
				}
				seen[m.From] = true
			}
			return true
		},
	}
}

// bindNetworks is for a list of CIDR networks; a plain address is a network of one.
func bindNetworks(field func(*Config) *[]netip.Prefix) binding {
	return binding{
		kind:    "list",
		allowed: "IP networks such as 10.0.0.0/8,fd00::/8, or addresses",
		set: func(c *Config, text string) bool {
			*field(c) = nil
			for _, item := range splitList(text) {
				p, err := netip.ParsePrefix(item)
				if err != nil {
					a, errAddr := netip.ParseAddr(item)
					if errAddr != nil || a.Zone() != "" {
						return false
					}
					p = netip.PrefixFrom(a, a.BitLen())
				}
				*field(c) = append(*field(c), p.Masked())
			}
			return true
		},
		get: func(c *Config) string {
			items := make([]string, len(*field(c)))
			for i, p := range *field(c) {
				items[i] = p.String()
			}
			return strings.Join(items, ",")
		},
		ok: func(c *Config) bool {
			return !slices.ContainsFunc(*field(c), func(p netip.Prefix) bool { return !p.IsValid() })
		},
	}
}

// splitList splits at commas. An empty text is an empty list; an empty item is kept, so
// that the check finds it.
func splitList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// cleanItem tells whether a text can be an item of a list: nothing in it that a list's own
// syntax would read otherwise, nothing that only a typing error puts there.
func cleanItem(text string) bool {
	return text != "" && cleanText(text) && !strings.ContainsAny(text, ",\n\r\t ")
}

// errNumber is what parseDecimal returns; callers say which range they wanted.
var errNumber = errors.New("not a number in range")

// parseDecimal reads an integer of decimal digits with an optional minus. Signs of plus,
// spaces, underscores and other bases are refused: what is read is what is formatted.
func parseDecimal[N int | int64](text string, low, high N) (N, error) {
	digits := text
	if digits != "" && digits[0] == '-' {
		digits = digits[1:]
	}
	if digits == "" {
		return 0, errNumber
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, errNumber
		}
	}
	wide, err := strconv.ParseInt(text, 10, 64)
	n := N(wide)
	if err != nil || int64(n) != wide || n < low || n > high {
		return 0, errNumber
	}
	return n, nil
}
