package options

import (
	"errors"
	"fmt"
	"strings"
)

// The URL reader is the project's own: net/url refuses lists of hosts with IPv6 addresses, and reads a
// plus as a blank in one place and as a plus in another. Here a plus is a plus everywhere.

// cutScheme takes a known scheme off, and blanks around the URL: a DSN that was read from a file ends with its line.
func cutScheme(dsn string) (rest string, begin int, ok bool) {
	begin = len(dsn) - len(strings.TrimLeft(dsn, blanks))
	text := strings.TrimRight(dsn, blanks)
	for _, scheme := range []string{"picodata://", "postgres://", "postgresql://"} {
		if end := begin + len(scheme); len(text) >= end && strings.EqualFold(text[begin:end], scheme) {
			return text[end:], end, true
		}
	}
	return dsn, 0, false
}

// blanks are what isBlank finds.
const blanks = " \t\n\v\f\r"

// Texts for what mostly are characters of a password that should have been encoded. They
// quote nothing.
const (
	msgUnencodedAt   = "an @ stands here, after the host part has ended" + msgEncodeHint
	msgUnencodedHash = "an unencoded # stands here: write it as %23"
	msgAmpersand     = "an & stands here before any ?: the first key follows after ?, further ones after &, as in picodata://user@host/?transactions=autocommit&max_conns=50; an & that belongs to a name is written %26"
	msgEncodeHint    = "; percent-encode user, password and the values of keys (: is %3A, / is %2F, ? is %3F, # is %23, @ is %40)"
)

var errPercent = errors.New("a % stands here without two hexadecimal digits after it; a % itself is written %25")

// readURL takes a URL apart whose scheme ends at begin, and whose blanks have been cut off.
func readURL(dsn string, begin int) (*raw, error) {
	r := &raw{}
	end := begin + strings.IndexAny(dsn[begin:]+"/", "/?#")
	authority := dsn[begin:end]
	at := strings.LastIndexByte(authority, '@')
	if i := strings.IndexByte(dsn[end:], '@'); i >= 0 {
		// Either a value holds a plain @, or the password ended the authority too early: then
		// all that follows may be its tail.
		if at < 0 {
			return nil, dsnError("DSN", end, fmt.Sprintf("the host part ends here, yet an @ follows at byte %d%s", end+i+1, msgEncodeHint))
		}
		r.quiet = true
	}
	if at >= 0 {
		if err := readUserInfo(r, authority[:at], begin); err != nil {
			return nil, err
		}
	}
	// The hosts are read last: an error about them is less telling than one about a stray #.
	if i := strings.IndexByte(dsn[begin:], '#'); i >= 0 {
		return nil, dsnError("DSN", begin+i, msgUnencodedHash)
	}
	path, query, _ := strings.Cut(dsn[end:], "?")
	if err := readPath(r, path, end); err != nil {
		return nil, err
	}
	if err := readQuery(r, query, end+len(path)+1); err != nil {
		return nil, err
	}
	if err := readHosts(r, authority[at+1:], begin+at+1); err != nil {
		return nil, err
	}
	return r, nil
}

// readUserInfo reads user[:password] at pos.
func readUserInfo(r *raw, text string, pos int) error {
	user, password, hasPassword := strings.Cut(text, ":")
	value, bad, err := unescape(user)
	if err != nil {
		return dsnError("user", pos+bad, err.Error())
	}
	if user != "" {
		r.params = append(r.params, param{name: "user", value: value, pos: pos, userInfo: true})
	}
	if !hasPassword {
		return nil
	}
	pos += len(user) + 1
	value, bad, err = unescape(password)
	if err != nil {
		return dsnError("password", pos+bad, err.Error())
	}
	r.params = append(r.params, param{name: "password", value: value, pos: pos, userInfo: true})
	return nil
}

// readHosts reads host[:port][,…] at pos.
func readHosts(r *raw, text string, pos int) error {
	if text == "" {
		return nil
	}
	for _, item := range strings.Split(text, ",") {
		h, err := readHost(item, pos)
		if err != nil {
			return err
		}
		r.hosts = append(r.hosts, h)
		pos += len(item) + 1
	}
	return nil
}

// readHost reads one host[:port] at pos.
func readHost(item string, pos int) (rawHost, error) {
	h := rawHost{pos: pos}
	if i := strings.IndexByte(item, '&'); i >= 0 {
		return h, dsnError("host", pos+i, msgAmpersand)
	}
	var rest string
	if strings.HasPrefix(item, "[") {
		end := strings.IndexByte(item, ']')
		if end < 0 {
			return h, dsnError("host", pos, "this bracket is never closed"+msgEncodeHint)
		}
		name := item[1:end]
		if i := strings.IndexByte(name, '%'); i >= 0 && !strings.HasPrefix(name[i:], "%25") {
			return h, dsnError("host", pos+1+i, "a zone is written after %25, as in [fe80::1%25eth0]")
		}
		name, bad, err := unescape(name)
		if err != nil {
			return h, dsnError("host", pos+1+bad, err.Error())
		}
		if checkHostName(name) != nil || !strings.Contains(name, ":") {
			return h, dsnError("host", pos, "not an IPv6 address in these brackets"+msgEncodeHint)
		}
		h.name = name
		if rest = item[end+1:]; rest != "" && rest[0] != ':' {
			return h, dsnError("host", pos+end+1, "only a port can follow the bracket"+msgEncodeHint)
		}
	} else {
		name, port, found := strings.Cut(item, ":")
		if strings.Contains(port, ":") {
			return h, dsnError("host", pos, "more than one colon: an IPv6 address stands in brackets"+msgEncodeHint)
		}
		decoded, bad, err := unescape(name)
		if err != nil {
			return h, dsnError("host", pos+bad, err.Error())
		}
		if err := checkHostName(decoded); err != nil {
			hint := msgEncodeHint
			if errors.Is(err, errAddressSocket) {
				hint = ""
			}
			return h, dsnError("host", pos, err.Error()+hint)
		}
		h.name = decoded
		if found {
			rest = item[len(name):]
		}
	}
	h.port = strings.TrimPrefix(rest, ":")
	if _, err := parsePort(h.port); err != nil {
		return h, dsnError("port", pos+len(item)-len(h.port), err.Error()+msgEncodeHint)
	}
	return h, nil
}

// readPath reads /dbname at pos.
func readPath(r *raw, path string, pos int) error {
	name := strings.TrimPrefix(path, "/")
	if i := strings.IndexByte(name, '@'); i >= 0 {
		return dsnError("DSN", pos+1+i, msgUnencodedAt)
	}
	if i := strings.IndexByte(name, '&'); i >= 0 {
		return dsnError("dbname", pos+1+i, msgAmpersand)
	}
	if i := strings.IndexByte(name, '/'); i >= 0 {
		return dsnError("dbname", pos+1+i, "a second / stands here: write it as %2F if it belongs to the name"+msgEncodeHint)
	}
	value, bad, err := unescape(name)
	if err != nil {
		return dsnError("dbname", pos+1+bad, err.Error())
	}
	if name != "" {
		r.params = append(r.params, param{name: "dbname", value: value, pos: pos + 1})
	}
	return nil
}

// readQuery reads key=value[&…] at pos.
func readQuery(r *raw, query string, pos int) error {
	for _, item := range strings.Split(query, "&") {
		if item == "" {
			pos++
			continue
		}
		name, value, found := strings.Cut(item, "=")
		if i := strings.IndexByte(name, '@'); i >= 0 {
			return dsnError("DSN", pos+i, msgUnencodedAt)
		}
		if !found {
			return dsnError("DSN", pos, "this key has no ="+msgEncodeHint)
		}
		p := param{pos: pos}
		var bad int
		var err error
		if p.name, bad, err = unescape(name); err != nil {
			return dsnError("DSN", pos+bad, err.Error())
		}
		if p.value, bad, err = unescape(value); err != nil {
			return dsnError("DSN", pos+len(name)+1+bad, err.Error())
		}
		r.params = append(r.params, p)
		pos += len(item) + 1
	}
	return nil
}

// unescape decodes percent-encoding and nothing else. bad is where it is wrong.
func unescape(text string) (value string, bad int, err error) {
	if strings.IndexByte(text, '%') < 0 {
		return text, 0, nil
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b.WriteByte(text[i])
			continue
		}
		if i+2 >= len(text) {
			return "", i, errPercent
		}
		high, okHigh := unhex(text[i+1])
		low, okLow := unhex(text[i+2])
		if !okHigh || !okLow {
			return "", i, errPercent
		}
		b.WriteByte(high<<4 | low)
		i += 2
	}
	return b.String(), 0, nil
}

func unhex(ch byte) (byte, bool) {
	switch {
	case ch >= '0' && ch <= '9':
		return ch - '0', true
	case ch >= 'a' && ch <= 'f':
		return ch - 'a' + 10, true
	case ch >= 'A' && ch <= 'F':
		return ch - 'A' + 10, true
	}
	return 0, false
}

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
