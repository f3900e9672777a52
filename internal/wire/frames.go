package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/options"
)

// Limits of what a server may send, beyond the five bytes of a frame's header. They keep a
// faulty peer from making the client allocate; no memory is taken for bytes that haven't
// arrived, whatever the header says.
const (
	maxRow       = 1<<30 - 1 // DataRow; PostgreSQL's own limit of an allocation
	maxDesc      = 16 << 20  // RowDescription, ParameterDescription
	maxText      = 16 << 20  // ErrorResponse, NoticeResponse
	maxSmall     = 64 << 10  // everything else
	maxPQError   = 30_000    // lib/pq takes a longer ErrorResponse for text of a broken server
	frameHeader  = 5
	maxColumns   = 1<<16 - 1
	maxParamArgs = 1<<16 - 1
)

// FrameError is an answer that isn't PostgreSQL's protocol. The connection is lost.
type FrameError struct {
	Type   byte   // the message's type, a letter or digit
	Length uint32 // as the header says, including itself
	Reason string // what is wrong with it
	Framed bool   // its type and length are right: what comes after it could be read
}

// Error names the message and what is wrong with it.
func (e *FrameError) Error() string {
	return fmt.Sprintf("malformed answer: message %q of length %d: %s", e.Type, e.Length, e.Reason)
}

// bodyLimit gives the largest body that a frame of this type may have, and whether the type
// is one that the driver ever gets.
func bodyLimit(typ byte, login bool) (limit int, known bool) {
	switch typ {
	case 'E', 'N':
		return maxText, true
	case 'S', 'A', 'Z':
		return maxSmall, true
	case 'R', 'K', 'v':
		return maxSmall, login
	case 'D':
		return maxRow, !login
	case 'T', 't':
		return maxDesc, !login
	case '1', '2', '3', 'n', 's', 'I', 'C':
		return maxSmall, !login
	}
	return 0, false
}

// be16 and be32 read the protocol's integers.
func be16(b []byte) int    { return int(binary.BigEndian.Uint16(b)) }
func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

// appendNulls appends a DataRow of so many NULLs.
func appendNulls(dst []byte, columns int) []byte {
	dst = append(dst, 'D')
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+2+4*columns))
	dst = binary.BigEndian.AppendUint16(dst, uint16(columns))
	for range columns {
		dst = append(dst, 0xff, 0xff, 0xff, 0xff)
	}
	return dst
}

// checkTag says what is wrong with a command tag: some end in the number of rows.
func checkTag(body []byte) error {
	if !validStrings(body, 1) {
		return errors.New("it isn't one string")
	}
	word, rest, counted := strings.Cut(string(body[:len(body)-1]), " ")
	switch word {
	case "SELECT", "UPDATE", "DELETE", "FETCH", "MOVE", "COPY":
	case "INSERT":
		_, rest, counted = strings.Cut(rest, " ")
		counted = counted && !strings.Contains(rest, " ")
		if !counted {
			return errors.New("INSERT comes with an OID and a number of rows")
		}
	default:
		return nil
	}
	if !counted {
		return nil
	}
	_, err := strconv.ParseInt(rest, 10, 64)
	return reason(err)
}

// rowDescription appends the types of a RowDescription's columns to oids, and whether they
// come in binary to formats.
func rowDescription(b []byte, oids []uint32, formats []bool) ([]uint32, []bool, bool) {
	if len(b) < 2 {
		return oids, formats, false
	}
	n := be16(b)
	b = b[2:]
	for range n {
		i := bytes.IndexByte(b, 0)
		if i < 0 || len(b) < i+1+18 {
			return oids, formats, false
		}
		b = b[i+1:]
		format := be16(b[16:])
		if format > 1 {
			return oids, formats, false
		}
		oids, formats = append(oids, be32(b[6:])), append(formats, format == 1)
		b = b[18:]
	}
	return oids, formats, len(b) == 0
}

// parameterDescription appends a ParameterDescription's type OIDs to oids.
func parameterDescription(b []byte, oids []uint32) ([]uint32, bool) {
	if len(b) < 2 || len(b) != 2+4*be16(b) {
		return oids, false
	}
	for b = b[2:]; len(b) > 0; b = b[4:] {
		oids = append(oids, be32(b))
	}
	return oids, true
}

// validFields says whether a body is a list of (type, string) pairs that ends in a NUL, as
// ErrorResponse and NoticeResponse are.
func validFields(b []byte) bool {
	for {
		if len(b) == 0 {
			return false
		}
		if b[0] == 0 {
			return len(b) == 1
		}
		i := bytes.IndexByte(b[1:], 0)
		if i < 0 {
			return false
		}
		b = b[i+2:]
	}
}

// validStrings says whether a body is exactly n strings.
func validStrings(b []byte, n int) bool {
	for range n {
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			return false
		}
		b = b[i+1:]
	}
	return len(b) == 0
}

// fields reads the pairs of an ErrorResponse or NoticeResponse that validFields accepted.
func fields(b []byte, f func(typ byte, value []byte)) {
	for len(b) > 0 && b[0] != 0 {
		i := bytes.IndexByte(b[1:], 0)
		f(b[0], b[1:1+i])
		b = b[i+2:]
	}
}

// appendFrame appends a frame with this body.
func appendFrame(dst []byte, typ byte, body []byte) []byte {
	dst = append(dst, typ)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(body)+4))
	return append(dst, body...)
}

// appendClose appends a Close of a named statement.
func appendClose(dst []byte, name string) []byte {
	dst = append(dst, 'C')
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+1+len(name)+1))
	dst = append(dst, 'S')
	dst = append(dst, name...)
	return append(dst, 0)
}

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
