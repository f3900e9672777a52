package picotest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// doorMode is what happens to those who dial a node.
type doorMode int

const (
	doorOpen   doorMode = iota
	doorShut            // connection refused
	doorReset           // accepted, then reset
	doorSilent          // accepted, never answered
	doorLost            // the first packet of a dial is lost
)

// door is a node's listener and what it does to those who come. It has a lock of its own,
// taken after Cluster.mu or alone.
type door struct {
	mu       sync.Mutex
	listener net.Listener
	mode     doorMode
	max      int // logins at once; negative: no limit
	conns    map[*conn]struct{}
	closed   []ConnInfo // ended ones, of which ClosedConns shows the newest
	lastID   uint64
}

// Ports below those the kernel hands out to clients: a client that dials a node that is down
// must not find its own socket there, nor another process take the port meanwhile.
const (
	firstPort = 15000
	lastPort  = 32000
)

// listenLocked opens the node's listener, on addr or, if it is "", on a new address. c.mu is held.
func (n *Node) listenLocked(addr string) error {
	if n.rowsOnly {
		n.addr = fmt.Sprintf("192.0.2.%d:%d", n.raftID%250+1, 20000+n.raftID/250)
		n.door.max = -1
		return nil
	}
	l, err := n.c.listen(addr, n.name)
	if err != nil {
		return fmt.Errorf("picotest: node %s: %w", n.name, err)
	}
	n.addr = l.Addr().String()
	n.door.mu.Lock()
	n.door.listener = l
	if n.door.conns == nil {
		n.door.conns = make(map[*conn]struct{})
		n.door.max = -1
	}
	n.door.mu.Unlock()
	n.c.background(func() { n.accept(l) })
	return nil
}

func (c *Cluster) listen(addr, name string) (net.Listener, error) {
	if c.mem != nil {
		if addr != "" {
			return c.mem.listen(addr)
		}
		for i := 0; ; i++ {
			addr := name + ".picotest:4327"
			if i > 0 {
				addr = fmt.Sprintf("%s-%d.picotest:4327", name, i)
			}
			if l, err := c.mem.listen(addr); err == nil {
				return l, nil
			}
		}
	}
	if addr == "" && c.cfg.BasePort != 0 {
		addr = c.hostPort(c.cfg.BasePort + int(c.nextRaftID) - 1)
	}
	if addr != "" {
		return net.Listen("tcp", addr)
	}
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if l, err := net.Listen("tcp", c.hostPort(port)); err == nil {
			return l, nil
		}
	}
	return net.Listen("tcp", c.hostPort(0))
}

func (c *Cluster) hostPort(port int) string { return net.JoinHostPort(c.cfg.Host, strconv.Itoa(port)) }

// accept lets clients in until the listener is closed.
func (n *Node) accept(l net.Listener) {
	for {
		socket, err := l.Accept()
		if err != nil {
			return
		}
		n.door.mu.Lock()
		mode := n.door.mode
		if n.door.listener != l { // it was closed meanwhile
			n.door.mu.Unlock()
			_ = socket.Close()
			continue
		}
		if mode == doorReset {
			n.door.mu.Unlock()
			n.counters.refused()
			resetSocket(socket)
			continue
		}
		if !n.c.begin() {
			n.door.mu.Unlock()
			_ = socket.Close()
			return
		}
		n.door.lastID++
		c := newConn(n, n.door.lastID, socket)
		if mode == doorSilent || mode == doorLost {
			c.silence.shut()
		}
		n.door.conns[c] = struct{}{}
		n.door.mu.Unlock()
		n.counters.opened(c)
		go func() {
			defer n.c.work.Done()
			c.serve()
		}()
	}
}

// take removes the listener without closing it.
func (d *door) take() net.Listener {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.listener
	d.listener = nil
	return l
}

// put brings it back.
func (d *door) put(l net.Listener) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listener = l
}

// leave is called once per connection, at its end.
func (n *Node) leave(c *conn) {
	info := c.info(false)
	n.door.mu.Lock()
	delete(n.door.conns, c)
	if len(n.door.closed) >= 2*maxClosed {
		n.door.closed = append([]ConnInfo(nil), n.door.closed[maxClosed:]...)
	}
	n.door.closed = append(n.door.closed, info)
	n.door.mu.Unlock()
	n.counters.closed(c)
}

// open returns the connections that are open now, in order of their ids.
func (n *Node) connections() []*conn {
	n.door.mu.Lock()
	defer n.door.mu.Unlock()
	list := make([]*conn, 0, len(n.door.conns))
	for c := range n.door.conns {
		list = append(list, c)
	}
	sortConns(list)
	return list
}

// shut closes the listener and, unless they are to be kept, all connections.
func (n *Node) shut(keep bool) {
	n.door.mu.Lock()
	l := n.door.listener
	n.door.listener = nil
	n.door.mu.Unlock()
	if l != nil {
		_ = l.Close()
	}
	if keep {
		return
	}
	for _, c := range n.connections() {
		c.cut(cutClose)
	}
}

// Refuse makes the kernel refuse new connections to the node; open ones stay.
func (n *Node) Refuse() {
	n.setDoor(doorShut)
}

// ResetDials accepts new connections and resets them at once; open ones stay.
func (n *Node) ResetDials() { n.setDoor(doorReset) }

// BlackHole lets nothing through: new connections are accepted and never answered, on open ones
// what clients send and what the node answers gets lost in between. Accept ends it: the answers that are due arrive then.
func (n *Node) BlackHole() {
	n.setDoor(doorSilent)
	for _, c := range n.connections() {
		c.silence.shut()
	}
}

// LoseDials loses the packets of who dials the node: Cluster.DialContext waits for its context. Who dials TCP past it is
// accepted and never answered, for the kernel of one host loses nothing. Open connections stay.
func (n *Node) LoseDials() { n.setDoor(doorLost) }

// Accept ends Refuse, ResetDials, LoseDials and BlackHole.
func (n *Node) Accept() {
	n.setDoor(doorOpen)
	for _, c := range n.connections() {
		c.silence.open()
	}
}

func (n *Node) setDoor(mode doorMode) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.door.mu.Lock()
	n.door.mode = mode
	n.door.mu.Unlock()
	if mode == doorShut {
		n.shut(true)
		return
	}
	n.reopenLocked()
}

// reopenLocked listens again on the node's address if nobody does and the process exists. c.mu is held.
func (n *Node) reopenLocked() {
	n.door.mu.Lock()
	open := n.door.listener != nil || n.door.mode == doorShut
	n.door.mu.Unlock()
	if open || n.process == gone || n.rowsOnly {
		return
	}
	if err := n.listenLocked(n.addr); err != nil {
		// Another process took the port. A test can't go on as it means to.
		panic(err)
	}
}

// LimitConnections makes the node answer 53300 to who would be more than max connections at once; negative: no limit.
func (n *Node) LimitConnections(max int) {
	n.door.mu.Lock()
	defer n.door.mu.Unlock()
	n.door.max = max
}

// loses tells whether dials get lost.
func (d *door) loses() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mode == doorLost
}

// admit lets c log in unless it is one too many. Looking and letting in are one step: of several that log in
// at once no more get in than there is room for.
func (n *Node) admit(c *conn) bool {
	n.door.mu.Lock()
	defer n.door.mu.Unlock()
	if n.door.max >= 0 {
		in := 0
		for other := range n.door.conns {
			if other.admitted {
				in++
			}
		}
		if in >= n.door.max {
			return false
		}
	}
	c.admitted = true
	return true
}

// DropConnections closes all connections of the node, as a proxy in between might: clients see EOF.
func (n *Node) DropConnections() { n.cutAll(cutClose) }

// ResetConnections resets all connections of the node.
func (n *Node) ResetConnections() { n.cutAll(cutReset) }

func (n *Node) cutAll(how cutKind) {
	for _, c := range n.connections() {
		c.cut(how)
	}
}
