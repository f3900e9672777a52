package wire

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/picodata/go-picodata/options"
)

// notice hands a NoticeResponse to the configured handler.
func (c *Conn) notice(body []byte) {
	if c.cfg.OnNotice == nil {
		return
	}
	n := options.Notice{Node: c.target.node()}
	fields(body, func(typ byte, value []byte) {
		switch typ {
		case 'S':
			n.Severity = string(value)
		case 'C':
			n.Code = string(value)
		case 'M':
			n.Message = string(value)
		}
	})
	c.cfg.OnNotice(c, n)
}

// parameter notes a ParameterStatus.
func (c *Conn) parameter(body []byte) {
	name, value, _ := bytes.Cut(body, []byte{0})
	if string(name) == "server_version" {
		c.serverVersion = string(bytes.TrimSuffix(value, []byte{0}))
	}
}

// fatalError says whether the severity of an ErrorResponse ends the connection. lib/pq
// turns such errors into driver.ErrBadConn and drops their text.
func fatalError(body []byte) bool {
	fatal := false
	fields(body, func(typ byte, value []byte) {
		if typ == 'S' || typ == 'V' {
			fatal = fatal || string(value) == pqerror.SeverityFatal || string(value) == pqerror.SeverityPanic
		}
	})
	return fatal
}

// parseError makes an error of an ErrorResponse's body.
func parseError(body []byte) *pq.Error {
	e := &pq.Error{}
	fields(body, func(typ byte, value []byte) {
		switch s := string(value); typ {
		case 'S':
			e.Severity = s
		case 'C':
			e.Code = pqerror.Code(s)
		case 'M':
			e.Message = s
		case 'D':
			e.Detail = s
		case 'H':
			e.Hint = s
		case 'P':
			e.Position = s
		case 'W':
			e.Where = s
		}
	})
	return e
}

// shortenError makes an ErrorResponse small enough for lib/pq: the long fields are cut at
// equal length, and say so.
func shortenError(body []byte) []byte {
	count := 0
	fields(body, func(byte, []byte) { count++ })
	// Type and NUL of each field, the mark of each cut, and the list's own NUL.
	const mark = 40
	room := maxPQError - 1 - count*(2+mark)
	if room < 0 {
		room = 0
	}
	rest := room % max(count, 1)
	out := make([]byte, 0, maxPQError)
	fields(body, func(typ byte, value []byte) {
		share := room / count
		if typ == 'M' { // what people read gets what the division left over, once
			share += rest
			rest = 0
		}
		if len(out)+len(value)+3 > maxPQError || len(value) > share+mark {
			if share == 0 {
				return
			}
			cut := min(share, len(value))
			for cut > 0 && cut < len(value) && !utf8.RuneStart(value[cut]) {
				cut--
			}
			out = append(out, typ)
			out = append(out, value[:cut]...)
			out = fmt.Appendf(out, " … (%d bytes more)", len(value)-cut)
			out = append(out, 0)
			return
		}
		out = append(out, typ)
		out = append(out, value...)
		out = append(out, 0)
	})
	return append(out, 0)
}
