package pool

import (
	"container/heap"

	"github.com/picodata/go-picodata/internal/pool/nodeset"
)

// line is all that wait, by lanes.
type line struct {
	seq     uint64 // of the last waiter
	waiters int    // all of them
	waiting int    // those without a node
	lanes   map[*nodeset.Class]*lane
	ready   lanes // something may have become free for them
	hungry  lanes // only the cluster's cap keeps them from a connection
}

// lane is the waiters of one class. It exists as long as it has any.
type lane struct {
	class    *nodeset.Class
	waiting  queue // waiters without a node, oldest first
	assigned queue // waiters with a dial
	in       *lanes
	at       int        // position in in
	moving   int        // connections being closed for it
	claims   bool       // in demand.claims
	loads    []NodeLoad // for errors, made at loadsAt
	loadsAt  int64
	none     *NoNodeError // made at noneAt
	noneAt   int64
}

// lanes is a heap of lanes by their oldest waiters.
type lanes []*lane

func (h lanes) Len() int           { return len(h) }
func (h lanes) Less(i, j int) bool { return h[i].waiting.head.seq < h[j].waiting.head.seq }
func (h lanes) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].at, h[j].at = i, j }
func (h *lanes) Push(x any)        { ln := x.(*lane); ln.at = len(*h); *h = append(*h, ln) }
func (h *lanes) Pop() any {
	last := len(*h) - 1
	ln := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return ln
}

// enter puts a lane with waiters into a heap, out of the one where it may be. nil: into none.
func (ln *lane) enter(h *lanes) {
	if ln.in == h {
		return
	}
	if ln.in != nil {
		heap.Remove(ln.in, ln.at)
	}
	if ln.in = h; h != nil {
		heap.Push(h, ln)
	}
}

// waiter is a request that has no connection yet. It is among its lane's waiting while no node can take it, or
// among the assigned of its lane and of a node while that node dials.
type waiter struct {
	seq       uint64 // order of arrival
	lane      *lane
	fallback  *nodeset.Class // where it goes if a preference can't be met
	avoid     [4]string
	node      *node
	level     *nodeset.Level
	tried     []*nodeset.Node // their dials failed
	failures  []*NodeDialError
	since     int64
	served    uint64 // demand.served when it came
	lease     Lease
	err       error
	over      bool // it has its lease or its error
	impatient bool // its preference has had its time
	told      bool // that the password is still the one that was refused
	ready     chan struct{}
	links     [2]link
}

type link struct{ prev, next *waiter }

// The two queues a waiter can be in.
const (
	byLane = iota // lane.waiting or lane.assigned
	byNode        // node.assigned
)

// queue is a list of waiters in their order of arrival.
type queue struct {
	which      int
	head, tail *waiter
	len        int
}

// insert puts a waiter where its arrival belongs. Nearly all come last; those that lost
// their dial are among the oldest, so the search starts at the front.
func (q *queue) insert(w *waiter) {
	l := &w.links[q.which]
	q.len++
	if q.tail == nil || q.tail.seq < w.seq {
		l.prev, l.next = q.tail, nil
		if q.tail == nil {
			q.head = w
		} else {
			q.tail.links[q.which].next = w
		}
		q.tail = w
		return
	}
	after := q.head
	for after.seq < w.seq {
		after = after.links[q.which].next
	}
	prev := after.links[q.which].prev
	l.prev, l.next = prev, after
	after.links[q.which].prev = w
	if prev == nil {
		q.head = w
	} else {
		prev.links[q.which].next = w
	}
}

func (q *queue) remove(w *waiter) {
	l := &w.links[q.which]
	if l.prev == nil {
		q.head = l.next
	} else {
		l.prev.links[q.which].next = l.next
	}
	if l.next == nil {
		q.tail = l.prev
	} else {
		l.next.links[q.which].prev = l.prev
	}
	*l = link{}
	q.len--
}

// list is for loops that change the queue.
func (q *queue) list() []*waiter {
	list := make([]*waiter, 0, q.len)
	for w := q.head; w != nil; w = w.links[q.which].next {
		list = append(list, w)
	}
	return list
}

// laneOf finds the lane of a class, or makes it.
func (g *Gate) laneOf(c *nodeset.Class) *lane {
	ln := g.line.lanes[c]
	if ln == nil {
		ln = &lane{class: c}
		g.line.lanes[c] = ln
	}
	return ln
}

// join makes a waiter one of a lane.
func (g *Gate) join(w *waiter, c *nodeset.Class) {
	w.lane = g.laneOf(c)
	c.Held++
}

// part is the end of that. w is in no queue.
func (g *Gate) part(w *waiter) {
	ln := w.lane
	if ln.class.Held--; ln.class.Held == 0 {
		delete(g.line.lanes, ln.class)
	}
}
