package picotest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// memNet is a network of named listeners inside the process. Its connections have
// buffers, unlike net.Pipe's: two sides that write at the same time don't block each
// other. All waiting is on sync.Cond or channels, so that a testing/synctest bubble sees
// it as idle.
type memNet struct {
	mu        sync.Mutex
	listeners map[string]*memListener
	ports     int
}

func newMemNet() *memNet {
	return &memNet{listeners: make(map[string]*memListener)}
}

// listen opens addr. It fails as the kernel would when the address is in use.
func (n *memNet) listen(addr string) (*memListener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, taken := n.listeners[addr]; taken {
		return nil, &net.OpError{Op: "listen", Net: "memory", Addr: memAddr(addr), Err: syscall.EADDRINUSE}
	}
	l := &memListener{net: n, addr: memAddr(addr)}
	l.arrived = sync.NewCond(&l.mu)
	n.listeners[addr] = l
	return l, nil
}

// dial connects to addr. Nobody listening is ECONNREFUSED; a listener that drops packets
// lets the dial wait for its context.
func (n *memNet) dial(ctx context.Context, addr string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: memAddr(addr), Err: err}
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	n.mu.Lock()
	l := n.listeners[addr]
	n.ports++
	local := memAddr(fmt.Sprintf("client:%d", n.ports))
	n.mu.Unlock()
	if l == nil {
		return fail(syscall.ECONNREFUSED)
	}
	client, server := newMemConnPair(local, memAddr(addr))
	if !l.push(server) {
		return fail(syscall.ECONNREFUSED)
	}
	return client, nil
}

// memAddr is the address of a connection in memory.
type memAddr string

// Network is "memory".
func (memAddr) Network() string { return "memory" }

// String is the address as it was dialled.
func (a memAddr) String() string { return string(a) }

// memListener hands out the server's ends of dialled connections.
type memListener struct {
	net     *memNet
	addr    memAddr
	mu      sync.Mutex
	arrived *sync.Cond
	queue   []*memConn
	closed  bool
}

func (l *memListener) push(c *memConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.queue = append(l.queue, c)
	l.arrived.Signal()
	return true
}

// Accept waits for the next connection.
func (l *memListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 {
		if l.closed {
			return nil, &net.OpError{Op: "accept", Net: "memory", Addr: l.addr, Err: net.ErrClosed}
		}
		l.arrived.Wait()
	}
	c := l.queue[0]
	l.queue = l.queue[1:]
	return c, nil
}

// Close frees the address. Connections nobody accepted are reset, as the kernel does.
func (l *memListener) Close() error {
	l.net.mu.Lock()
	if l.net.listeners[string(l.addr)] == l {
		delete(l.net.listeners, string(l.addr))
	}
	l.net.mu.Unlock()
	l.mu.Lock()
	left := l.queue
	l.queue, l.closed = nil, true
	l.arrived.Broadcast()
	l.mu.Unlock()
	for _, c := range left {
		c.reset()
	}
	return nil
}

// Addr is the address that was listened on.
func (l *memListener) Addr() net.Addr { return l.addr }
