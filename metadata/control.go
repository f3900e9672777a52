package metadata

import (
	"context"
	"time"

	"github.com/picodata/go-picodata/options"
)

// opened is a control connection whose server has said who it is.
type opened struct {
	conn ControlConn
	uuid string
}

// connect opens a control connection to whoever answers first. fatal is the error that ended
// it because every other node would give it too.
func (w *Watcher) connect() (err, fatal error) {
	targets := w.targets()
	stop := func(err error) bool {
		if w.config.Fatal == nil || !w.config.Fatal(err) {
			return false
		}
		fatal = err
		return true
	}
	won, at, err := race(w.ctx, w.clock, w.stagger, len(targets), func(ctx context.Context, i int) (opened, error) {
		o, err := w.open(ctx, targets[i])
		if err != nil {
			err = &NodeError{Node: targets[i].Address, Err: err}
		}
		return o, err
	}, func(o opened) { o.conn.Close() }, stop)
	if err != nil {
		return err, fatal
	}
	w.loop.conn = won.conn
	w.loop.connTo = Target{Address: targets[at].Address, InstanceUUID: won.uuid}
	w.loop.avoid = ""
	w.loop.connEnds = w.clock.Now().Add(1000 * time.Hour)
	if life := w.options.MaxConnLifetime; life > 0 {
		w.loop.connEnds = w.clock.Now().Add(w.jitter(life))
	}
	if won.uuid != "" {
		w.loop.seen[targets[at].Address] = won.uuid
	}
	w.log.Debug("picodata: control connection opened", "address", targets[at].Address, "uuid", won.uuid)
	return nil, nil
}

// stagger is short before the second attempt: a black-holed seed must not add much to what a statement's own
// dial may then lose at the same node, and one login too many, on a slow network, is all it costs.
func (w *Watcher) stagger(started int) time.Duration {
	if started == 1 {
		return w.config.Stagger / 5
	}
	return w.config.Stagger
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
	for _, address := range w.loop.seeds {
		seeds = append(seeds, Target{Address: address, InstanceUUID: w.loop.seen[address]})
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
