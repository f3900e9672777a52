package bucket

// maxDigits is the precision of a DECIMAL.
const maxDigits = 38

// appendDecimal encodes a decimal as it is written: trailing zeros and exponents count, for
// 1, 1.0 and 1.00 are three values to the hash, and 1E+2 isn't 100.
func appendDecimal[T string | []byte](dst []byte, s T) ([]byte, string) {
	var (
		digits   [maxDigits]byte
		n        int // significant digits in digits
		seen     bool
		point    bool
		scale    int
		negative bool
		i        int
	)
	if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
		negative = s[0] == '-'
		i++
	}
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c-'0' <= 9:
			seen = true
			if point {
				scale++
			}
			if c == '0' && n == 0 {
				continue // leading zeros
			}
			if n == maxDigits {
				return dst, ReasonDecimal // the server would round
			}
			digits[n] = c - '0'
			n++
			continue
		case c == '.' && !point:
			point = true
			continue
		}
		break
	}
	if !seen {
		return dst, ReasonDecimal
	}
	if i < len(s) {
		if s[i]|0x20 != 'e' {
			return dst, ReasonDecimal
		}
		e, ok := parseInt(s[i+1:])
		if !ok || e > 2*maxDigits || e < -2*maxDigits {
			return dst, ReasonDecimal
		}
		scale -= int(e)
	}
	if n == 0 {
		n = 1 // a zero has one digit, whatever its scale
	}
	if scale > maxDigits || n-scale > maxDigits {
		return dst, ReasonDecimal
	}
	return packDecimal(dst, digits[:n], scale, negative), ""
}

// packDecimal writes MessagePack extension 1: the scale, then packed BCD with the sign in the last nibble.
func packDecimal(dst, digits []byte, scale int, negative bool) []byte {
	var scaleRoom [2]byte
	scaleBytes := appendInt(scaleRoom[:0], int64(scale))
	size := len(scaleBytes) + len(digits)/2 + 1
	switch size {
	case 1:
		dst = append(dst, 0xd4, 0x01)
	case 2:
		dst = append(dst, 0xd5, 0x01)
	case 4:
		dst = append(dst, 0xd6, 0x01)
	case 8:
		dst = append(dst, 0xd7, 0x01)
	case 16:
		dst = append(dst, 0xd8, 0x01)
	default:
		dst = append(dst, 0xc7, byte(size), 0x01)
	}
	dst = append(dst, scaleBytes...)
	i := 0
	if len(digits)%2 == 0 { // the first nibble is filled up
		dst = append(dst, digits[0])
		i = 1
	}
	for ; i+1 < len(digits); i += 2 {
		dst = append(dst, digits[i]<<4|digits[i+1])
	}
	sign := byte(0x0c)
	if negative {
		sign = 0x0d
	}
	return append(dst, digits[len(digits)-1]<<4|sign)
}
