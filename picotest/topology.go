package picotest

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// replicaset is a group of instances with the same buckets. Guarded by Cluster.mu.
type replicaset struct {
	name, uuid   string
	tier         *tier
	members      []*Node
	master       *Node // current_master_name
	target       *Node // target_master_name
	config       uint64
	targetConfig uint64
	gone         bool // all members were expelled
	turn         int  // whose turn it is to serve a balanced read
	change       *Switch
}

// tier is a group of replicasets. Guarded by Cluster.mu.
type tier struct {
	name      string
	factor    int
	arbiter   bool
	isDefault bool
	rowsOnly  bool
	domain    map[string]string
	count     uint64
	owners    []*replicaset // owner of bucket i+1; shared, replaced as a whole
	version   uint64        // vshard config version
}

// addTier makes a tier with its replicasets and instances.
func (c *Cluster) addTier(cfg Tier, reason string) error {
	c.mu.Lock()
	t := &tier{
		name: cfg.Name, factor: cfg.ReplicationFactor, arbiter: cfg.Arbiter, rowsOnly: cfg.RowsOnly,
		domain: cfg.FailureDomain, count: cfg.Buckets, isDefault: len(c.tiers) == 0,
	}
	for _, have := range c.tiers {
		if have.name == t.name {
			c.mu.Unlock()
			return fmt.Errorf("picotest: tier %q exists", t.name)
		}
	}
	c.tiers = append(c.tiers, t)
	c.mu.Unlock()
	for range cfg.Replicasets {
		if _, err := c.addReplicaset(t, cfg.ReplicationFactor, reason); err != nil {
			return err
		}
		reason = "join"
	}
	return nil
}

// addReplicaset makes an empty replicaset of n instances.
func (c *Cluster) addReplicaset(t *tier, n int, reason string) (*replicaset, error) {
	c.mu.Lock()
	number := 1
	for _, rs := range c.replicasets {
		if rs.tier == t {
			number++
		}
	}
	rs := &replicaset{name: t.name + "_" + strconv.Itoa(number), uuid: c.newUUIDLocked(), tier: t, config: 1, targetConfig: 1}
	c.replicasets = append(c.replicasets, rs)
	t.version++
	c.mu.Unlock()
	for range n {
		if _, err := c.addNode(rs, reason); err != nil {
			return nil, err
		}
		reason = "join"
	}
	return rs, nil
}

// addNode makes an instance of a replicaset, with a copy of what its leader has, and lets it listen.
func (c *Cluster) addNode(rs *replicaset, reason string) (*Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextRaftID++
	n := &Node{
		c: c, name: c.freeNameLocked(), uuid: c.newUUIDLocked(), raftID: c.nextRaftID, rs: rs, rowsOnly: rs.tier.rowsOnly,
		current: online, target: online, incarnation: 1, targetIncarn: 1, reason: reason, changed: c.clock.Now(),
		domain: "{}", down: make(chan struct{}),
	}
	if len(rs.tier.domain) > 0 {
		text, err := json.Marshal(rs.tier.domain)
		if err != nil {
			return nil, err
		}
		n.domain = string(text)
	}
	version := c.version
	n.build.Store(&version)
	n.picture.Store(&engine.System{}) // until it is published
	n.logins.init()
	n.counters.init()
	if err := n.listenLocked(""); err != nil {
		return nil, err
	}
	n.advertised = n.addr
	c.nodes = append(c.nodes, n)
	names := make(map[string]*Node, len(c.nodes))
	for _, have := range c.nodes {
		names[have.name] = have
	}
	c.byName.Store(&names)
	rs.members = append(rs.members, n)
	from := ""
	if rs.master != nil {
		from = rs.master.name
		n.readOnly.Store(true)
	} else {
		rs.master, rs.target = n, n
	}
	c.eng.AddInstance(rs.uuid, n.name, from)
	if c.raftLeader == nil && c.raftTerm == 0 {
		c.raftLeader, c.raftTerm = n, 1
	}
	return n, nil
}

// freeNameLocked is the lowest name iN that no instance bears, expelled ones aside: names are used again.
func (c *Cluster) freeNameLocked() string {
	used := map[string]bool{}
	for _, n := range c.nodes {
		if n.current != expelled {
			used[n.name] = true
		}
	}
	for i := 1; ; i++ {
		if name := "i" + strconv.Itoa(i); !used[name] {
			return name
		}
	}
}

// spreadLocked gives every replicaset of a tier an equal share of the buckets. The last replicaset
// gets the first buckets, as on the clusters that were recorded.
func (c *Cluster) spreadLocked(t *tier) {
	var owners []*replicaset
	for i := len(c.replicasets) - 1; i >= 0; i-- {
		if rs := c.replicasets[i]; rs.tier == t && !rs.gone {
			owners = append(owners, rs)
		}
	}
	t.owners = make([]*replicaset, t.count)
	if len(owners) == 0 {
		t.owners = nil
		return
	}
	for i := range t.owners {
		t.owners[i] = owners[uint64(i)*uint64(len(owners))/t.count]
	}
}

// publishLocked lets every node see the present state; nodes whose view stands still keep theirs.
func (c *Cluster) publishLocked() {
	shared := c.pictureLocked()
	for _, n := range c.nodes {
		old := n.picture.Load()
		if n.pinnedRouter == nil && !n.pinnedCatalog {
			n.picture.Store(shared)
			continue
		}
		own := *shared
		if n.pinnedCatalog {
			own = *old
			own.Owners, own.Buckets = shared.Owners, shared.Buckets // the router doesn't go by the tables
		}
		if n.pinnedRouter != nil {
			own.Buckets = n.pinnedRouter
		}
		n.picture.Store(&own)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// pictureLocked makes the rows of the system tables.
func (c *Cluster) pictureLocked() *engine.System {
	s := &engine.System{Buckets: map[string][]engine.BucketRange{}}
	latest := *c.byName.Load()
	for _, n := range c.nodes {
		if latest[n.name] != n {
			continue // its name was used again: the row of that key is the new instance's
		}
		s.Instances = append(s.Instances, engine.InstanceRow{
			Name: n.name, UUID: n.uuid, RaftID: n.raftID,
			ReplicasetName: n.rs.name, ReplicasetUUID: n.rs.uuid,
			CurrentState:       fmt.Sprintf(`["%s",%d]`, n.current, n.incarnation),
			TargetState:        fmt.Sprintf(`["%s",%d]`, n.target, n.targetIncarn),
			CurrentIncarnation: n.incarnation, TargetIncarnation: n.targetIncarn,
			FailureDomain: n.domain, Tier: n.rs.tier.name, Version: n.version().Build,
			SyncIncarnation: n.targetIncarn, Reason: n.reason, ChangeTime: n.changed,
			Dir: "/var/lib/picodata/" + n.name, ConfigFile: "/etc/picodata/" + n.name + ".yml",
		})
	}
	for _, n := range c.nodes {
		s.Addresses = append(s.Addresses, n.addressRows()...)
	}
	for _, rs := range c.replicasets {
		s.Replicasets = append(s.Replicasets, rs.row())
	}
	for _, t := range c.tiers {
		s.Tiers = append(s.Tiers, engine.TierRow{
			Name: t.name, ReplicationFactor: uint64(t.factor), BucketCount: t.count, CanVote: true,
			Bootstrapped: !t.arbiter, Default: t.isDefault, CurrentVshard: t.version, TargetVshard: t.version,
		})
		if len(t.owners) > 0 {
			s.Buckets[t.name] = ranges(t.owners)
		}
	}
	s.Owners = s.Buckets
	if l := c.raftLeader; l != nil {
		s.RaftLeaderID, s.RaftLeader = l.raftID, l.uuid
	}
	return s
}

func (rs *replicaset) row() engine.ReplicasetRow {
	state := "ready"
	if rs.gone {
		state = "expelled"
	}
	row := engine.ReplicasetRow{
		Name: rs.name, UUID: rs.uuid, Tier: rs.tier.name, Weight: 1, WeightOrigin: "auto", State: state,
		CurrentConfig: rs.config, TargetConfig: rs.targetConfig,
	}
	if rs.master != nil {
		row.CurrentMaster, row.TargetMaster = rs.master.name, rs.target.name
	}
	return row
}

// addressRows are the instance's rows of _pico_peer_address. Only pgproto's address is real.
func (n *Node) addressRows() []engine.AddressRow {
	host, port, err := net.SplitHostPort(n.advertised)
	if err != nil {
		host, port = n.advertised, "4327"
	}
	number, _ := strconv.Atoi(port)
	other := func(offset int) string {
		return net.JoinHostPort(host, strconv.Itoa((number+offset)&0xffff))
	}
	var rows []engine.AddressRow
	if n.version().AtLeast(26, 1) {
		rows = append(rows, engine.AddressRow{RaftID: n.raftID, Address: other(4000), Type: "http"})
	}
	return append(rows,
		engine.AddressRow{RaftID: n.raftID, Address: other(-1000), Type: "iproto"},
		engine.AddressRow{RaftID: n.raftID, Address: n.advertised, Type: "pgproto"})
}

// ranges packs owners into ranges.
func ranges(owners []*replicaset) []engine.BucketRange {
	var list []engine.BucketRange
	for i := 0; i < len(owners); {
		j := i
		for j < len(owners) && owners[j] == owners[i] {
			j++
		}
		list = append(list, engine.BucketRange{
			First: uint64(i) + 1, Last: uint64(j), Replicaset: owners[i].uuid, ReplicasetName: owners[i].name,
		})
		i = j
	}
	return list
}

// live answers the engine's questions about the cluster. The engine asks with its lock
// held, so nothing here locks Cluster.mu.
type live struct{ c *Cluster }

// System is what an instance sees now.
func (l live) System(instance string) *engine.System {
	n := (*l.c.byName.Load())[instance]
	if n == nil {
		return &engine.System{}
	}
	if s := n.picture.Load(); s != nil {
		return s
	}
	return &engine.System{}
}

// Update takes an admin's change of a system table: a new target_master_name is a switchover, which begins
// after the statement has ended, as the governor would.
func (l live) Update(instance, table string, key []engine.Value, set map[string]engine.Value) *engine.Error {
	to, ok := set["target_master_name"].(string)
	if table != "_pico_replicaset" || !ok || len(key) == 0 {
		return nil
	}
	name, _ := key[0].(string)
	l.c.background(func() { l.c.switchByName(name, to) })
	return nil
}

// begin announces work that Close has to wait for; false means that the cluster is closing and nothing may begin.
func (c *Cluster) begin() bool {
	c.workMu.Lock()
	defer c.workMu.Unlock()
	select {
	case <-c.closing:
		return false
	default:
		c.work.Add(1)
		return true
	}
}

// background runs f unless the cluster is closing.
func (c *Cluster) background(f func()) {
	if c.begin() {
		go func() {
			defer c.work.Done()
			f()
		}()
	}
}
