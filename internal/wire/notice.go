package wire

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/picodata/go-picodata/internal/servererr"
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
func fatalError(body []byte) bool { return servererr.FatalSeverity(parseError(body).Severity) }

// parseError makes an error of an ErrorResponse's body. The severity is the field V, where the server sends
// one: S is in the server's language.
func parseError(body []byte) *pq.Error {
	e := &pq.Error{}
	unlocalized := ""
	fields(body, func(typ byte, value []byte) {
		switch s := string(value); typ {
		case 'S':
			e.Severity = s
		case 'V':
			unlocalized = s
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
	if unlocalized != "" {
		e.Severity = unlocalized
	}
	return e
}

const (
	minorField = 1000   // what fields other than the message keep
	minorTotal = 10_000 // and all of them together
	cutMark    = 40     // room for the mark of a cut
)

// shortenError makes an ErrorResponse small enough for lib/pq: its fields are cut and say
// so, the message last.
func shortenError(body []byte) []byte {
	minor := 0
	message := false
	fields(body, func(typ byte, value []byte) {
		if typ == 'M' && !message {
			message = true
		} else if size := min(len(value), minorField+cutMark) + 2; minor+size <= minorTotal {
			minor += size
		}
	})
	room := maxPQError - 1 - minor - 2 - cutMark
	out := make([]byte, 0, maxPQError)
	message, minor = false, 0
	fields(body, func(typ byte, value []byte) {
		limit := minorField
		if typ == 'M' && !message {
			message, limit = true, room
		} else {
			size := min(len(value), minorField+cutMark) + 2
			if minor+size > minorTotal {
				return
			}
			minor += size
		}
		out = append(out, typ)
		if len(value) <= limit+cutMark {
			out = append(out, value...)
		} else {
			for limit > 0 && !utf8.RuneStart(value[limit]) {
				limit--
			}
			out = append(out, value[:limit]...)
			out = fmt.Appendf(out, " … (%d bytes more)", len(value)-limit)
		}
		out = append(out, 0)
	})
	return append(out, 0)
}
