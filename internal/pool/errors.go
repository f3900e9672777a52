package pool

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picodata/go-picodata/internal/pool/nodeset"
)

// ErrClosed is what a closed connector's operations fail with.
var ErrClosed = errors.New("picodata: the connector is closed")

// listed bounds the nodes that an error's text lists; its fields hold all of them.
const listed = 8

// NodeLoad says who holds a node's connections.
type NodeLoad struct {
	Name, Address string
	State         string        // "", "ejected", "refuses the login", "full" (the server said so), "slow" (dials take long)
	Max           int           // cap; 0 = none
	Busy          int           // leased
	Idle          int           // can't be used by the request, or there would be no error
	Dialing       int           // slots taken for dials
	Draining      int           // being closed
	Waiting       int           // requests that wait for a dial of this node
	Longest       time.Duration // age of its oldest lease
}

func (l *NodeLoad) String() string {
	limit := "no cap"
	if l.Max > 0 {
		limit = fmt.Sprintf("cap %d", l.Max)
	}
	text := fmt.Sprintf("%s: %d busy, %d idle, %d dialling, %d draining, %d waiting, %s", l.Name, l.Busy, l.Idle, l.Dialing, l.Draining, l.Waiting, limit)
	if l.State != "" {
		text += ", " + l.State
	}
	if l.Longest > 0 {
		text += fmt.Sprintf(", oldest lease %v", l.Longest.Round(time.Millisecond))
	}
	return text
}

// AcquireTimeoutError says that no connection became free within acquire_timeout, and who holds them. It is
// net.Error-like: Timeout returns true. It isn't a context error: the caller's context is still good.
type AcquireTimeoutError struct {
	Filter  string        // which nodes would have done
	Waited  time.Duration // acquire_timeout
	Nodes   []NodeLoad    // those that would have done; read only, errors may share it
	Max     int           // the cluster's cap; 0 = none
	Open    int           // connections that count toward it
	Waiting int           // requests waiting now, this one included
	Dial    *DialError    // dials that failed meanwhile, if any
}

// Error lists the nodes with what holds them.
func (e *AcquireTimeoutError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "picodata: no connection within acquire_timeout %v (%s; %d waiting", e.Waited, e.Filter, e.Waiting)
	if e.Max > 0 {
		fmt.Fprintf(&b, "; max_conns %d, %d open", e.Max, e.Open)
	}
	b.WriteString("): ")
	for i := range e.Nodes {
		if i == listed {
			fmt.Fprintf(&b, "; and %d more", len(e.Nodes)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(e.Nodes[i].String())
	}
	if e.Dial != nil {
		b.WriteString("; dials failed: ")
		b.WriteString(e.Dial.list())
	}
	busy := 0
	for i := range e.Nodes {
		busy += e.Nodes[i].Busy
	}
	if e.Dial != nil && busy == 0 { // caps have nothing to do with it
		b.WriteString(". Look whether the nodes run and can be reached from here")
	} else {
		b.WriteString(". Close rows and transactions sooner, raise the caps, or add nodes")
	}
	return b.String()
}

// Timeout is true.
func (e *AcquireTimeoutError) Timeout() bool { return true }

// Unwrap gives the failed dials, if there were any.
func (e *AcquireTimeoutError) Unwrap() error {
	if e.Dial == nil {
		return nil
	}
	return e.Dial
}

// NoNodeError says that no node of the set may serve a request, and which condition left none.
type NoNodeError struct {
	Filter     string        // which nodes were asked for
	Nodes      int           // known nodes
	Ineligible int           // excluded by instance_role or the tiers that are allowed
	Unmatched  int           // excluded by the filter
	Roleless   int           // would match but for their role, which isn't known now
	Ejected    int           // match, but are ejected
	Overflow   int           // match, but have weight 0 and overflow doesn't allow them now
	RetryIn    time.Duration // when the first ejection ends; 0 = none
	Waited     time.Duration
}

// Error says which condition left no node.
func (e *NoNodeError) Error() string {
	var why []string
	add := func(n int, one, several string) {
		switch {
		case n == 1:
			why = append(why, "1 "+one)
		case n > 1:
			why = append(why, fmt.Sprintf("%d %s", n, several))
		}
	}
	add(e.Ineligible, "is excluded by instance_role or the allowed tiers", "are excluded by instance_role or the allowed tiers")
	add(e.Unmatched, "is another", "are others")
	add(e.Roleless, "belongs to a replicaset that has no known leader now", "belong to a replicaset that has no known leader now")
	add(e.Ejected, "is ejected after connection failures", "are ejected after connection failures")
	add(e.Overflow, "has weight 0, which overflow doesn't allow now", "have weight 0, which overflow doesn't allow now")
	text := fmt.Sprintf("picodata: no node for the statement, which asks for %s: ", e.Filter)
	switch {
	case e.Nodes == 0:
		text += "none of the cluster is known"
	case e.Nodes == 1 && len(why) == 1:
		text += "the one that is known" + strings.TrimPrefix(why[0], "1")
	default:
		text += fmt.Sprintf("of %d known nodes %s", e.Nodes, strings.Join(why, ", "))
	}
	if e.RetryIn > 0 {
		text += fmt.Sprintf("; the next one is tried again in %v", e.RetryIn.Round(time.Millisecond))
	}
	if e.Waited > 0 {
		text += fmt.Sprintf("; waited %v", e.Waited.Round(time.Millisecond))
	}
	return text
}

// NodeDialError is a failed dial of one node.
type NodeDialError struct {
	Node, Address string
	Err           error
}

// Error names the node.
func (e *NodeDialError) Error() string {
	if e.Node == "" || e.Node == e.Address {
		return fmt.Sprintf("%s: %v", e.Address, e.Err)
	}
	return fmt.Sprintf("%s (%s): %v", e.Node, e.Address, e.Err)
}

// Unwrap gives the cause.
func (e *NodeDialError) Unwrap() error { return e.Err }

// DialError says that no candidate could be connected to, with the cause for each.
type DialError struct {
	Filter string
	Nodes  []*NodeDialError
}

// Error lists every attempt with its cause.
func (e *DialError) Error() string {
	return fmt.Sprintf("picodata: could not connect (%s): %s", e.Filter, e.list())
}

func (e *DialError) list() string {
	var parts []string
	for i, n := range e.Nodes {
		if i == listed {
			parts = append(parts, fmt.Sprintf("and %d more", len(e.Nodes)-i))
			break
		}
		parts = append(parts, n.Error())
	}
	return strings.Join(parts, "; ")
}

// Unwrap gives the attempts, so that errors.Is and errors.As look into each.
func (e *DialError) Unwrap() []error {
	errs := make([]error, len(e.Nodes))
	for i, n := range e.Nodes {
		errs[i] = n
	}
	return errs
}

// LoginError says that a node refused the login. While its cool-down lasts the node isn't dialled, for a server locks a
// user after four refusals in a row; others are. A statement fails with it once all nodes that it could use have refused.
type LoginError struct {
	Node, Address string
	CoolDown      time.Duration // from the refusal; 0 = none
	Err           error
}

// Error names the node and the cool-down.
func (e *LoginError) Error() string {
	where := e.Node
	if e.Address != "" && e.Address != e.Node {
		where = fmt.Sprintf("%s (%s)", e.Node, e.Address)
	}
	text := fmt.Sprintf("picodata: login refused by %s: %v", where, e.Err)
	if e.CoolDown > 0 {
		text += fmt.Sprintf("; it isn't dialled again for %v", e.CoolDown)
	}
	return text
}

// Unwrap gives the server's error.
func (e *LoginError) Unwrap() error { return e.Err }

// timeoutError describes the nodes that a waiter waits for.
func (g *Gate) timeoutError(w *waiter, limit time.Duration) error {
	ln := w.lane
	e := &AcquireTimeoutError{Filter: g.describe(&ln.class.Filter), Waited: limit, Max: g.max, Waiting: g.line.waiters}
	if g.max > 0 {
		e.Open = g.total
	}
	e.Nodes = g.loads(ln, g.now())
	if len(w.failures) > 0 {
		e.Dial = &DialError{Filter: e.Filter, Nodes: w.failures}
	}
	return e
}

// loadsFor is how long a description of who holds what is used again: when a whole queue times out at once, it
// isn't made for each.
const loadsFor = 10 * time.Millisecond

// loads describes who holds the connections of a lane's nodes.
func (g *Gate) loads(ln *lane, now int64) []NodeLoad {
	if ln.loads != nil && now-ln.loadsAt < int64(loadsFor) {
		return ln.loads
	}
	nodes := slices.Clone(ln.class.Nodes())
	slices.SortFunc(nodes, func(a, b *nodeset.Node) int { return a.Spec.Compare(&b.Spec) })
	ln.loads, ln.loadsAt = make([]NodeLoad, 0, len(nodes)), now
	for _, x := range nodes {
		n := g.node(x)
		l := NodeLoad{
			Name: n.Spec.Name, Address: n.Spec.Address, Max: n.Spec.MaxConns,
			Busy: len(n.inUse), Idle: len(n.idle), Dialing: n.dialing, Draining: n.closing, Waiting: n.assigned.len,
		}
		switch {
		case n.Ejected:
			l.State = "ejected"
		case n.refusal.active:
			l.State = "refuses the login"
		case n.full:
			l.State = "full"
		case n.stalled():
			l.State = "slow"
		}
		for _, pc := range n.inUse {
			l.Longest = max(l.Longest, time.Duration(now-pc.leasedAt))
		}
		ln.loads = append(ln.loads, l)
	}
	return ln.loads
}

// describe is a filter in words, instances and replicasets by name where a node of the set tells it.
func (g *Gate) describe(f *nodeset.Filter) string {
	node, replicaset := f.Node, f.Replicaset
	if f.Narrow() {
		for _, n := range g.nodes {
			if n.Spec.ID == f.Node && n.Spec.Name != "" {
				node = n.Spec.Name
			}
			if n.Spec.Replicaset == f.Replicaset && n.Spec.ReplicasetName != "" {
				replicaset = n.Spec.ReplicasetName
			}
		}
	}
	return f.Describe(node, replicaset)
}

// noNode describes what left a waiter without a node.
func (g *Gate) noNode(w *waiter) error {
	now := g.now()
	ln := w.lane
	if ln.none == nil || now-ln.noneAt >= int64(loadsFor) {
		ln.none, ln.noneAt = g.whyNone(ln.class, now), now
	}
	e := *ln.none
	e.Waited = time.Duration(now - w.since)
	return &e
}

// whyNone counts what leaves a class without a node.
func (g *Gate) whyNone(c *nodeset.Class, now int64) *NoNodeError {
	e := &NoNodeError{Filter: g.describe(&c.Filter), Nodes: len(g.nodes)}
	for _, n := range g.nodes {
		l := n.LevelIn(c)
		switch {
		case !n.Spec.Eligible:
			e.Ineligible++
		case !c.Filter.Matches(&n.Spec):
			e.Unmatched++
		case !c.Filter.Fits(&n.Spec):
			if n.Spec.Role == 0 {
				e.Roleless++
			} else {
				e.Unmatched++
			}
		case l == nil:
			e.Overflow++
		case n.Ejected:
			e.Ejected++
			if in := n.health.Until().Sub(g.at(now)); e.RetryIn == 0 || in < e.RetryIn {
				e.RetryIn = max(in, 0)
			}
		case l.Overflow():
			e.Overflow++
		}
	}
	return e
}
