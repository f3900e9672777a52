package chaos

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

// breaker makes the faults of a schedule.
type breaker struct {
	c      *picotest.Cluster
	names  []string // of the instances that are always members
	counts [kinds]int
	heals  []heal
	outage time.Duration // until when no other outage may begin

	sending sync.WaitGroup
}

// heal ends a fault.
type heal struct {
	at time.Duration
	do func()
}

// users matches the statements of the workers. What hangs for good is only done to statements that always
// have a deadline.
var (
	users   = picotest.UserTables()
	bounded = picotest.SQL("from ledger where id = $1 and 1 = 1")
)

// settled is how long after an outage the next may begin: the cluster needs a moment to find its leaders.
const settled = 400 * time.Millisecond

// may tells whether a step may be made now: there is one outage at a time, even if the run is behind its schedule.
func (b *breaker) may(s step, now time.Duration) bool { return s.kind > lastOutage || now >= b.outage }

func (b *breaker) later(s step, do func()) {
	b.heals = append(b.heals, heal{s.at + s.last, do})
}

// cut sets a fault at a point of the next statements, and takes it away again if nobody meets it.
func (b *breaker) cut(s step, f *picotest.Fault) {
	f.Times(s.arg)
	b.later(s, f.Remove)
}

// send puts a message on all connections of a node. One that is frozen sends it when it thaws.
func (b *breaker) send(n *picotest.Node, m picotest.Message) {
	b.sending.Go(func() { n.Send(m) })
}

func (b *breaker) make(s step) {
	c := b.c
	n := c.Node(b.names[s.node%len(b.names)])
	sets := c.Replicasets()
	rs := sets[s.node%len(sets)]
	b.counts[s.kind]++
	if s.kind <= lastOutage {
		b.outage = s.at + s.last + settled
	}
	switch s.kind {
	case stop:
		n.Stop()
		b.later(s, func() { n.Start() })
	case kill:
		n.Kill()
		b.later(s, func() { n.Start() })
	case freeze:
		n.Freeze()
		b.later(s, n.Thaw)
	case refuse:
		n.Refuse()
		n.DropConnections()
		b.later(s, n.Accept)
	case resetDials:
		n.ResetDials()
		b.later(s, n.Accept)
	case blackHole:
		n.BlackHole()
		b.later(s, n.Accept)
	case drop:
		n.DropConnections()
	case reset:
		n.ResetConnections()
	case fatal:
		b.send(n, picotest.ErrorMessage("57P01", "terminating connection due to administrator command"))
		b.later(step{at: s.at}, n.DropConnections)
	case notice:
		b.send(n, picotest.Notice("NOTICE", "00000", "the topology has changed"))
		b.send(n, picotest.Parameter("TimeZone", "UTC"))
	case closeBytes:
		b.cut(s, n.CloseAfter(picotest.AfterBytes(s.arg*7), picotest.ByUser("admin")))
	case closeParse:
		b.cut(s, c.CloseAfter(picotest.OnParse(), users))
	case closeExecute:
		b.cut(s, c.CloseAfter(picotest.OnExecute(), users))
	case resetExecute:
		b.cut(s, n.ResetAfter(picotest.OnExecute(), users))
	case closeAnswer:
		b.cut(s, c.CloseAfter(picotest.BeforeAnswer(), users))
	case resetAnswer:
		b.cut(s, n.ResetAfter(picotest.BeforeAnswer(), users))
	case closeRow:
		b.cut(s, c.CloseAfter(picotest.AfterRows(0), users))
	case insideRow:
		b.cut(s, c.CloseAfter(picotest.InsideRow(0), users))
	case closeReady:
		b.cut(s, c.CloseAfter(picotest.BeforeReady(), picotest.SQL("insert into")))
	case hangExecute:
		b.cut(s, n.HangAfter(picotest.OnExecute(), bounded))
	case hangAnswer:
		b.cut(s, n.HangAfter(picotest.BeforeAnswer(), bounded))
	case failRoute:
		b.cut(s, c.Fail("XX000", "sbroad: box error: ProcLua: Master of replicaset x is unreachable: reason", users))
	case failReadonly:
		b.cut(s, n.Fail("XX000", "sbroad: retry is required: DML was sent to the replica during master switchover", picotest.SQL("insert into ledger")))
	case failStale:
		b.cut(s, n.Inject(picotest.OnBind(), picotest.ErrorMessage("42999", "prepared statement x has been invalidated"), users))
	case switchLeader:
		if replicas := c.Replicas(rs); len(replicas) > 0 && replicas[0].State() == "Online" && replicas[0].Running() {
			c.SwitchLeader(rs, replicas[0].Name())
		}
	case moveBuckets:
		first := uint64(s.node%2900) + 1
		_ = c.MoveBuckets("default", first, first+uint64(s.arg*10), rs) // refused while a member is away
	case rebalance:
		c.Rebalance("default")
	case grow:
		added := c.AddInstance(rs)
		b.later(s, func() {
			if !added.IsLeader() {
				_ = c.Expel(added.Name()) // a leader by now stays
			}
		})
	case move:
		if n.Running() {
			_ = n.Move()
		}
	case lagCatalog:
		n.LagCatalog(true)
		b.later(s, func() { n.LagCatalog(false) })
	case lagRouter:
		n.LagRouter(true)
		b.later(s, func() { n.LagRouter(false) })
	case slow:
		n.Delay(time.Duration(s.arg) * 2 * time.Millisecond)
		b.later(s, func() { n.Delay(0) })
	case fullConns:
		n.LimitConnections(s.arg)
		b.later(s, func() { n.LimitConnections(-1) })
	case fullStatements:
		n.FillStatements(s.arg)
		b.later(s, func() { n.FillStatements(-1) })
	}
}

// due ends the faults whose time is over; all: every one.
func (b *breaker) due(now time.Duration, all bool) {
	left := b.heals[:0]
	for _, h := range b.heals {
		if all || h.at <= now {
			h.do()
			continue
		}
		left = append(left, h)
	}
	b.heals = left
}

func (b *breaker) summary() string {
	var parts []string
	for k, n := range b.counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", kind(k), n))
		}
	}
	return strings.Join(parts, ", ")
}
