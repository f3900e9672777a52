package watch

import (
	"slices"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// firstGrace is how long the first snapshot waits for answers to who is where: the nodes of the
// DSN in mode=bootstrap, so that the first statements don't all meet on one of them, and otherwise
// whether an instance that was reached by the DSN's address can be reached by its own.
const firstGrace = 250 * time.Millisecond

// ask is a question who answers at an address.
type ask struct {
	pending  bool
	attempts int
	next     time.Time // the question may be put again
	failed   bool      // the last time nobody answered
}

// askAround asks who answers at addresses where that matters and isn't known, each over a
// connection that is closed at once. It doesn't wait for the answers.
func (w *Watcher) askAround(t *metadata.Topology) {
	if t == nil || t.Static {
		return
	}
	const longest = 12 // intervals between two questions
	now := w.clock.Now()
	for _, target := range w.questions(t) {
		a := w.loop.asks[target.Address]
		if a == nil {
			a = &ask{}
			w.loop.asks[target.Address] = a
		}
		if a.pending || now.Before(a.next) {
			continue
		}
		a.pending = true
		a.attempts++
		a.next = now.Add(w.jitter(doubled(w.interval, a.attempts-1, longest*w.interval)))
		w.beside.Add(1)
		go func() {
			defer w.beside.Done()
			found := metadata.Seed{Address: target.Address}
			if o, err := w.open(w.ctx, target); err == nil {
				o.conn.Close()
				found.InstanceUUID = o.uuid
			}
			select {
			case w.found <- found:
			case <-w.ctx.Done():
			}
		}()
	}
}

// questions are the addresses to ask about. In mode=bootstrap, the nodes of the DSN of which
// nobody knows who they are, or whose instance isn't Online any more. Else, the own address of
// each instance that was met at an address of the DSN: that may be the only one of the two which works
// from here (NAT), or that of a load balancer.
func (w *Watcher) questions(t *metadata.Topology) (targets []Target) {
	for _, address := range w.loop.seeds {
		in, known := t.Instance(w.loop.seen[address])
		known = known && in.State == metadata.Online
		switch {
		case w.options.Mode == options.Bootstrap && !known:
			targets = append(targets, Target{Address: address})
		case w.options.Mode != options.Bootstrap && known && in.Address != "" && w.loop.seen[in.Address] != in.UUID && w.mayDial(in.Address):
			targets = append(targets, Target{Address: in.Address, InstanceUUID: in.UUID})
		}
	}
	return targets
}

// learn takes in an answer and, if it changes what is known of the DSN's nodes, publishes it.
func (w *Watcher) learn(found metadata.Seed) {
	if a := w.loop.asks[found.Address]; a != nil {
		a.pending = false
		a.failed = found.InstanceUUID == ""
	}
	if found.InstanceUUID != "" {
		w.loop.seen[found.Address] = found.InstanceUUID
	}
	old := w.Topology()
	if old == nil {
		return // on its way: the first snapshot takes it along
	}
	next := *old
	if next.Seeds = w.seedList(old); !slices.Equal(next.Seeds, old.Seeds) {
		w.publish(&next)
	}
	w.noteUnreachable(w.Topology())
}

// collect takes in answers until all questions are answered, or for d.
func (w *Watcher) collect(d time.Duration) {
	late := make(chan struct{})
	timer := w.clock.AfterFunc(d, func() { close(late) })
	defer timer.Stop()
	for {
		pending := false
		for _, a := range w.loop.asks {
			pending = pending || a.pending
		}
		if !pending {
			return
		}
		select {
		case s := <-w.found:
			w.learn(s)
		case <-late:
			return
		case <-w.ctx.Done():
			return
		}
	}
}

// seedList is what is known of the DSN's nodes, as the snapshot t carries it.
func (w *Watcher) seedList(t *metadata.Topology) []metadata.Seed {
	list := make([]metadata.Seed, len(w.loop.seeds))
	for i, address := range w.loop.seeds {
		s := metadata.Seed{Address: address, InstanceUUID: w.loop.seen[address]}
		if in, ok := t.Instance(s.InstanceUUID); ok && in.Address != "" {
			s.OwnAddress = w.loop.seen[in.Address] == in.UUID
		}
		list[i] = s
	}
	return list
}

// noteUnreachable keeps for Stats, and says once for each, which instances live by the DSN's
// address because nobody answers at their own.
func (w *Watcher) noteUnreachable(t *metadata.Topology) {
	var names []string
	for _, s := range t.Seeds {
		in, ok := t.Instance(s.InstanceUUID)
		if !ok || s.OwnAddress || w.options.Mode == options.Bootstrap {
			continue
		}
		if a := w.loop.asks[in.Address]; a == nil || !a.failed || slices.Contains(names, in.Name) {
			continue
		}
		names = append(names, in.Name)
		if !w.loop.unreachable[in.UUID+in.Address] {
			w.loop.unreachable[in.UUID+in.Address] = true
			w.log.Warn("picodata: nobody answers at the address that an instance advertises, the DSN's is used",
				"node", in.Name, "address", in.Address, "seed", s.Address, "help", "address_map or mode=bootstrap may be meant")
		}
	}
	w.mu.Lock()
	w.stats.Unreachable = names
	w.mu.Unlock()
}

// forgetAddresses drops what is remembered of addresses that neither the DSN nor an instance has.
func (w *Watcher) forgetAddresses(t *metadata.Topology) {
	if len(w.loop.seen)+len(w.loop.asks)+len(w.loop.unreachable) <= 3*(len(w.loop.seeds)+len(t.Instances)) {
		return
	}
	keep := map[string]bool{}
	for _, address := range w.loop.seeds {
		keep[address] = true
	}
	for i := range t.Instances {
		keep[t.Instances[i].Address] = true
	}
	for address := range w.loop.seen {
		if !keep[address] {
			delete(w.loop.seen, address)
		}
	}
	for address, a := range w.loop.asks {
		if !keep[address] && !a.pending {
			delete(w.loop.asks, address)
		}
	}
	clear(w.loop.unreachable)
}
