package options

import (
	"errors"
	"strconv"
)

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
