package watch

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
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

// seeds is what is known of the nodes of the DSN. It belongs to the loop.
type seeds struct {
	options *options.Config
	clock   options.Clock
	log     *slog.Logger
	state   *state
	pace    *pace
	control *control

	list        []string           // addresses of the DSN
	seen        map[string]string  // address → uuid of the instance that answered there last
	asks        map[string]*ask    // by address
	unreachable map[string]bool    // uuid and address of instances already told of
	found       chan metadata.Seed // who answers where, learnt beside the loop
	beside      sync.WaitGroup     // goroutines that ask
}

// targets are the seeds as nodes to connect to.
func (s *seeds) targets() []Target {
	list := make([]Target, len(s.list))
	for i, address := range s.list {
		list[i] = Target{Address: address, InstanceUUID: s.seen[address]}
	}
	return list
}

// askAround asks who answers at addresses where that matters and isn't known, each over a
// connection that is closed at once. It doesn't wait for the answers.
func (s *seeds) askAround(ctx context.Context, t *metadata.Topology) {
	if t == nil || t.Static {
		return
	}
	const longest = 12 // intervals between two questions
	now := s.clock.Now()
	for _, target := range s.questions(t) {
		a := s.asks[target.Address]
		if a == nil {
			a = &ask{}
			s.asks[target.Address] = a
		}
		if a.pending || now.Before(a.next) {
			continue
		}
		a.pending = true
		a.attempts++
		a.next = now.Add(s.pace.jitter(doubled(s.pace.interval, a.attempts-1, longest*s.pace.interval)))
		s.beside.Add(1)
		go func() {
			defer s.beside.Done()
			found := metadata.Seed{Address: target.Address}
			if o, err := s.control.open(ctx, target, nil); err == nil {
				o.conn.Close()
				found.InstanceUUID = o.uuid
			}
			select {
			case s.found <- found:
			case <-ctx.Done():
			}
		}()
	}
}

// questions are the addresses to ask about. In mode=bootstrap, the nodes of the DSN of which
// nobody knows who they are, or whose instance isn't Online any more. Else, the own address of
// each instance that was met at an address of the DSN: that may be the only one of the two which works
// from here (NAT), or that of a load balancer.
func (s *seeds) questions(t *metadata.Topology) (targets []Target) {
	for _, address := range s.list {
		in, known := t.Instance(s.seen[address])
		known = known && in.State == metadata.Online
		switch {
		case s.options.Mode == options.Bootstrap && !known:
			targets = append(targets, Target{Address: address})
		case s.options.Mode != options.Bootstrap && known && in.Address != "" && s.seen[in.Address] != in.UUID && mayDial(s.options, in.Address):
			targets = append(targets, Target{Address: in.Address, InstanceUUID: in.UUID})
		}
	}
	return targets
}

// learn takes in an answer.
func (s *seeds) learn(found metadata.Seed) {
	if a := s.asks[found.Address]; a != nil {
		a.pending = false
		a.failed = found.InstanceUUID == ""
	}
	s.met(Target{Address: found.Address, InstanceUUID: found.InstanceUUID})
}

// met notes who answered at an address.
func (s *seeds) met(t Target) {
	if t.InstanceUUID != "" {
		s.seen[t.Address] = t.InstanceUUID
	}
}

// collect takes in answers until all questions are answered, or for d.
func (s *seeds) collect(ctx context.Context, d time.Duration) {
	late := make(chan struct{})
	timer := s.clock.AfterFunc(d, func() { close(late) })
	defer timer.Stop()
	for {
		pending := false
		for _, a := range s.asks {
			pending = pending || a.pending
		}
		if !pending {
			return
		}
		select {
		case answer := <-s.found:
			s.learn(answer)
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// known is what is known of the DSN's nodes, as the snapshot t carries it.
func (s *seeds) known(t *metadata.Topology) []metadata.Seed {
	list := make([]metadata.Seed, len(s.list))
	for i, address := range s.list {
		seed := metadata.Seed{Address: address, InstanceUUID: s.seen[address]}
		if in, ok := t.Instance(seed.InstanceUUID); ok && in.Address != "" {
			seed.OwnAddress = s.seen[in.Address] == in.UUID
		}
		list[i] = seed
	}
	return list
}

// noteUnreachable keeps for Stats, and says once for each, which instances live by the DSN's
// address because nobody answers at their own.
func (s *seeds) noteUnreachable(t *metadata.Topology) {
	var names []string
	for _, seed := range t.Seeds {
		in, ok := t.Instance(seed.InstanceUUID)
		if !ok || seed.OwnAddress || s.options.Mode == options.Bootstrap {
			continue
		}
		if a := s.asks[in.Address]; a == nil || !a.failed || slices.Contains(names, in.Name) {
			continue
		}
		names = append(names, in.Name)
		if !s.unreachable[in.UUID+in.Address] {
			s.unreachable[in.UUID+in.Address] = true
			s.log.Warn("picodata: nobody answers at the address that an instance advertises, the DSN's is used",
				"node", in.Name, "address", in.Address, "seed", seed.Address, "help", "address_map or mode=bootstrap may be meant")
		}
	}
	s.state.count(func(st *metadata.TopologyStats) { st.Unreachable = names })
}

// forget drops what is remembered of addresses that neither the DSN nor an instance has.
func (s *seeds) forget(t *metadata.Topology) {
	if len(s.seen)+len(s.asks)+len(s.unreachable) <= 3*(len(s.list)+len(t.Instances)) {
		return
	}
	keep := map[string]bool{}
	for _, address := range s.list {
		keep[address] = true
	}
	for i := range t.Instances {
		keep[t.Instances[i].Address] = true
	}
	for address := range s.seen {
		if !keep[address] {
			delete(s.seen, address)
		}
	}
	for address, a := range s.asks {
		if !keep[address] && !a.pending {
			delete(s.asks, address)
		}
	}
	clear(s.unreachable)
}

// addressError says why an address can't be used.
type addressError struct {
	address string
	reason  string
}

func (e *addressError) Error() string {
	return fmt.Sprintf("picodata: address %q: %s", e.address, e.reason)
}

// unspecified tells whether the host is 0.0.0.0 or ::, which says "all my interfaces" and
// can't be dialled by anybody else.
func unspecified(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsUnspecified()
}

// addressMap says where to dial what instances advertise.
type addressMap struct{ rules *options.MappingIndex }

func newAddressMap(config *options.Config) *addressMap {
	return &addressMap{options.IndexMappings(config.AddressMap)}
}

// dial makes of an advertised address the one to dial: address_map first, in which
// FROM may be the instance's name too (behind NAT several instances can advertise the same),
// then standIn, the host that the row came from, in place of an unspecified one. How addresses are read is
// the rule of options.ParseAddress: no port is 4327, a host with colons stands in brackets.
func (m *addressMap) dial(name, advertised string, standIn func() string) (string, error) {
	h, err := options.ParseAddress(advertised)
	if err != nil {
		return "", &addressError{clip(advertised), err.Error()}
	}
	mapped, ok := m.rules.Map(advertised)
	keepPort := false
	if to, named := m.rules.Named(name); named && name != "" {
		mapped, ok = to, true
		keepPort = !namesPort(mapped)
	}
	if ok {
		to, err := options.ParseAddress(mapped)
		if err != nil {
			return "", &addressError{clip(advertised), "address_map gives " + clip(mapped) + ": " + err.Error()}
		}
		if keepPort {
			to.Port = h.Port
		}
		h = to
	}
	if unspecified(h.Name) {
		host := standIn()
		if host == "" || unspecified(host) {
			return "", &addressError{clip(advertised), "it names no host; set the instance's advertise address, or address_map"}
		}
		h.Name = host
	}
	return h.Address(), nil
}

// namesPort tells whether an address that can be read names a port.
func namesPort(address string) bool {
	colon := strings.LastIndexByte(address, ':')
	return colon > strings.LastIndexByte(address, ']') && colon+1 < len(address)
}
