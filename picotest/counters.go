package picotest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
)

// Counters are what a node, or one of its connections, has seen. All of them are exact; they
// are counted before the client can know of what they count.
type Counters struct {
	// Open is how many connections are open now, Ever how many were accepted.
	Open, Ever int
	// Logins and LoginFailures are startups that ended with ReadyForQuery and with 28P01.
	Logins, LoginFailures int
	// Refused counts connections that ResetDials reset and logins that 53300 refused.
	Refused int
	// SSLRequests and Cancels count those requests.
	SSLRequests, Cancels int
	// Received counts the client's messages by their type byte ("Q", "P", "B", "D", "E", "C", "H", "S", "X", "p";
	// "startup"), Sent the node's.
	Received, Sent map[string]int
	// BytesReceived and BytesSent are inside TLS.
	BytesReceived, BytesSent int
	// Flights is how often the client spoke after the node had: round trips, the first included.
	Flights int
	// Writes is how many pieces the client's bytes came in: in memory the client's calls of
	// Write, up to 64 KiB each; over TCP the kernel may join several.
	Writes int
	// Statements is how many statements ran, or failed, here as the connected node.
	Statements int
	// Served is how many statements did their work here, see Statement.Ran.
	Served int
	// Hops is how many calls to other instances the statements of this node's clients took.
	Hops int
	// ForwardedTo is how many statements of other nodes' clients this node took part in.
	ForwardedTo int
	// PreparedNow and PreparedEver count prepared statements, unnamed ones included in the latter.
	PreparedNow, PreparedEver int
	// Sessions counts logins by user and value of the startup parameter options.
	Sessions map[SessionKey]int
}

// SessionKey is what sessions are counted by.
type SessionKey struct{ User, Options string }

// connCounters are the counters that a connection has of its own.
type connCounters struct {
	flights, writes, bytesIn, bytesOut atomic.Int64
	statements, hops                   atomic.Int64
	mu                                 sync.Mutex
	received, sent                     map[string]int
	preparedEver                       atomic.Int64
	preparedNow                        atomic.Int64
	logins, failures, sslRequests      atomic.Int64
}

// count notes bytes from the client, for the connection and the node.
func (k *connCounters) count(n *nodeCounters, bytes int) {
	k.writes.Add(1)
	k.bytesIn.Add(int64(bytes))
	n.writes.Add(1)
	n.bytesIn.Add(int64(bytes))
}

func (k *connCounters) message(list *map[string]int, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if *list == nil {
		*list = make(map[string]int)
	}
	(*list)[name]++
}

// nodeCounters are a node's.
type nodeCounters struct {
	connCounters
	ever, refusals, cancels, served, forwardedTo atomic.Int64
	sessions                                     map[SessionKey]int // guarded by connCounters.mu
	openMu                                       sync.Mutex
	openNow                                      int
	news                                         chan struct{} // closed and renewed when openNow changes
}

func (k *nodeCounters) init() { k.news = make(chan struct{}) }

func (k *nodeCounters) opened(*conn) {
	k.ever.Add(1)
	k.changeOpen(1)
}

func (k *nodeCounters) closed(*conn) { k.changeOpen(-1) }

func (k *nodeCounters) changeOpen(by int) {
	k.openMu.Lock()
	defer k.openMu.Unlock()
	k.openNow += by
	close(k.news)
	k.news = make(chan struct{})
}

func (k *nodeCounters) refused() { k.refusals.Add(1) }

func (k *nodeCounters) session(user, options string) {
	k.logins.Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sessions == nil {
		k.sessions = make(map[SessionKey]int)
	}
	k.sessions[SessionKey{user, options}]++
}

func (k *connCounters) snapshot() Counters {
	k.mu.Lock()
	defer k.mu.Unlock()
	return Counters{
		Logins: int(k.logins.Load()), LoginFailures: int(k.failures.Load()),
		SSLRequests: int(k.sslRequests.Load()),
		Received:    maps.Clone(k.received), Sent: maps.Clone(k.sent),
		BytesReceived: int(k.bytesIn.Load()), BytesSent: int(k.bytesOut.Load()),
		Flights: int(k.flights.Load()), Writes: int(k.writes.Load()),
		Statements: int(k.statements.Load()), Hops: int(k.hops.Load()),
		PreparedNow: int(k.preparedNow.Load()), PreparedEver: int(k.preparedEver.Load()),
	}
}

// Counters returns what the node has seen since it was made, or since ResetCounters.
func (n *Node) Counters() Counters {
	k := &n.counters
	s := k.snapshot()
	k.openMu.Lock()
	s.Open = k.openNow
	k.openMu.Unlock()
	s.Ever, s.Refused, s.Cancels = int(k.ever.Load()), int(k.refusals.Load()), int(k.cancels.Load())
	s.Served, s.ForwardedTo = int(k.served.Load()), int(k.forwardedTo.Load())
	k.mu.Lock()
	s.Sessions = maps.Clone(k.sessions)
	k.mu.Unlock()
	return s
}

// ResetCounters sets all of the node's counters to zero, except those of what exists now: open connections and prepared statements.
func (n *Node) ResetCounters() {
	k := &n.counters
	for _, v := range []*atomic.Int64{
		&k.flights, &k.writes, &k.bytesIn, &k.bytesOut, &k.statements, &k.hops, &k.preparedEver, &k.logins, &k.failures,
		&k.sslRequests, &k.ever, &k.refusals, &k.cancels, &k.served, &k.forwardedTo,
	} {
		v.Store(0)
	}
	k.mu.Lock()
	k.received, k.sent, k.sessions = nil, nil, nil
	k.mu.Unlock()
}

// Counters returns the sums over all nodes, expelled ones included.
func (c *Cluster) Counters() Counters {
	c.mu.Lock()
	nodes := append([]*Node(nil), c.nodes...)
	c.mu.Unlock()
	sum := Counters{Received: map[string]int{}, Sent: map[string]int{}, Sessions: map[SessionKey]int{}}
	for _, n := range nodes {
		s := n.Counters()
		sum.Open += s.Open
		sum.Ever += s.Ever
		sum.Logins += s.Logins
		sum.LoginFailures += s.LoginFailures
		sum.Refused += s.Refused
		sum.SSLRequests += s.SSLRequests
		sum.Cancels += s.Cancels
		sum.BytesReceived += s.BytesReceived
		sum.BytesSent += s.BytesSent
		sum.Flights += s.Flights
		sum.Writes += s.Writes
		sum.Statements += s.Statements
		sum.Served += s.Served
		sum.Hops += s.Hops
		sum.ForwardedTo += s.ForwardedTo
		sum.PreparedNow += s.PreparedNow
		sum.PreparedEver += s.PreparedEver
		addTo(sum.Received, s.Received)
		addTo(sum.Sent, s.Sent)
		for k, v := range s.Sessions {
			sum.Sessions[k] += v
		}
	}
	return sum
}

func addTo(sum, m map[string]int) {
	for k, v := range m {
		sum[k] += v
	}
}

// ResetCounters is Node.ResetCounters for all nodes, and forgets the statements of Cluster.Statements.
func (c *Cluster) ResetCounters() {
	for _, n := range c.Nodes() {
		n.ResetCounters()
	}
	c.record.reset()
}

// WaitConnections returns when the named node has exactly n open connections.
func (c *Cluster) WaitConnections(ctx context.Context, node string, n int) error {
	k := &c.Node(node).counters
	for {
		k.openMu.Lock()
		now, news := k.openNow, k.news
		k.openMu.Unlock()
		if now == n {
			return nil
		}
		if err := c.wait(ctx, news, fmt.Sprintf("%s has %d connections (%d now)", node, n, now)); err != nil {
			return err
		}
	}
}
