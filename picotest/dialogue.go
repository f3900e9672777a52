package picotest

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Frame is a message on the wire.
type Frame struct {
	At   time.Time
	Node string
	Conn uint64
	// FromClient tells the direction.
	FromClient bool
	// Type is the message's type byte, "startup" for the packets that have none.
	Type string
	// Body is the message without type and length. A password is replaced by stars.
	Body []byte
}

// String is a readable line: who, which message, its text.
func (f Frame) String() string {
	arrow := "<"
	if f.FromClient {
		arrow = ">"
	}
	names := sentNames
	if f.FromClient {
		names = receivedNames
	}
	name := names[f.Type]
	if name == "" {
		name = f.Type
	}
	body := strconv.QuoteToASCII(string(f.Body))
	if len(body) > 300 {
		body = body[:300] + `…"`
	}
	return fmt.Sprintf("%s/%d %s %s %s", f.Node, f.Conn, arrow, name, body)
}

var receivedNames = map[string]string{
	"Q": "Query", "P": "Parse", "B": "Bind", "D": "Describe", "E": "Execute", "C": "Close", "H": "Flush", "S": "Sync", "X": "Terminate", "p": "Password",
}

var sentNames = map[string]string{
	"R": "Authentication", "S": "ParameterStatus", "Z": "ReadyForQuery", "T": "RowDescription", "D": "DataRow", "C": "CommandComplete",
	"E": "ErrorResponse", "N": "NoticeResponse", "1": "ParseComplete", "2": "BindComplete", "3": "CloseComplete", "n": "NoData",
	"t": "ParameterDescription", "s": "PortalSuspended", "I": "EmptyQueryResponse",
}

// dialogue records frames.
type dialogue struct {
	on     atomic.Bool
	mu     sync.Mutex
	frames []Frame
}

// RecordFrames begins (or ends) recording the frames of all the node's connections.
func (n *Node) RecordFrames(on bool) { n.frames.on.Store(on) }

// Frames returns the frames that were recorded.
func (n *Node) Frames() []Frame {
	n.frames.mu.Lock()
	defer n.frames.mu.Unlock()
	return append([]Frame(nil), n.frames.frames...)
}

// Dialogue returns the recorded frames as readable text, a line each.
func (n *Node) Dialogue() string {
	var b strings.Builder
	for _, f := range n.Frames() {
		b.WriteString(f.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// frame notes a message; kind is its type byte or "startup".
func (c *conn) frame(fromClient bool, kind string, body []byte) {
	n := c.node
	if fromClient {
		n.counters.message(&n.counters.received, kind)
		c.counters.message(&c.counters.received, kind)
	} else {
		n.counters.message(&n.counters.sent, kind)
		c.counters.message(&c.counters.sent, kind)
	}
	trace := n.c.cfg.Trace
	if trace == nil && !n.frames.on.Load() {
		return
	}
	f := Frame{At: n.c.clock.Now(), Node: n.name, Conn: c.id, FromClient: fromClient, Type: kind, Body: append([]byte(nil), body...)}
	if fromClient && kind == "p" {
		f.Body = []byte("***")
	}
	if n.frames.on.Load() {
		n.frames.mu.Lock()
		n.frames.frames = append(n.frames.frames, f)
		n.frames.mu.Unlock()
	}
	if trace != nil {
		n.c.traceMu.Lock()
		_, _ = io.WriteString(trace, f.String()+"\n")
		n.c.traceMu.Unlock()
	}
}
