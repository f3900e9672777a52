package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// defineTextFunctions defines the functions on texts that SQLite has not, or has with other rules.
func (d *db) defineTextFunctions() error {
	return errors.Join(
		d.fn("p_substr", 2, func(a []cell) (cell, string) { return substr(cellText(a[0]), a[1], nil) }),
		d.fn("p_substr", 3, func(a []cell) (cell, string) { return substr(cellText(a[0]), a[1], a[2]) }),
		d.fn("p_trim", 3, func(a []cell) (cell, string) { return trimText(cellText(a[0]), cellText(a[1]), cellText(a[2])), "" }),
		d.fn("p_to_char", 2, func(a []cell) (cell, string) {
			dt, ok := datetimeOfCell(cellText(a[0])).(Datetime)
			if !ok {
				return nil, ""
			}
			return strftime(dt.time(), cellText(a[1])), ""
		}),
		d.fn("p_to_date", 2, func(a []cell) (cell, string) {
			text, format := cellText(a[0]), cellText(a[1])
			t, err := time.Parse(goLayout(format), text)
			if err != nil {
				return nil, fmt.Sprintf("builtin/datetime.lua:897: could not parse '%s' using '%s' format", text, format)
			}
			_, off := t.Zone()
			y, m, day := t.Date()
			midnight := time.Date(y, m, day, 0, 0, 0, 0, t.Location())
			return Datetime{Sec: midnight.Unix(), Offset: int16(off / 60)}.cell(), ""
		}),
	)
}

// substr cuts by characters, from 1; a negative length is an error.
func substr(s string, from, length cell) (cell, string) {
	r := []rune(s)
	start, _ := from.(int64)
	end := int64(len(r))
	if n, ok := length.(int64); ok {
		if n < 0 {
			return nil, "Failed to execute SQL statement: Length of the result cannot be less than 0"
		}
		end = min(end, start-1+n)
	}
	begin := min(max(start-1, 0), int64(len(r)))
	if end <= begin {
		return "", ""
	}
	return string(r[begin:end]), ""
}

// trimText cuts a set of characters from the leading, trailing or both ends.
func trimText(s, set, where string) string {
	switch where {
	case "leading":
		return strings.TrimLeft(s, set)
	case "trailing":
		return strings.TrimRight(s, set)
	}
	return strings.Trim(s, set)
}

// strftimeLayouts maps strftime's letters to Go's layouts.
var strftimeLayouts = map[byte]string{
	'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'y': "06", 'b': "Jan", 'B': "January", 'a': "Mon", 'A': "Monday",
	'j': "002", 'I': "03", 'p': "PM", 'z': "-0700", 'Z': "MST", 'F': "2006-01-02", 'T': "15:04:05", 'D': "01/02/06", 'R': "15:04", 'e': "_2",
	'f': "000000", 'h': "Jan",
}

func goLayout(format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] == '%' && i+1 < len(format) {
			i++
			if l, ok := strftimeLayouts[format[i]]; ok {
				b.WriteString(l)
			} else {
				b.WriteByte(format[i])
			}
			continue
		}
		b.WriteByte(format[i])
	}
	return b.String()
}

func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch l, ok := strftimeLayouts[format[i]]; {
		case format[i] == 'f':
			fmt.Fprintf(&b, "%06d", t.Nanosecond()/1000)
		case ok:
			b.WriteString(t.Format(l))
		default:
			b.WriteByte(format[i])
		}
	}
	return b.String()
}
