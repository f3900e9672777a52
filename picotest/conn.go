package picotest

import (
	"bytes"
	"crypto/tls"
	"net"
	"sort"
	"sync"
	"sync/atomic"
)

// chunk is how much of a client's bytes is read at once.
const chunk = 64 << 10

// cutKind is how a connection ends.
type cutKind int

const (
	cutClose cutKind = iota // FIN: the client reads EOF
	cutReset                // RST
	cutHang                 // nothing comes any more, the socket stays open
)

// conn is a client's connection to a node: the socket, what arrived, what is to be sent, and the session.
type conn struct {
	node     *Node
	id       uint64
	socket   net.Conn
	counters connCounters
	loggedIn atomic.Bool
	admitted bool // let in by LimitConnections; under the lock of the door
	silence  gate // closed: a black hole lies in between

	done     chan struct{} // closed when the connection ends, whoever ended it
	endOnce  sync.Once
	gone     atomic.Bool // the client closed; the session may still be at work
	answered atomic.Bool // the node wrote since the client's last bytes: what comes next is a new flight

	in      inbox
	out     []byte     // frames not yet sent; the session's
	due     int        // how much of out the client may have
	writing sync.Mutex // one writer at a time: Node.Send comes from outside

	secure  atomic.Pointer[tls.Conn] // nil: in clear
	session session
}

func newConn(n *Node, id uint64, socket net.Conn) *conn {
	c := &conn{node: n, id: id, socket: socket, done: make(chan struct{})}
	c.in.init()
	c.answered.Store(true) // the first burst is a flight too
	c.session.init(c)
	return c
}

func sortConns(list []*conn) {
	sort.Slice(list, func(i, k int) bool { return list[i].id < list[k].id })
}

// serve is the connection's life.
func (c *conn) serve() {
	defer c.node.leave(c)
	defer c.end()
	c.session.run()
}

// transport is what the protocol runs on: the socket, or TLS on it.
func (c *conn) transport() net.Conn {
	if t := c.secure.Load(); t != nil {
		return t
	}
	return c.socket
}

// end closes the socket and frees everything. It may be called more than once, by anyone.
func (c *conn) end() {
	c.endOnce.Do(func() {
		close(c.done)
		c.in.close()
		_ = c.socket.Close()
	})
}

func (c *conn) isDone() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// cut ends the connection as a fault.
func (c *conn) cut(how cutKind) {
	switch how {
	case cutHang:
		c.silence.shut()
	case cutReset:
		resetSocket(c.socket)
		c.end()
	default:
		c.end()
	}
}

// resetSocket closes a connection so that the other side gets ECONNRESET.
func resetSocket(socket net.Conn) {
	switch s := socket.(type) {
	case *net.TCPConn:
		_ = s.SetLinger(0)
		_ = s.Close()
	case *memConn:
		s.reset()
	default:
		_ = socket.Close()
	}
}

// receive reads what the client sends, one chunk ahead of the session: a client that left is noticed even
// while a statement waits, and one that doesn't read its answers is still stopped by the kernel's buffers.
func (c *conn) receive() {
	from := c.transport()
	inFlight := 0
	buf := make([]byte, chunk)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if c.arrived(n) {
				inFlight = 0
			}
			if limit, k := c.node.c.hooks.bytesLimit(&c.session); k != nil && inFlight+n >= limit && c.node.c.hooks.spend(k) {
				o := k.act(&c.session, nil)
				if o.blocked {
					return
				}
				if o.cut {
					// What was read beyond the limit is lost with what was read before it.
					c.cut(o.how)
					if o.how != cutHang {
						return
					}
				}
			}
			inFlight += n
			if !c.in.put(bytes.Clone(buf[:n])) { // the session keeps it
				return
			}
		}
		if err != nil {
			c.gone.Store(true)
			c.in.finish(err)
			return
		}
	}
}

// arrived counts bytes from the client and tells whether they begin a flight.
func (c *conn) arrived(n int) bool {
	c.counters.count(&c.node.counters, n)
	if !c.answered.CompareAndSwap(true, false) {
		return false
	}
	c.counters.flights.Add(1)
	c.node.counters.flights.Add(1)
	c.in.flights.Add(1)
	return true
}

// inbox passes a client's bytes from the receiver to the session.
type inbox struct {
	mu      sync.Mutex
	changed *sync.Cond
	next    []byte // read ahead
	full    bool
	err     error
	closed  bool
	left    []byte // the session's: what it hasn't used yet
	flights atomic.Uint64
	over    chan struct{} // closed when the client has left
	once    sync.Once
}

func (b *inbox) init() {
	b.changed = sync.NewCond(&b.mu)
	b.over = make(chan struct{})
}

// put hands a chunk over; it waits while the one before lies there.
func (b *inbox) put(data []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.full && !b.closed {
		b.changed.Wait()
	}
	if b.closed {
		return false
	}
	b.next, b.full = data, true
	b.changed.Broadcast()
	return true
}

// finish says that nothing comes after what was put.
func (b *inbox) finish(err error) {
	b.mu.Lock()
	b.err = err
	b.changed.Broadcast()
	b.mu.Unlock()
	b.once.Do(func() { close(b.over) })
}

// close ends all waiting.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.changed.Broadcast()
	b.mu.Unlock()
}

// take returns the next chunk; an error when there is none and will be none.
func (b *inbox) take() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case b.closed:
			return nil, net.ErrClosed
		case b.full:
			data := b.next
			b.next, b.full = nil, false
			b.changed.Broadcast()
			return data, nil
		case b.err != nil:
			return nil, b.err
		}
		b.changed.Wait()
	}
}

// idle tells whether take would have to wait.
func (b *inbox) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.full
}
