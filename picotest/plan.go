package picotest

import (
	"fmt"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// plan says where a statement runs.
type plan struct {
	view   engine.View
	served []*Node
	hops   int
	// catalog tells that the raft leader runs it: a change of the schema or of a global table.
	catalog bool
	// wait is not nil when an instance that is needed doesn't answer. It is closed when that changes; never, if the statement
	// will not wake.
	wait      <-chan struct{}
	limitText string        // what the server says when its own limit ends the wait
	woken     *engine.Error // how the statement ends after the wait; nil: it is planned anew
}

const timedOut = "Timeout exceeded"

// plan decides where a statement of a client of node runs.
func (c *Cluster) plan(node *Node, stmt engine.StmtAPI, args []engine.Value) (*plan, *engine.Error) {
	here := &plan{view: engine.View{Instance: node.name, Local: true}, served: []*Node{node}}
	switch stmt.Kind() {
	case engine.Empty, engine.NoOp, engine.Deallocate, engine.Explain:
		return here, nil
	case engine.DDL, engine.ACL, engine.SystemSet:
		return c.planCatalog(node, here, stmt.Kind() == engine.DDL), nil
	}
	options, bad := stmt.Options(args)
	if bad != nil {
		return nil, bad
	}
	set, bad := stmt.Buckets(args)
	if bad != nil {
		return nil, bad
	}
	if set.Tier == "" {
		if stmt.Kind() != engine.DQL && stmt.Global() {
			p := c.planCatalog(node, here, false)
			return p, c.refusedByLeader(node, p)
		}
		return here, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.planSharded(node, stmt, options, set)
}

// planCatalog: what every instance has to agree on goes to the raft leader, and waits while there is none. A
// change of the schema waits for every leader as well, for each has to apply it.
func (c *Cluster) planCatalog(node *Node, p *plan, everywhere bool) *plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.raftLeader
	if l == nil || !l.aliveLocked() {
		p.wait, p.limitText = c.electedLocked(), "leader is unknown yet"
		return p
	}
	if everywhere {
		for _, rs := range c.replicasets {
			if !rs.gone && !rs.master.aliveLocked() {
				p.wait, p.limitText = c.changed, timedOut
				return p
			}
		}
	}
	p.served, p.catalog = []*Node{l}, true
	if l != node {
		p.hops = 1
	}
	return p
}

// refusedByLeader: a write to a global table finds nobody at the address of a raft leader that was killed, until another one is
// elected. Nothing ran.
func (c *Cluster) refusedByLeader(node *Node, p *plan) *engine.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.raftLeader
	if p.wait == nil || l == nil || l == node || l.process != gone {
		return nil
	}
	p.wait = nil
	return &engine.Error{Code: "XX000", Message: fmt.Sprintf("failed to connect to address %s: Connection refused (os error 111)", l.addressRows()[len(l.addressRows())-2].Address)}
}

// planSharded: the buckets say which replicasets take part, the read preference which of their
// instances. c.mu is held.
func (c *Cluster) planSharded(node *Node, stmt engine.StmtAPI, o engine.Options, set engine.BucketSet) (*plan, *engine.Error) {
	t := c.tierLocked(set.Tier)
	route := c.routeLocked(node, t, set)
	if bad := forwardAllows(node, stmt, o, set, route); bad != nil {
		return nil, bad
	}
	p := &plan{view: engine.View{Instance: node.name}, limitText: timedOut}
	hurt := c.leaderlessLocked(t)
	if hurt && (route.detours > 0 || !runsLocally(node.version())) {
		p.wait = c.never
		return p, nil
	}
	write := stmt.Kind() != engine.DQL
	preference := o.ReadPreference
	if write || preference == "" {
		preference = "leader"
	}
	for _, rs := range route.owners {
		if back := rs.strandingLocked(node); back != nil && !write {
			p.wait, p.woken = back, &engine.Error{Code: "XX000", Message: strandedText(rs.uuid)}
			return p, nil
		}
		n, wait := c.serverLocked(node, rs, preference)
		if wait == nil && hurt && n != node {
			wait = c.never
		}
		if wait != nil {
			p.wait = wait
			return p, nil
		}
		p.view.Copies = append(p.view.Copies, engine.Copy{Replicaset: rs.uuid, Instance: n.name})
		p.served = append(p.served, n)
		if n != node {
			p.hops++
		}
	}
	p.hops += route.detours
	p.view.Local = runsLocally(node.version()) && p.hops == 0
	if write {
		tag, _ := stmt.Tag()
		p.view.Before = c.refuseReadOnly(tag, p.view.Local)
	}
	return p, nil
}

// route is where the buckets of a statement are.
type route struct {
	owners  []*replicaset // who has them, in order of the replicasets' names
	known   []string      // uuids of whom the node's router believes to have them
	tier    *tier
	detours int // calls that reach a replicaset which has given the bucket away
}

// routeLocked looks a statement's buckets up, in the map of the node and in the real one.
func (c *Cluster) routeLocked(node *Node, t *tier, set engine.BucketSet) route {
	r := route{tier: t}
	has, believed := map[*replicaset]bool{}, map[string]bool{}
	add := func(bucket uint64) {
		if bucket >= 1 && bucket <= uint64(len(t.owners)) {
			has[t.owners[bucket-1]] = true
		}
	}
	mapped := node.picture.Load().Buckets[t.name]
	if set.All {
		for _, rs := range t.owners {
			has[rs] = true
		}
		for _, m := range mapped {
			believed[m.Replicaset] = true
		}
	} else {
		for _, b := range set.List {
			add(b)
			for _, m := range mapped {
				if m.First <= b && b <= m.Last {
					believed[m.Replicaset] = true
				}
			}
		}
	}
	for _, rs := range c.replicasets {
		if has[rs] {
			r.owners = append(r.owners, rs)
			if !believed[rs.uuid] {
				r.detours++
			}
		}
		if believed[rs.uuid] {
			r.known = append(r.known, rs.uuid)
		}
	}
	return r
}

// forwardAllows checks the option forward. It trusts the node's own map, and DML of global tables never comes here.
func forwardAllows(node *Node, stmt engine.StmtAPI, o engine.Options, set engine.BucketSet, r route) *engine.Error {
	if !knowsForward(node.version()) || o.Forward == "" || o.Forward == "on" {
		return nil
	}
	span := set.All || len(r.known) > 1
	if !span && node.rs.tier != r.tier {
		return nil // the check asks the router of the instance's own tier, which can't tell
	}
	present := len(r.known) == 0 || len(r.known) == 1 && r.known[0] == node.rs.uuid && !node.readOnly.Load()
	if span {
		present = false // as the recorded servers say it, even where one of the nodes is this one
	}
	var what []string
	instead := "ro_to_rw"
	if span {
		what, instead = append(what, "span multiple nodes"), "on"
	}
	if o.Forward == "off" && !present {
		what = append(what, "are not present on the current node")
	}
	if len(what) == 0 {
		return nil
	}
	return &engine.Error{Code: "XX000", Message: fmt.Sprintf(
		`sbroad: invalid option: cannot satisfy "forward = %s": buckets %s, try using "forward = %s" instead`,
		o.Forward, strings.Join(what, " and "), instead)}
}

// leaderlessLocked: while a leader of the tier is dead and not yet known to be, everything sharded that one instance asks of
// another waits, for healthy replicasets too, and never wakes (testdata/live/failover-master2-kill.txt, whose statements all came
// from another tier). What the connected instance has by itself it goes on answering.
func (c *Cluster) leaderlessLocked(t *tier) bool {
	for _, rs := range c.replicasets {
		if rs.tier == t && rs.master != nil && rs.master.process != running && rs.master.process != stopping && rs.master.current == online {
			return true
		}
	}
	return false
}

// serverLocked chooses the instance of a replicaset that serves a statement. When none can, it returns what to wait for.
func (c *Cluster) serverLocked(node *Node, rs *replicaset, preference string) (*Node, <-chan struct{}) {
	if preference == "leader" {
		if node.rs == rs && node.deposed {
			return node, nil // nobody has told it yet
		}
		return c.usable(rs.master)
	}
	if node.rs == rs && runsLocally(node.version()) && (preference == "any" || node != rs.master) {
		return node, nil
	}
	if rs.deadReplicaLocked() {
		return nil, c.never
	}
	// The balanced call prefers replicas, in turn.
	for range rs.members {
		rs.turn++
		n := rs.members[rs.turn%len(rs.members)]
		if n != rs.master && n.current == online && n.process == running {
			return c.usable(n)
		}
	}
	if preference == "replica" {
		return nil, c.never // the documents promise an error, real servers wait
	}
	return c.usable(rs.master)
}

// deadReplicaLocked: a replica is dead and not yet known to be; reads that may go to replicas wait and don't wake.
func (rs *replicaset) deadReplicaLocked() bool {
	for _, n := range rs.members {
		if n != rs.master && n.current == online && n.process != running && n.process != stopping {
			return true
		}
	}
	return false
}

// strandingLocked is not nil while a member is leaving that strands reads: closed when it is back.
func (rs *replicaset) strandingLocked(from *Node) <-chan struct{} {
	for _, n := range rs.members {
		if n != from && n.process == stopping && n.back != nil {
			return n.back
		}
	}
	return nil
}

// usable returns n, or what to wait for if n doesn't answer: a frozen one may thaw, a dead one is waited for in vain.
func (c *Cluster) usable(n *Node) (*Node, <-chan struct{}) {
	if n == nil || n.process == gone || n.process == starting {
		return nil, c.never
	}
	n.frozen.mu.Lock()
	defer n.frozen.mu.Unlock()
	if n.frozen.opened != nil {
		return nil, n.frozen.opened
	}
	return n, nil
}

// refuseReadOnly is what a write meets on an instance that isn't the leader (any more): nothing is written there.
// The engine calls it with its own lock held.
func (c *Cluster) refuseReadOnly(tag string, local bool) func(engine.Copy, bool) *engine.Error {
	return func(copy engine.Copy, done bool) *engine.Error {
		n := (*c.byName.Load())[copy.Instance]
		if done || n == nil || !n.readOnly.Load() {
			return nil
		}
		return &engine.Error{Code: "XX000", Message: readOnlyText(copy.Replicaset, tag, local)}
	}
}
