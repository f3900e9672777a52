package wire

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/internal/servererr"
)

const (
	readBuffer = 16 << 10 // what an idle connection keeps
	keepBuffer = 64 << 10 // a buffer that grew beyond is dropped once it is empty
)

// errDrained ends the reading of a result that the caller has abandoned.
var errDrained = errors.New("the rest of an abandoned result is too long to be read")

// guard is the net.Conn that lib/pq gets. It delivers whole frames only, each of them
// checked: lib/pq takes a header's word for how much to allocate, indexes into bodies
// unchecked, loses step on long errors, and forgets failures. It also carries out what the
// connection asks for: naming a statement on its way, answering a Prepare from memory,
// closing names in front of the next statement.
type guard struct {
	nc    net.Conn // frames go over it: TLS or plain
	sock  *socket  // beneath nc
	owner *Conn

	// buf[r:v] is checked and not yet delivered, buf[v:w] has arrived and isn't looked at.
	buf     []byte
	r, v, w int
	inject  []byte // delivered first

	err         error     // sticky: nothing more goes over this connection
	fatal       *pq.Error // the server's last word, if it had the severity FATAL or PANIC
	login       bool      // until the first ReadyForQuery
	encrypted   bool
	exchange    exchange // of secrets, while the login lasts
	curious     bool     // who answers is to be asked along with the login
	asked       bool     // it was
	outstanding int      // ReadyForQuery messages that are still to come
	status      byte     // of the last ReadyForQuery

	// One operation.
	written  int64
	answered bool
	draining bool
	drain    int64     // bytes that may still be read once draining
	drainEnd time.Time // and until when; set at the first wait
	raw      bool      // rows are delivered as they came: a pipeline reads them
	left     bool      // a row was passed over while draining
	columns  int       // of the DataRows to come; -1 = no rows are allowed
	oids     []uint32
	formats  []bool       // of the last RowDescription: binary?
	hold     bool         // lib/pq gets rows of NULLs, one at a time: their values are decoded past it
	held     []byte       // the body of the row that lib/pq got last so
	spoilt   *DecodeError // of what isn't a row
	bind     []byte       // the next Bind's body is kept here if it isn't nil

	// Statements.
	closes   []byte             // Close messages that wait for the next extended statement
	closing  int                // how many they are
	swallow  int                // CloseComplete messages to take out
	rename   string             // name for the Parse of the next write; "" = leave it unnamed
	capture  bool               // keep the next RowDescription or NoData in desc
	desc     []byte             // that frame
	parsed   bool               // ParseComplete came since the last write
	saw      servererr.Evidence // of the flight since the last write
	told     bool               // the flight's outcome has come: CommandComplete, EmptyQueryResponse or an error
	nulls    []byte             // a row of NULLs, reused
	prepared *synthetic
	wbuf     []byte
}

// synthetic is the answer to a Prepare that goes over no wire: the statement has been named
// by the execution before.
type synthetic struct {
	name   string
	desc   []byte
	params int
}

func newGuard(nc net.Conn, sock *socket, encrypted bool) *guard {
	return &guard{
		nc: nc, sock: sock, encrypted: encrypted,
		buf: make([]byte, readBuffer), login: true, outstanding: 1, columns: -1,
	}
}

// startOp forgets what belonged to the operation before.
func (g *guard) startOp() {
	g.written, g.answered, g.draining, g.left, g.columns = 0, false, false, false, -1
	g.rename, g.capture, g.hold, g.bind = "", false, false, nil
	g.raw = false
	g.fatal, g.saw, g.held, g.spoilt = nil, servererr.Evidence{}, nil, nil
}

// ready says that nothing is under way and the next statement may be written.
func (g *guard) ready() bool {
	return g.err == nil && !g.login && g.outstanding == 0 && len(g.inject) == 0 && g.r == g.v
}

// fail makes err the connection's end, unless it had one before.
func (g *guard) fail(err error) error {
	if g.err == nil {
		if errors.Is(err, driver.ErrBadConn) {
			err = errGivenUp
		}
		g.err = err
	}
	return g.err
}

// Read delivers checked frames to lib/pq.
func (g *guard) Read(p []byte) (int, error) {
	for {
		if len(g.inject) > 0 {
			n := copy(p, g.inject)
			g.inject = g.inject[n:]
			return n, nil
		}
		if g.r < g.v {
			n := copy(p, g.buf[g.r:g.v])
			g.r += n
			return n, nil
		}
		if g.err != nil {
			return 0, g.err
		}
		need, err := g.scan()
		if g.r < g.v {
			continue // what was good comes first
		}
		if err != nil {
			return 0, g.fail(err)
		}
		if need == 0 {
			continue
		}
		if err := g.fill(need); err != nil {
			return 0, err
		}
	}
}

// scan looks at buf[v:w]. It returns 0 if there is something to deliver or to scan again,
// else how many bytes the next frame needs from v on before it can go on.
func (g *guard) scan() (need int, err error) {
	for {
		b := g.buf[g.v:g.w]
		if len(b) < frameHeader {
			return g.pending(frameHeader), nil
		}
		typ, length := b[0], be32(b[1:])
		limit, known := bodyLimit(typ, g.login)
		if !known {
			return 0, &FrameError{Type: typ, Length: length, Reason: "unknown or unexpected message"}
		}
		if length < 4 || length-4 > uint32(limit) {
			return 0, &FrameError{Type: typ, Length: length, Reason: fmt.Sprintf("the length must be 4 to %d", limit+4)}
		}
		size := int(length) + 1
		if len(b) < size {
			return g.pending(size), nil
		}
		pass, err := g.frame(typ, length, b[frameHeader:size])
		if err != nil {
			return 0, err
		}
		switch pass {
		case deliver:
			g.v += size
			if typ == 'Z' && g.outstanding > 0 { // what follows isn't for the same reader
				return 0, nil
			}
		case after: // not before what waits has been delivered
			return 0, nil
		case remove, replace:
			g.v += size
			g.r = g.v
			if pass == replace {
				return 0, nil
			}
		}
	}
}

// pending is need, or 0 while something can be delivered first.
func (g *guard) pending(need int) int {
	if g.r < g.v {
		return 0
	}
	return need
}

// What becomes of a frame.
type passage uint8

const (
	deliver passage = iota
	remove          // lib/pq doesn't see it
	replace         // inject holds what lib/pq sees instead
	after           // it can't be handled yet
)

// frame checks one frame and acts on it.
func (g *guard) frame(typ byte, length uint32, body []byte) (passage, error) {
	malformed := func(reason string) (passage, error) {
		return 0, &FrameError{Type: typ, Length: length, Reason: reason, Framed: true}
	}
	switch typ {
	case 'D':
		if g.columns < 0 || g.outstanding == 0 {
			return malformed("a row where none was announced")
		}
		if g.raw {
			g.answered = true
			return deliver, nil
		}
		if g.r < g.v {
			return after, nil
		}
		g.answered, g.saw.Row = true, true
		if g.draining {
			g.left = true
		}
		if g.draining || !g.hold { // lib/pq would pass over it
			return remove, nil
		}
		g.held = body
		g.nulls = appendNulls(g.nulls[:0], g.columns)
		g.inject = g.nulls
		return replace, nil
	case 'N', 'S', 'A', '3':
		if g.r < g.v {
			return after, nil
		}
	case 'E':
		if g.r < g.v && len(body) > maxPQError {
			return after, nil
		}
	}
	switch typ {
	case 'N':
		if !validFields(body) {
			return malformed("not a list of fields")
		}
		g.owner.notice(body)
		return remove, nil
	case 'S':
		if !validStrings(body, 2) {
			return malformed("not a name and a value")
		}
		g.owner.parameter(body)
		if g.login {
			return deliver, nil // lib/pq wants server_version and TimeZone
		}
		return remove, nil
	case 'A':
		return remove, nil // nobody can LISTEN through database/sql
	}
	if g.outstanding == 0 {
		if typ == 'E' && validFields(body) {
			g.fatal = parseError(body)
			return 0, fmt.Errorf("the server gave up the idle connection: %w", g.fatal)
		}
		return malformed("an answer to nothing")
	}
	g.answered = true
	switch typ {
	case 'E':
		if !validFields(body) {
			return malformed("not a list of fields")
		}
		g.told = true
		if fatalError(body) {
			g.fatal = parseError(body)
		}
		if len(body) > maxPQError {
			g.inject = appendFrame(g.inject[:0], 'E', shortenError(body))
			return replace, nil
		}
	case 'Z':
		if len(body) != 1 || body[0] != 'I' && body[0] != 'T' && body[0] != 'E' {
			return malformed("not a transaction status")
		}
		if g.saw.Simple && !g.told {
			return malformed("the end of an answer that never began")
		}
		g.outstanding--
		g.status = body[0]
		g.login = false
	case 'T':
		var ok bool
		if g.oids, g.formats, ok = rowDescription(body, g.oids[:0], g.formats[:0]); !ok {
			return malformed("not a list of columns")
		}
		g.columns = len(g.oids)
		g.keepDesc(typ, body)
	case 'n':
		g.oids, g.columns = g.oids[:0], -1
		g.keepDesc(typ, body)
	case 't':
		if _, ok := parameterDescription(body, nil); !ok {
			return malformed("not a list of parameters")
		}
	case '1':
		g.parsed = true
	case '2':
		g.saw.Bound = true
	case '3':
		if g.swallow == 0 {
			return malformed("no statement was closed")
		}
		g.swallow--
		return remove, nil
	case 'I':
		g.told = true
	case 'C':
		g.told = true
		if err := checkTag(body); err != nil {
			if g.r < g.v {
				return after, nil
			}
			g.spoilt = &DecodeError{Type: "command tag", Length: len(body), Cause: err}
			g.inject = appendFrame(g.inject[:0], 'C', []byte("?\x00"))
			return replace, nil
		}
	case 's':
		return malformed("the driver never limits the rows of an execution")
	case 'R':
		return deliver, g.exchange.authentication(body)
	case 'K', 'v':
		if len(body) < 8 {
			return malformed("too short")
		}
	}
	return deliver, nil
}

func (g *guard) keepDesc(typ byte, body []byte) {
	if g.capture {
		g.capture = false
		g.desc = appendFrame(nil, typ, body)
	}
}

// settle looks at what has come unasked before a statement is written. Beneath TLS a part of it may wait where the
// buffer had no room for the whole record.
func (g *guard) settle() error {
	if g.encrypted {
		return g.take()
	}
	_, err := g.leftover()
	return err
}

// fill reads from the network until buf[v:] holds need bytes or more has arrived.
func (g *guard) fill(need int) error {
	if g.v > 0 { // r == v here: nothing waits before it
		copy(g.buf, g.buf[g.v:g.w])
		g.w -= g.v
		g.r, g.v = 0, 0
	}
	if g.w == 0 && len(g.buf) > keepBuffer {
		g.buf = make([]byte, readBuffer)
	}
	if g.w == len(g.buf) {
		// Grow by what has come, not by what is announced.
		size := 2 * len(g.buf)
		if need > len(g.buf) {
			size = min(need, size)
		}
		grown := make([]byte, size)
		copy(grown, g.buf[:g.w])
		g.buf = grown
	}
	if g.draining {
		if g.drain <= 0 {
			return g.fail(errDrained)
		}
		if g.drainEnd.IsZero() {
			g.boundDrain()
		}
	}
	n, err := g.nc.Read(g.buf[g.w:])
	if n == 0 && err == nil {
		err = io.ErrNoProgress
	}
	g.w += n
	if g.draining {
		g.drain -= int64(n)
	}
	if n > 0 {
		return nil // an error that came along comes again
	}
	if err != nil {
		if g.draining && !time.Now().Before(g.drainEnd) {
			err = errDrained
		}
		return g.fail(err)
	}
	return nil
}

// boundDrain gives the rest of an abandoned result a time to arrive. A context that ended
// before keeps its say.
func (g *guard) boundDrain() {
	g.drainEnd = time.Now().Add(drainTime)
	if g.nc.SetReadDeadline(g.drainEnd) == nil && (g.owner.watch.fired.Load() || g.owner.watch.interrupted()) {
		_ = g.nc.SetReadDeadline(past)
	}
}

// endDrain lifts the bound.
func (g *guard) endDrain() {
	g.draining = false
	if !g.drainEnd.IsZero() {
		g.drainEnd = time.Time{}
		if g.err == nil {
			if err := g.nc.SetReadDeadline(time.Time{}); err != nil {
				g.fail(err)
			}
		}
	}
}

// Write sends what lib/pq wrote, changed as the connection asked for.
func (g *guard) Write(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	if g.login {
		n, err := g.nc.Write(g.withQuestion(p))
		if err != nil {
			g.fail(err)
		}
		return min(n, len(p)), err
	}
	if g.prepared != nil {
		return g.answerPrepare(p)
	}
	b := p
	if g.rename != "" || g.closing > 0 && p[0] != 'Q' {
		var err error
		if b, err = g.rewrite(p); err != nil {
			return 0, g.fail(err)
		}
	}
	if p[0] == 'Q' || p[len(p)-frameHeader] == 'S' {
		g.outstanding++
	}
	if g.bind != nil && p[0] == 'B' {
		g.bind = append(g.bind, p[frameHeader:min(len(p), int(be32(p[1:]))+1)]...)
	}
	g.parsed, g.told, g.saw = false, false, servererr.Evidence{Simple: p[0] == 'Q'}
	n, err := g.nc.Write(b)
	g.written += int64(n)
	if err != nil {
		g.fail(err)
		return min(n, len(p)), err
	}
	return len(p), nil
}

// Close closes the socket without a word.
func (g *guard) Close() error { return g.nc.Close() }

// LocalAddr is the socket's.
func (g *guard) LocalAddr() net.Addr { return g.nc.LocalAddr() }

// RemoteAddr is the socket's.
func (g *guard) RemoteAddr() net.Addr { return g.nc.RemoteAddr() }

// SetDeadline does nothing: deadlines are the connection's business.
func (g *guard) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (g *guard) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (g *guard) SetWriteDeadline(time.Time) error { return nil }
