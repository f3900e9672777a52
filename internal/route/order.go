package route

import "cmp"

// compareNatural orders names as people count: runs of digits by their value, the rest by
// bytes. Names that differ only in leading zeros are ordered by bytes.
func compareNatural(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if isDigit(a[i]) && isDigit(b[j]) {
			x, y := digits(a, &i), digits(b, &j)
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			continue
		}
		if a[i] != b[j] {
			return cmp.Compare(a[i], b[j])
		}
		i++
		j++
	}
	return cmp.Or(cmp.Compare(len(a)-i, len(b)-j), cmp.Compare(a, b))
}

// digits takes a run of digits and leaves out the zeros before it.
func digits(s string, at *int) string {
	i := *at
	for i < len(s)-1 && s[i] == '0' && isDigit(s[i+1]) {
		i++
	}
	from := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	*at = i
	return s[from:i]
}

func isDigit(c byte) bool { return c-'0' <= 9 }
