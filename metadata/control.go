package metadata

import (
	"context"
	"fmt"
	"time"

	"github.com/picodata/go-picodata/options"
)

// NodeError is what one node answered.
type NodeError struct {
	Node string // address
	Err  error
}

func (e *NodeError) Error() string { return fmt.Sprintf("picodata: node %s: %v", e.Node, e.Err) }
func (e *NodeError) Unwrap() error { return e.Err }

// seedState is a node of the DSN and when it may be asked for its identity again.
type seedState struct {
	Seed
	asking   bool
	attempts int
	next     time.Time
}

// bootstrapGrace is how long the first snapshot of mode=bootstrap waits for the nodes of the
// DSN that didn't win the race, so that the first statements don't all meet on the winner.
const bootstrapGrace = 250 * time.Millisecond

// opened is a control connection whose server has said who it is.
type opened struct {
	conn ControlConn
	uuid string
}

// connect opens a control connection to whoever answers first.
func (w *Watcher) connect() error {
	targets := w.targets()
	won, at, err := Race(w.ctx, w.clock, w.config.Stagger, len(targets), func(ctx context.Context, i int) (opened, error) {
		o, err := w.open(ctx, targets[i])
		if err != nil {
			err = &NodeError{Node: targets[i].Address, Err: err}
		}
		return o, err
	}, func(o opened) { o.conn.Close() }, w.config.Fatal)
	if err != nil {
		return err
	}
	w.loop.conn = won.conn
	w.loop.connTo = Target{Address: targets[at].Address, InstanceUUID: won.uuid}
	w.loop.avoid = ""
	w.loop.connEnds = w.clock.Now().Add(1000 * time.Hour)
	if life := w.options.MaxConnLifetime; life > 0 {
		w.loop.connEnds = w.clock.Now().Add(w.jitter(life))
	}
	for i := range w.loop.seeds {
		if s := &w.loop.seeds[i]; s.Address == targets[at].Address && won.uuid != "" {
			s.InstanceUUID = won.uuid
		}
	}
	w.log.Debug("picodata: control connection opened", "node", targets[at].Address, "instance_uuid", won.uuid)
	return nil
}

// open dials, within connect_timeout, and asks who is there, within the time of a query: a
// node that takes logins but answers nothing is of no use here.
func (w *Watcher) open(ctx context.Context, t Target) (opened, error) {
	w.mu.Lock()
	w.stats.Dials++
	w.mu.Unlock()
	fail := func(err error) (opened, error) {
		w.mu.Lock()
		w.stats.DialFailures++
		w.mu.Unlock()
		return opened{}, err
	}
	limit := w.options.ConnectTimeout
	if limit <= 0 {
		limit = 5 * time.Second
	}
	dialCtx, stop := within(ctx, w.clock, limit)
	conn, err := w.config.Dial(dialCtx, t)
	stop()
	if err != nil {
		return fail(err)
	}
	queryCtx, stop := within(ctx, w.clock, w.config.QueryTimeout)
	defer stop()
	uuid, _, err := w.source.Identity(queryCtx, conn)
	if err != nil && !isServerError(err) {
		conn.Close()
		return fail(err)
	}
	return opened{conn: conn, uuid: uuid}, nil
}

// targets are the nodes to try for a control connection: what the snapshot knows as Online
// and the nodes of the DSN, each in random order, alternating. The node that failed last
// comes last.
func (w *Watcher) targets() []Target {
	const mostNodes = 8 // beside the seeds; a thousand more wouldn't help
	var nodes, seeds []Target
	if t := w.Topology(); t != nil {
		for i := range t.Instances {
			if in := &t.Instances[i]; in.State == Online && in.Address != "" && w.mayDial(in.Address) {
				nodes = append(nodes, Target{Address: in.Address, InstanceUUID: in.UUID})
			}
		}
	}
	for _, s := range w.loop.seeds {
		seeds = append(seeds, Target{Address: s.Address, InstanceUUID: s.InstanceUUID})
	}
	w.config.Rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	w.config.Rand.Shuffle(len(seeds), func(i, j int) { seeds[i], seeds[j] = seeds[j], seeds[i] })
	if w.options.Mode == options.Bootstrap || !w.options.Topology {
		nodes = nil // only the nodes of the DSN are reachable by intent
	}
	nodes = nodes[:min(len(nodes), mostNodes)]

	seen := map[string]bool{w.loop.avoid: true}
	var all []Target
	for len(nodes) > 0 || len(seeds) > 0 {
		for _, list := range []*[]Target{&nodes, &seeds} {
			if len(*list) == 0 {
				continue
			}
			t := (*list)[0]
			*list = (*list)[1:]
			if !seen[t.Address] {
				seen[t.Address] = true
				all = append(all, t)
			}
		}
	}
	if w.loop.avoid != "" {
		all = append(all, Target{Address: w.loop.avoid})
	}
	return all
}

// mayDial applies allowed_networks to an address that discovery brought. A name is decided by
// whoever resolves it.
func (w *Watcher) mayDial(address string) bool {
	allowed, decided := AddressAllowed(w.options.AllowedNetworks, address)
	return allowed || !decided
}

// leaveNode closes the control connection and tries its node last from now on.
func (w *Watcher) leaveNode() {
	w.loop.avoid = w.loop.connTo.Address
	w.dropConn()
}

func (w *Watcher) dropConn() {
	if w.loop.conn != nil {
		w.loop.conn.Close()
		w.loop.conn = nil
	}
}

// seedList is the state of the seeds as a snapshot carries it.
func (w *Watcher) seedList() []Seed {
	list := make([]Seed, len(w.loop.seeds))
	for i, s := range w.loop.seeds {
		list[i] = s.Seed
	}
	return list
}

// identifySeeds asks, in mode=bootstrap, nodes of the DSN who they are, if that isn't known or if
// who they were isn't Online any more. It doesn't wait for the answers.
func (w *Watcher) identifySeeds() {
	t := w.Topology()
	if w.options.Mode != options.Bootstrap || t == nil || t.Static {
		return
	}
	now := w.clock.Now()
	for i := range w.loop.seeds {
		s := &w.loop.seeds[i]
		if in, ok := t.Instance(s.InstanceUUID); s.asking || now.Before(s.next) || ok && in.State == Online {
			continue
		}
		s.asking = true
		s.attempts++
		s.next = now.Add(w.jitter(doubled(w.interval, s.attempts-1, 12*w.interval)))
		w.beside.Add(1)
		go func(target Target) {
			defer w.beside.Done()
			found := Seed{Address: target.Address}
			if o, err := w.open(w.ctx, target); err == nil {
				o.conn.Close()
				found.InstanceUUID = o.uuid
			}
			w.found <- found // there is room: one question at a time for each seed
		}(Target{Address: s.Address, InstanceUUID: s.InstanceUUID})
	}
}

// learnSeed takes in an identity and, if it is news, publishes a snapshot that has it.
func (w *Watcher) learnSeed(found Seed) {
	news := false
	for i := range w.loop.seeds {
		s := &w.loop.seeds[i]
		if s.Address != found.Address {
			continue
		}
		s.asking = false
		if found.InstanceUUID != "" {
			s.attempts = 0
			news = news || s.InstanceUUID != found.InstanceUUID
			s.InstanceUUID = found.InstanceUUID
		}
	}
	if old := w.Topology(); news && old != nil {
		next := *old
		next.Seeds = w.seedList()
		w.publish(&next)
	}
}

// collectIdentities takes in answers of seeds until all that were asked have answered, or for d.
func (w *Watcher) collectIdentities(d time.Duration) {
	late := make(chan struct{})
	timer := w.clock.AfterFunc(d, func() { close(late) })
	defer timer.Stop()
	for {
		asking := false
		for i := range w.loop.seeds {
			asking = asking || w.loop.seeds[i].asking
		}
		if !asking {
			return
		}
		select {
		case s := <-w.found:
			w.learnSeed(s)
		case <-late:
			return
		case <-w.ctx.Done():
			return
		}
	}
}

// settleStatic ends the work of topology=off: the list is fixed from here on.
func (w *Watcher) settleStatic() {
	w.collectIdentities(bootstrapGrace)
	w.dropConn()
}
