package bucket

import "strings"

// parseInt reads what Rust's i64 reads: an optional sign and digits, nothing else.
func parseInt[T string | []byte](s T) (int64, bool) {
	i, negative := 0, false
	if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
		negative = s[0] == '-'
		i++
	}
	if i == len(s) {
		return 0, false
	}
	n := uint64(0)
	for ; i < len(s); i++ {
		d := s[i] - '0'
		if d > 9 || n > (1<<63)/10 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	switch {
	case negative && n <= 1<<63:
		return -int64(n), true
	case !negative && n < 1<<63:
		return int64(n), true
	}
	return 0, false
}

// parseBool reads the words that the server takes for booleans, in any case.
func parseBool[T string | []byte](s T) (value, ok bool) {
	if len(s) > 5 {
		return false, false
	}
	switch strings.ToLower(string(s)) {
	case "t", "true", "yes", "on", "1":
		return true, true
	case "f", "false", "no", "off", "0":
		return false, true
	}
	return false, false
}

// appendUUID encodes a UUID in its usual form, with hyphens or without, in any case. Other
// forms that a UUID library may take (urn:uuid:, braces) aren't decided.
func appendUUID[T string | []byte](dst []byte, s T) ([]byte, string) {
	if len(s) != 36 && len(s) != 32 {
		return dst, ReasonUUID
	}
	var u [16]byte
	i := 0
	for n := range u {
		if len(s) == 36 && (n == 4 || n == 6 || n == 8 || n == 10) {
			if s[i] != '-' {
				return dst, ReasonUUID
			}
			i++
		}
		hi, ok1 := hexDigit(s[i])
		lo, ok2 := hexDigit(s[i+1])
		if !ok1 || !ok2 {
			return dst, ReasonUUID
		}
		u[n] = hi<<4 | lo
		i += 2
	}
	return append(append(dst, 0xd8, 0x02), u[:]...), ""
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c-'0' <= 9:
		return c - '0', true
	case c|0x20-'a' < 6:
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
