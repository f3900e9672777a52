package picodata

import (
	"strconv"
	"strings"
)

// In writes the list of an IN condition for values, with parameters from $first on, and gives the arguments that belong to it:
//
//	list, args := picodata.In(2, ids)
//	rows, err := db.QueryContext(ctx, "SELECT … WHERE tenant = $1 AND id IN "+list, append([]any{tenant}, args...)...)
//
// The list comes in parentheses and has a power of two places: the last value fills those that are left over, which changes nothing, so that lists
// of many lengths share few texts, and the server few plans. No values make (NULL), which nothing is in; NOT IN (NULL) is true of nothing either.
// A statement takes 65,535 arguments at most. Picodata has no = ANY($1).
func In[T any](first int, values []T) (list string, args []any) {
	if len(values) == 0 {
		return "(NULL)", nil
	}
	n := 1
	for n < len(values) {
		n *= 2
	}
	if most := 65535 - (first - 1); n > most {
		n = max(most, len(values)) // too many, if it comes to that, is said where the statement is sent
	}
	args = make([]any, n)
	var b strings.Builder
	for i := range n {
		separator := byte(',')
		if i == 0 {
			separator = '('
		}
		b.WriteByte(separator)
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(first + i))
		args[i] = values[min(i, len(values)-1)]
	}
	b.WriteByte(')')
	return b.String(), args
}
