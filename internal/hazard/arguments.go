package hazard

import (
	"database/sql/driver"
	"math"
	"strconv"
	"strings"
)

// FloatFault says why a number must not be a parameter, "" if it may: the server stores one from 2⁶³ on as
// 9.223372036854775807e18, and NaN as NULL. Infinities arrive.
func FloatFault(f float64) string {
	const limit = 1 << 63
	switch {
	case math.IsNaN(f):
		return "the server stores NaN as NULL; pass nil if that is meant"
	case math.IsInf(f, 0):
		return ""
	case f >= limit || f < -limit:
		return "the server stores a float parameter beyond ±2^63 as the nearest 64-bit integer; write it into the text as a literal, or use DECIMAL and pass a string"
	}
	return ""
}

// UUIDFault says why a text must not be a parameter, "" if it may: it is a UUID in groups, alone, in braces or as a URN, whose ninth
// byte begins with 111. The server stores that and can't decode it again: scans fail and replicas stop for good. No UUID of
// RFC 9562 has it.
func UUIDFault(text string) string {
	if len(text) < 36 || len(text) > 45 {
		return ""
	}
	text = strings.TrimPrefix(text, "urn:uuid:")
	if len(text) == 38 && text[0] == '{' && text[37] == '}' {
		text = text[1:37]
	}
	if len(text) != 36 {
		return ""
	}
	for i := range len(text) {
		switch i {
		case 8, 13, 18, 23:
			if text[i] != '-' {
				return ""
			}
		default:
			if !hex(text[i]) {
				return ""
			}
		}
	}
	if c := text[19] | 0x20; c != 'e' && c != 'f' {
		return ""
	}
	return "a UUID whose ninth byte is e0 to ff is stored, but scans of its table fail then and replicas stop for good"
}

func hex(c byte) bool { return c-'0' <= 9 || c|0x20-'a' <= 5 }

// Guards say which checks are on.
type Guards struct{ Floats, UUIDs bool }

// Value checks an argument as it is to be sent.
func (g Guards) Value(ordinal int, v driver.Value) error {
	switch x := v.(type) {
	case float64:
		if why := FloatFault(x); g.Floats && why != "" {
			return &Error{Kind: Float, Ordinal: ordinal, Why: why, Setting: "float_guard=off"}
		}
	case string:
		if why := UUIDFault(x); g.UUIDs && why != "" {
			return &Error{Kind: UUID, Ordinal: ordinal, Why: why, Setting: "uuid_guard=off"}
		}
	}
	return nil
}

// The server takes a float parameter without a fraction for an integer, makes a plan of the statement for that, and
// finds the plan again by the text: UPDATE t SET d = $1 with 7.0 and then with 7.75 stores 7. A text that differs in blanks at
// its end has a plan of its own. So each pattern of arguments with a fraction among the others gets a text of its own; integers
// count as floats without a fraction, for the server can't tell them apart either.

// spaces is the number of arguments up to which a pattern is a number of spaces; beyond, it is written out.
const spaces = 6

// Variants is the number of patterns that Pattern numbers.
const Variants = 1 << spaces

// Fraction reports whether an argument is a number that the server can't take for an integer: one with a fraction, or an infinity. A
// float goes as text, so that a text which reads as such a number is the same to the server; whether its column is DOUBLE is not
// known here, and a form of the text too many does no harm.
func Fraction(v driver.Value) bool {
	switch x := v.(type) {
	case float64:
		return x != math.Trunc(x)
	case string:
		return fractionText(x)
	}
	return false
}

// longestNumber is the longest text that is looked at as a number: 38 digits of a DECIMAL with sign, point and exponent.
const longestNumber = 48

func fractionText(s string) bool {
	if s == "" || len(s) > longestNumber || s[0] > '9' && s != "Infinity" {
		return false
	}
	if s == "Infinity" || s == "-Infinity" {
		return true
	}
	if strings.IndexByte(s, '.') < 0 && strings.IndexByte(s, 'e') < 0 && strings.IndexByte(s, 'E') < 0 {
		return false
	}
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && f != math.Trunc(f)
}

// Pattern tells which arguments are numbers with a fraction. n is the pattern's number from 0, for none, to Variants-1, or -1: then
// one of the later arguments is among them.
func Pattern(args []driver.NamedValue) (n int) {
	for i := range args {
		if Fraction(args[i].Value) {
			if i >= spaces {
				return -1
			}
			n |= 1 << i
		}
	}
	return n
}

// Suffix is what a text gets at its end for its arguments: blanks that differ whenever the pattern does. "" for the pattern of none.
func Suffix(args []driver.NamedValue) string {
	if n := Pattern(args); n >= 0 {
		return strings.Repeat(" ", n)
	}
	last := 0
	b := make([]byte, len(args)+1)
	b[0] = '\n'
	for i := range args {
		b[i+1] = ' '
		if Fraction(args[i].Value) {
			b[i+1], last = '\t', i+1
		}
	}
	return string(b[:last+1])
}
