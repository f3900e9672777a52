package picotest

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// session is a client's session: what its startup asked for, its statements and portals.
type session struct {
	c       *conn
	version engine.Version
	flight  uint64 // the flight whose first message was seen last

	mu     sync.Mutex // guards user and params for Node.Conns
	user   string
	params map[string]string

	opts       startupOptions
	hungUp     bool // the client left in the middle of its login
	statements map[string]*statement
	portals    map[string]*portal
	skipping   bool // an error of the extended protocol: everything up to Sync is dropped
}

func (s *session) init(c *conn) {
	s.c = c
	s.version = c.node.version()
	s.statements = make(map[string]*statement)
	s.portals = make(map[string]*portal)
}

func (s *session) who() (string, map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.user, s.params
}

// login is a Statement for matches that know the user only.
func (s *session) login() *Statement {
	user, params := s.who()
	return &Statement{Node: s.c.node.name, Conn: s.c.id, User: user, Options: params["options"]}
}

// run serves the connection until it ends.
func (s *session) run() {
	defer s.forget()
	if !s.startup() {
		s.c.flush()
		return
	}
	s.c.loggedIn.Store(true)
	if !s.c.node.c.begin() {
		return
	}
	go func() {
		defer s.c.node.c.work.Done()
		s.c.receive()
	}()
	for {
		kind, body, err := s.next()
		if err != nil {
			return
		}
		if !s.c.node.frozen.pass(s.c.done) || !s.delay() {
			return
		}
		if !s.handle(kind, body) {
			s.c.flush()
			return
		}
	}
}

// forget drops the session's statements from the instance's storage.
func (s *session) forget() {
	s.closePortals()
	for name := range s.statements {
		s.drop(name)
	}
}

// next returns the client's next message. What is due goes out before it waits.
func (s *session) next() (byte, []byte, error) {
	b := &s.c.in
	for {
		if len(b.left) >= 5 {
			size := int(binary.BigEndian.Uint32(b.left[1:5]))
			if size < 4 || size > 1<<30 {
				return 0, nil, fmt.Errorf("picotest: a frame of %d bytes", size)
			}
			if len(b.left) >= 1+size {
				kind, body := b.left[0], b.left[5:1+size]
				b.left = b.left[1+size:]
				s.c.frame(true, string(rune(kind)), body)
				return kind, body, nil
			}
		}
		if b.idle() {
			s.c.flushDue()
		}
		data, err := b.take()
		if err != nil {
			return 0, nil, err
		}
		if !s.c.silence.pass(s.c.done) {
			return 0, nil, net.ErrClosed
		}
		if len(b.left) == 0 {
			b.left = data
		} else {
			b.left = append(append(make([]byte, 0, len(b.left)+len(data)), b.left...), data...)
		}
	}
}

// delay waits before the first message of a flight if the node is to be slow.
func (s *session) delay() bool {
	flight := s.c.in.flights.Load()
	if flight == s.flight {
		return true
	}
	s.flight = flight
	d := s.c.node.delay.Load()
	if d <= 0 {
		return true
	}
	passed := make(chan struct{})
	t := s.c.node.c.clock.AfterFunc(time.Duration(d), func() { close(passed) })
	defer t.Stop()
	select {
	case <-passed:
		return true
	case <-s.c.done:
		return false
	}
}

// handle answers one message; false ends the connection.
func (s *session) handle(kind byte, body []byte) bool {
	if s.skipping && kind != 'S' && kind != 'X' {
		return true
	}
	switch kind {
	case 'Q':
		var m pgproto3.Query
		if m.Decode(body) != nil {
			return false
		}
		return s.query(m.String)
	case 'P':
		var m pgproto3.Parse
		if m.Decode(body) != nil {
			return false
		}
		return s.parse(&m)
	case 'B':
		var m pgproto3.Bind
		if m.Decode(body) != nil {
			return false
		}
		return s.bind(&m)
	case 'D':
		var m pgproto3.Describe
		if m.Decode(body) != nil {
			return false
		}
		return s.describe(&m)
	case 'E':
		var m pgproto3.Execute
		if m.Decode(body) != nil {
			return false
		}
		return s.execute(&m)
	case 'C':
		var m pgproto3.Close
		if m.Decode(body) != nil {
			return false
		}
		return s.close(&m)
	case 'H':
		s.c.flush()
		return true
	case 'S':
		s.skipping = false
		s.closePortals() // as every Sync does
		s.ready()
		return true
	case 'X':
		return false
	case 'd':
		return s.fail("0A000", fmt.Sprintf("feature is not supported: CopyData(CopyData { data: b%q })", body))
	case 'c':
		return s.fail("0A000", "feature is not supported: CopyDone(CopyDone)")
	case 'f':
		return s.fail("0A000", fmt.Sprintf("feature is not supported: CopyFail(CopyFail { message: %q })", trimZero(body)))
	case 'p':
		return s.fail("0A000", "feature is not supported: PasswordMessageFamily(Raw)")
	}
	// The server's message has this spelling.
	s.error("58030", fmt.Sprintf("IO error: Invalid message recevied, received %d", kind))
	return false
}

func trimZero(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}

// fail sends an error of the extended protocol: what follows is dropped up to Sync.
func (s *session) fail(code, text string) bool {
	s.error(code, text)
	s.skipping = true
	return true
}

func (s *session) error(code, text string) {
	s.send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: code, Message: text})
}

// ready sends ReadyForQuery: always I, for there are no transactions. What was queued up to it is due.
func (s *session) ready() {
	s.send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	s.c.due = len(s.c.out)
}

// send queues a message.
func (s *session) send(m pgproto3.BackendMessage) {
	start := len(s.c.out)
	out, err := m.Encode(s.c.out)
	if err != nil {
		// Only a message too large for the protocol can't be encoded.
		out = append(s.c.out, rawError("XX000", err.Error())...)
	}
	s.c.out = out
	s.c.frame(false, string(rune(out[start])), out[start+5:])
	if len(s.c.out) >= chunk {
		s.c.flush()
	}
}

func rawError(code, text string) []byte {
	out, _ := (&pgproto3.ErrorResponse{Severity: "ERROR", Code: code, Message: text}).Encode(nil)
	return out
}

// flush sends all that is queued. A broken socket shows at the next read.
func (c *conn) flush() {
	if len(c.out) == 0 {
		return
	}
	data := c.out
	c.out, c.due = nil, 0
	c.sendNow(data)
}

// flushDue sends what is queued up to the last ReadyForQuery: as every server, the node keeps the answers to a
// pipeline that isn't over, unless they become many.
func (c *conn) flushDue() {
	if c.due == 0 {
		return
	}
	data, rest := c.out[:c.due], c.out[c.due:]
	c.out, c.due = append([]byte(nil), rest...), 0
	c.sendNow(data)
}

// sendNow sends bytes past the queue.
func (c *conn) sendNow(data []byte) {
	if !c.node.frozen.pass(c.done) || !c.silence.pass(c.done) {
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.answered.Store(true)
	c.counters.bytesOut.Add(int64(len(data)))
	c.node.counters.bytesOut.Add(int64(len(data)))
	_, _ = c.transport().Write(data)
}

// readStartup fills b in the startup phase, before there is a receiver. What arrives beyond it stays in the
// inbox, for whoever reads next.
func (c *conn) readStartup(b []byte) error {
	for len(b) > 0 {
		if len(c.in.left) == 0 {
			buf := make([]byte, chunk)
			n, err := c.transport().Read(buf)
			if n > 0 {
				c.arrived(n)
			} else if err != nil {
				return err
			}
			c.in.left = buf[:n]
			if !c.silence.pass(c.done) {
				return net.ErrClosed
			}
		}
		n := copy(b, c.in.left)
		b, c.in.left = b[n:], c.in.left[n:]
	}
	return nil
}
