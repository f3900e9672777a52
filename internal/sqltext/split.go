package sqltext

import "strings"

// SplitValues cuts an INSERT … VALUES into what stands before its first row and what stands behind its last one, comments left
// out there. It is for texts whose Info has RowValues.
func SplitValues(sql string) (head, tail string, ok bool) {
	if len(sql) > maxRead {
		return "", "", false
	}
	r := reader{s: sql}
	if r.scan() != "" {
		return "", "", false
	}
	depth, first, last := 0, -1, -1
	for i := 0; r.at(i).kind != end; i++ {
		t := r.at(i)
		switch {
		case first < 0 && t.key == kwValues:
			first = int(t.end)
		case first < 0:
		case opIs(t, '('):
			depth++
		case opIs(t, ')'):
			if depth--; depth == 0 {
				last = int(t.end)
			}
		case depth == 0 && !opIs(t, ','):
			if last < 0 {
				return "", "", false
			}
			return sql[:first], " " + strings.TrimRight(sql[t.start:], " \t\r\n;"), true
		}
	}
	return sql[:max(first, 0)], "", last > 0
}
