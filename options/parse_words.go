package options

import (
	"strings"
)

// readWords takes key=value words apart as libpq does: blanks around the equals sign, values in single
// quotes, a backslash before a quote or a backslash inside or outside of quotes. A closing quote must end
// its value, and a backslash must have something to protect: libpq forgives both and reads
// something else than was meant.
func readWords(dsn string) (*raw, error) {
	r := &raw{}
	i := skipBlanks(dsn, 0)
	if end := strings.Index(dsn, "://"); end > i && isKeyLike(dsn[i:end]) {
		return nil, dsnError("DSN", i, "not a scheme of this driver: a URL begins with picodata://, postgres:// or postgresql://")
	}
	for {
		i = skipBlanks(dsn, i)
		if i == len(dsn) {
			return r, nil
		}
		p := param{pos: i}
		for i < len(dsn) && dsn[i] != '=' && !isBlank(dsn[i]) {
			i++
		}
		p.name = dsn[p.pos:i]
		i = skipBlanks(dsn, i)
		if p.name == "" || i == len(dsn) || dsn[i] != '=' {
			return nil, dsnError("DSN", p.pos, "this word has no =; a value with blanks stands in single quotes, and a URL begins with picodata://")
		}
		i = skipBlanks(dsn, i+1)
		var err error
		if p.value, i, err = readWordValue(dsn, i); err != nil {
			return nil, err
		}
		r.params = append(r.params, p)
	}
}

// readWordValue reads the value that begins at i and returns where it ends.
func readWordValue(dsn string, i int) (value string, end int, err error) {
	var b strings.Builder
	start := i
	quoted := i < len(dsn) && dsn[i] == '\''
	if quoted {
		i++
	}
	for ; i < len(dsn); i++ {
		switch ch := dsn[i]; {
		case ch == '\\':
			i++
			if i == len(dsn) {
				return "", i, dsnError("DSN", i-1, "a backslash at the end protects nothing; write it twice")
			}
			b.WriteByte(dsn[i])
		case quoted && ch == '\'':
			i++
			if i < len(dsn) && !isBlank(dsn[i]) {
				return "", i, dsnError("DSN", i-1, "this quote ends a value in the middle of a word; a quote inside a value is written \\'")
			}
			return b.String(), i, nil
		case !quoted && isBlank(ch):
			return b.String(), i, nil
		default:
			b.WriteByte(ch)
		}
	}
	if quoted {
		return "", i, dsnError("DSN", start, "this quote is never closed")
	}
	return b.String(), i, nil
}

func skipBlanks(text string, i int) int {
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	return i
}

// isBlank is C's isspace, which libpq uses.
func isBlank(ch byte) bool { return ch == ' ' || ch >= '\t' && ch <= '\r' }
