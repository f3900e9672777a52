package watch

import (
	"context"
	"errors"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// opened is a control connection whose server has said who it is.
type opened struct {
	conn Conn
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
			err = &metadata.NodeError{Node: targets[i].Address, Err: err}
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
			if in := &t.Instances[i]; in.State == metadata.Online && in.Address != "" && w.mayDial(in.Address) {
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
	allowed, decided := metadata.AddressAllowed(w.options.AllowedNetworks, address)
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

// race tries n targets in order and returns the first that succeeds. The next attempt starts
// as soon as one fails, or when the youngest has been silent for stagger, which is given the number of
// attempts so far; nothing is given up but by dial itself or by ctx. So a black-holed target
// costs one stagger and a refused one nothing. Attempts that lose are cancelled, and what they
// bring all the same goes to discard.
//
// stop, if set, tells an error that every other target would answer too: it ends the race.
// The error joins what each attempt said. race returns without waiting for the losers: their
// goroutines end as soon as dial heeds its context.
func race[T any](ctx context.Context, clock options.Clock, stagger func(started int) time.Duration, n int,
	dial func(ctx context.Context, i int) (T, error), discard func(T), stop func(error) bool) (winner T, at int, err error) {
	type outcome struct {
		value T
		at    int
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Room for all: an attempt never blocks on a race that is over.
	results := make(chan outcome, n)
	next, running := 0, 0
	start := func() {
		i := next
		next++
		running++
		go func() {
			v, err := dial(ctx, i)
			results <- outcome{v, i, err}
		}()
	}
	leave := func() {
		if running == 0 {
			return
		}
		left := running
		go func() {
			for range left {
				if r := <-results; r.err == nil && discard != nil {
					discard(r.value)
				}
			}
		}()
	}

	if n == 0 {
		return winner, -1, errNoTargets
	}
	var errs attempts
	tick := make(chan struct{}, 1)
	timer := clock.AfterFunc(stagger(1), func() {
		select {
		case tick <- struct{}{}:
		default:
		}
	})
	defer timer.Stop()
	start()
	for {
		select {
		case r := <-results:
			running--
			if r.err == nil {
				cancel()
				leave()
				return r.value, r.at, nil
			}
			errs = append(errs, r.err)
			if stop != nil && stop(r.err) || ctx.Err() != nil {
				cancel()
				leave()
				return winner, -1, errs
			}
			if next < n {
				start()
				timer.Reset(stagger(next))
			} else if running == 0 {
				return winner, -1, errs
			}
		case <-tick:
			if next < n {
				start()
				timer.Reset(stagger(next))
			}
		case <-ctx.Done():
			leave()
			return winner, -1, append(errs, context.Cause(ctx))
		}
	}
}

// errNoTargets: there is nobody to dial.
var errNoTargets = errors.New("picodata: no node to connect to")

// within bounds ctx by d of the clock's time. Only the system's clock gives the context a
// deadline that can be read off; another one's shows in context.Cause.
func within(ctx context.Context, clock options.Clock, d time.Duration) (context.Context, func()) {
	if _, ok := clock.(options.SystemClock); ok {
		return context.WithTimeout(ctx, d)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := clock.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}
