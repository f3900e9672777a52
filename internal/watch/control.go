package watch

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// control is the connection over which the cluster is asked. It belongs to the loop, but for open.
type control struct {
	config  *Config
	options *options.Config
	source  Source
	clock   options.Clock
	log     *slog.Logger
	state   *state
	pace    *pace
	rand    *rand.Rand

	conn  Conn
	to    Target    // InstanceUUID is who answered, not who was expected
	ends  time.Time // when the connection has lived long enough
	avoid string    // address that failed last: tried last

	self    uint64               // who this client is
	home    Target               // the node that this client is to ask, "" = none
	of      uint64               // version of the snapshot that home was chosen from
	moveAt  time.Time            // when to move there; zero: no move is due
	shunned map[string]time.Time // instances in trouble, by uuid: until then none of them is home
}

// moveWithin is how long a move home may wait: when nodes join or leave, or many clients begin at once, their logins are
// spread over this time. With the longest interval it keeps a move within a minute.
const moveWithin = 30 * time.Second

// opened is a control connection whose server has said who it is.
type opened struct {
	conn Conn
	uuid string
}

// connect opens a control connection to whoever answers first. fatal is the error that ended
// it because every other node would give it too.
func (c *control) connect(ctx context.Context, targets []Target) (err, fatal error) {
	stop := func(err error) bool {
		if c.config.Fatal == nil || !c.config.Fatal(err) {
			return false
		}
		fatal = err
		return true
	}
	var ahead []string
	if c.state.topology.Load() == nil {
		ahead = c.source.First() // here: an attempt that lost may outlast the race, beside the reading that the winner does
	}
	won, at, err := race(ctx, c.clock, c.stagger, len(targets), func(ctx context.Context, i int) (opened, error) {
		o, err := c.open(ctx, targets[i], ahead)
		if err != nil {
			err = &metadata.NodeError{Node: targets[i].Address, Err: err}
		}
		return o, err
	}, func(o opened) { o.conn.Close() }, stop)
	if err != nil {
		return err, fatal
	}
	c.avoid = ""
	c.use(won, targets[at].Address)
	return nil, nil
}

// use makes o the connection in use.
func (c *control) use(o opened, address string) {
	c.drop()
	c.conn = o.conn
	c.to = Target{Address: address, InstanceUUID: o.uuid}
	c.ends = c.clock.Now().Add(1000 * time.Hour)
	if life := c.options.MaxConnLifetime; life > 0 {
		c.ends = c.clock.Now().Add(c.pace.jitter(life))
	}
	c.log.Debug("picodata: control connection opened", "address", address, "uuid", o.uuid)
}

// stagger is short before the second attempt: a black-holed seed must not add much to what a statement's own
// dial may then lose at the same node, and one login too many, on a slow network, is all it costs.
func (c *control) stagger(started int) time.Duration {
	if started == 1 {
		return c.config.Stagger / 5
	}
	return c.config.Stagger
}

// open dials and asks who is there, within the time of a query: a
// node that takes logins but answers nothing is of no use here. ahead are the texts that are asked along with that.
func (c *control) open(ctx context.Context, t Target, ahead []string) (opened, error) {
	c.state.count(func(s *metadata.TopologyStats) { s.Dials++ })
	fail := func(err error) (opened, error) {
		c.state.count(func(s *metadata.TopologyStats) { s.DialFailures++ })
		return opened{}, err
	}
	conn, err := c.config.Dial(ctx, t)
	if err != nil {
		return fail(err)
	}
	c.state.mu.Lock()
	c.state.reached = true
	c.state.mu.Unlock()
	queryCtx, stop := within(ctx, c.clock, c.config.QueryTimeout)
	defer stop()
	conn, err = askAhead(queryCtx, conn, ahead)
	if err != nil {
		conn.Close()
		return fail(err)
	}
	uuid, err := c.source.Identity(queryCtx, conn)
	if err != nil && !isServerError(err) {
		conn.Close()
		return fail(err)
	}
	if snapshot := c.state.topology.Load(); uuid != "" && snapshot != nil && len(snapshot.Instances) > 0 {
		if _, ours := snapshot.Instance(uuid); !ours {
			conn.Close()
			return fail(&metadata.IdentityError{Address: t.Address, Want: t.InstanceUUID, Got: uuid})
		}
	}
	return opened{conn: conn, uuid: uuid}, nil
}

// Query gives each query of a refresh its own deadline.
func (c *control) Query(ctx context.Context, sql string) (*Result, error) {
	ctx, stop := within(ctx, c.clock, c.config.QueryTimeout)
	defer stop()
	res, err := c.conn.Query(ctx, sql)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // an answer that came too late is no reason to trust the connection
	}
	return res, err
}

// targets are the nodes to try for a control connection: this client's own, then what the snapshot knows as Online
// and the nodes of the DSN, each in random order, alternating. The node that failed last
// comes last.
func (c *control) targets(t *metadata.Topology, seeds []Target) []Target {
	const mostNodes = 8 // beside the seeds; a thousand more wouldn't help
	var nodes []Target
	if t != nil && c.options.Mode != options.Bootstrap && c.options.Topology { // else only the nodes of the DSN are reachable by intent
		for i := range t.Instances {
			if in := &t.Instances[i]; in.State == metadata.Online && in.Address != "" && mayDial(c.options, in.Address) {
				nodes = append(nodes, Target{Address: in.Address, InstanceUUID: in.UUID})
			}
		}
	}
	c.rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	c.rand.Shuffle(len(seeds), func(i, j int) { seeds[i], seeds[j] = seeds[j], seeds[i] })
	nodes = nodes[:min(len(nodes), mostNodes)]

	seen := map[string]bool{c.avoid: true}
	var all []Target
	put := func(t Target) {
		if !seen[t.Address] && t.Address != "" {
			seen[t.Address] = true
			all = append(all, t)
		}
	}
	put(c.home)
	for i := range max(len(nodes), len(seeds)) {
		if i < len(nodes) {
			put(nodes[i])
		}
		if i < len(seeds) {
			put(seeds[i])
		}
	}
	if c.avoid != "" {
		all = append(all, Target{Address: c.avoid})
	}
	return all
}

// mayDial applies allowed_networks to an address that discovery brought. A name is decided by
// whoever resolves it.
func mayDial(o *options.Config, address string) bool {
	allowed, decided := metadata.AddressAllowed(o.AllowedNetworks, address)
	return allowed || !decided
}

// settle chooses the node that this client is to ask, when the snapshot is new, and plans the move. Of all nodes that
// may serve it each client has its own order, so that they spread evenly, and only those of a node that
// leaves move, and those that a new node attracts.
func (c *control) settle(t *metadata.Topology) {
	now := c.clock.Now()
	if t == nil || t.Static || c.config.Stay {
		return
	}
	expired := false
	for uuid, until := range c.shunned {
		if !now.Before(until) {
			delete(c.shunned, uuid)
			expired = true
		}
	}
	if t.Version != c.of || expired {
		c.of = t.Version
		c.choose(t)
	}
	switch {
	case c.conn == nil || c.home.Address == "" || c.home.InstanceUUID == c.to.InstanceUUID:
		c.moveAt = time.Time{}
	case c.moveAt.IsZero():
		c.moveAt = now.Add(time.Duration(c.rand.Int64N(int64(moveWithin))))
	}
}

func (c *control) choose(t *metadata.Topology) {
	c.home = Target{}
	best := uint64(0)
	refusedTier := false
	views := metadata.Select(c.options, t)
	for i := range views {
		v := &views[i]
		if v.Instance == nil || v.Excluded.Unreachable() {
			continue
		}
		if _, shunned := c.shunned[v.ID]; shunned {
			continue
		}
		refused := v.Excluded == metadata.TierRefused // asked if nobody else is there
		rank := rankOf(c.self, v.ID)
		if c.home.Address == "" || refusedTier && !refused || refused == refusedTier && rank > best {
			c.home, best, refusedTier = Target{Address: v.Address, InstanceUUID: v.ID}, rank, refused
		}
	}
}

// rankOf is a number that looks random for every pair of a client and an instance, and is always the same.
func rankOf(client uint64, instance string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, instance)
	x := h.Sum64() ^ client
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// moveHome moves the connection to this client's own node, if it is time. The old one serves until the new one is
// there.
func (c *control) moveHome(ctx context.Context) {
	if c.conn == nil || c.moveAt.IsZero() || c.clock.Now().Before(c.moveAt) {
		return
	}
	c.moveAt = time.Time{}
	ctx, stop := within(ctx, c.clock, c.config.QueryTimeout)
	defer stop()
	o, err := c.open(ctx, c.home, nil)
	if err == nil && o.uuid != c.home.InstanceUUID {
		o.conn.Close()
		err = fmt.Errorf("picodata: another instance (%s) answers there", clip(o.uuid))
	}
	if err != nil {
		c.log.Debug("picodata: control connection stays", "address", c.to.Address, "instead_of", c.home.Address, "error", err)
		c.shun(c.home.InstanceUUID)
		return
	}
	c.use(o, c.home.Address)
}

// shun keeps away from an instance for some minutes.
func (c *control) shun(uuid string) {
	if uuid == "" {
		return
	}
	if c.shunned == nil {
		c.shunned = map[string]time.Time{}
	}
	c.shunned[uuid] = c.clock.Now().Add(c.pace.wide(2 * time.Minute))
	c.of = 0 // choose again
	if c.home.InstanceUUID == uuid {
		c.home = Target{}
	}
}

// leave closes the connection, to a node in trouble, and tries that last from now on.
func (c *control) leave() {
	c.avoid = c.to.Address
	c.shun(c.to.InstanceUUID)
	c.drop()
}

func (c *control) drop() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}
