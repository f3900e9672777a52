package pool

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

var modelSeed = flag.Uint64("pool.seed", 0, "seed of the model test; 0 = random")

// model drives a gate through random events, one at a time, and checks the gate's laws after each.
type model struct {
	t      *testing.T
	rnd    *rand.Rand
	f      *fakeNet
	g      *Gate
	o      *options.Config
	specs  map[string]NodeSpec
	mu     sync.Mutex
	leases []Lease
	calls  map[int]context.CancelFunc
	next   int
	done   int
	log    []string
}

func (m *model) say(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *model) fail(err error) {
	m.t.Helper()
	from := max(len(m.log)-25, 0)
	for _, l := range m.log[from:] {
		m.t.Log(l)
	}
	m.t.Fatalf("step %d: %v", len(m.log), err)
}

// acquire starts a request that may be given up later.
func (m *model) acquire() {
	req := Request{}
	switch m.rnd.IntN(9) {
	case 0:
		req.Role = options.InstanceRole(m.rnd.IntN(3))
	case 1:
		req.Replicaset = fmt.Sprintf("rs%d", m.rnd.IntN(4))
	case 2:
		req.Node = fmt.Sprintf("n%d", m.rnd.IntN(9))
	case 3:
		req.Tier = []string{"default", "hot", "none"}[m.rnd.IntN(3)]
	case 4:
		req.Avoid = [4]string{fmt.Sprintf("n%d", m.rnd.IntN(8)), fmt.Sprintf("n%d", m.rnd.IntN(8))}
	}
	req.Strict = m.rnd.IntN(2) == 0
	if m.rnd.IntN(3) == 0 {
		req.Wait = time.Duration(m.rnd.IntN(3000)) * time.Millisecond
	}
	ctx, cancel := context.WithCancel(context.Background())
	id := m.next
	m.next++
	m.mu.Lock()
	m.calls[id] = cancel
	m.mu.Unlock()
	m.say("acquire %d %+v", id, req)
	go func() {
		defer cancel()
		l, err := m.g.Lease(ctx, req)
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.calls, id)
		m.done++
		if err == nil {
			if l.Conn().(*fakeConn).closed {
				m.t.Errorf("acquire %d got a closed connection", id)
			}
			if req.Strict {
				m.matches(id, req, l.Node())
			}
			m.leases = append(m.leases, l)
			return
		}
		var timeout *AcquireTimeoutError
		var none *NoNodeError
		var dial *DialError
		var login *LoginError
		switch {
		case errors.Is(err, context.Canceled), errors.As(err, &timeout), errors.As(err, &none), errors.As(err, &dial), errors.As(err, &login), errors.Is(err, ErrClosed), errors.Is(err, errConfig):
		default:
			m.t.Errorf("acquire %d: %v", id, err)
		}
		_ = err.Error()
	}()
}

func (m *model) matches(id int, req Request, n *NodeInfo) {
	if req.Node != "" && n.ID != req.Node || req.Replicaset != "" && n.Replicaset != req.Replicaset ||
		req.Tier != "" && n.Tier != req.Tier ||
		req.Role == options.RoleLeader && n.Role != metadata.RoleLeader || req.Role == options.RoleReplica && n.Role != metadata.RoleReplica {
		m.t.Errorf("acquire %d %+v got %+v", id, req, n)
	}
}

func (m *model) takeLease() (Lease, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.leases) == 0 {
		return Lease{}, false
	}
	i := m.rnd.IntN(len(m.leases))
	l := m.leases[i]
	m.leases[i] = m.leases[len(m.leases)-1]
	m.leases = m.leases[:len(m.leases)-1]
	return l, true
}

func (m *model) randomSpec(i int) NodeSpec {
	s := spec(fmt.Sprintf("n%d", i), []int{10, 10, 5, 1, 0}[m.rnd.IntN(5)], []int{0, 1, 2, 3, 5}[m.rnd.IntN(5)])
	s.Replicaset = fmt.Sprintf("rs%d", i/2)
	s.Role = metadata.Role(m.rnd.IntN(3))
	s.Priority = []int{0, 0, 0, 1}[m.rnd.IntN(4)]
	s.Eligible = m.rnd.IntN(8) > 0
	if m.rnd.IntN(3) == 0 {
		s.Tier = "hot"
	}
	if m.rnd.IntN(10) == 0 {
		s.Address += fmt.Sprintf("-moved%d", m.rnd.IntN(3))
	}
	if m.rnd.IntN(2) == 0 {
		s.Zone = map[string]string{"DC": fmt.Sprint(m.rnd.IntN(2))}
	}
	return s
}

func (m *model) apply() {
	for range 1 + m.rnd.IntN(3) {
		id := fmt.Sprintf("n%d", m.rnd.IntN(8))
		if m.rnd.IntN(4) == 0 {
			delete(m.specs, id)
			m.say("without %s", id)
			continue
		}
		s := m.randomSpec(int(id[1] - '0'))
		m.specs[id] = s
		m.say("with %+v", s)
	}
	list := make([]NodeSpec, 0, len(m.specs))
	for i := range 8 {
		if s, ok := m.specs[fmt.Sprintf("n%d", i)]; ok {
			list = append(list, s)
		}
	}
	m.g.Apply(list)
}

// trouble changes what a node's dials end with.
func (m *model) trouble() {
	n := m.f.node(fmt.Sprintf("n%d", m.rnd.IntN(8)))
	kind := m.rnd.IntN(12)
	m.say("%s: trouble %d", n.address, kind)
	n.set(func(n *fakeNode) {
		if n.hold != nil {
			close(n.hold)
			n.hold = nil
		}
		n.err, n.limit = nil, 0
		switch kind {
		case 0, 1, 2:
			n.err = errRefused
		case 3:
			n.hold = make(chan struct{})
		case 4:
			n.limit = 1
		case 5:
			if m.rnd.IntN(4) == 0 {
				n.err = errLogin
			}
		case 6:
			n.err = errConfig
		}
	})
}

func (m *model) step() {
	switch m.rnd.IntN(20) {
	case 0, 1, 2, 3, 4, 5:
		m.acquire()
	case 6, 7, 8, 9:
		if l, ok := m.takeLease(); ok {
			m.say("release %s", l.Node().ID)
			l.Release()
			if m.rnd.IntN(4) == 0 {
				l.Release() // a second one does nothing
			}
		}
	case 10:
		if l, ok := m.takeLease(); ok {
			why := Discarded(m.rnd.IntN(2))
			m.say("discard %s %d", l.Node().ID, why)
			l.Discard(why)
		}
	case 11:
		if l, ok := m.takeLease(); ok {
			m.say("broken %s", l.Node().ID)
			c := l.Conn().(*fakeConn)
			c.node.set(func(*fakeNode) { c.broken = true })
			l.Release()
		}
	case 12, 13:
		m.mu.Lock()
		var ids []int
		for id := range m.calls {
			ids = append(ids, id)
		}
		m.mu.Unlock()
		if len(ids) > 0 {
			id := ids[m.rnd.IntN(len(ids))]
			m.say("give up %d", id)
			m.mu.Lock()
			cancel := m.calls[id]
			m.mu.Unlock()
			if cancel != nil {
				cancel()
			}
		}
	case 14:
		m.apply()
	case 15, 16:
		m.trouble()
	case 17:
		d := time.Duration(m.rnd.IntN(3000)) * time.Millisecond
		m.say("%v pass", d)
		time.Sleep(d)
	case 18:
		n := m.f.node(fmt.Sprintf("n%d", m.rnd.IntN(8)))
		m.say("%s: idle connections die", n.address)
		n.set(func(n *fakeNode) {
			for c := range n.conns {
				c.dead = true
			}
		})
	default:
		id := fmt.Sprintf("n%d", m.rnd.IntN(8))
		m.say("full %s", id)
		m.g.makeFull(id, time.Duration(m.rnd.IntN(2))*time.Second)
	}
}

func runModel(t *testing.T, seed uint64, steps int) {
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		o := options.New()
		o.MaxConns = []int{0, 0, 4, 12}[rnd.IntN(4)]
		o.MinIdleConnsPerInstance = []int{0, 0, 1, 2}[rnd.IntN(4)]
		o.Overflow = options.Overflow(rnd.IntN(3))
		o.BalanceStrategy = options.BalanceStrategy(rnd.IntN(4))
		o.AcquireTimeout = []time.Duration{0, 2 * time.Second, 30 * time.Second}[rnd.IntN(3)]
		o.MaxConnLifetime = []time.Duration{0, 5 * time.Second, time.Hour}[rnd.IntN(3)]
		o.MaxConnIdleTime = []time.Duration{0, 3 * time.Second}[rnd.IntN(2)]
		o.DrainTimeout = 4 * time.Second
		if rnd.IntN(2) == 0 {
			o.PreferZones = []string{"DC=1"}
		}
		f := newNet()
		f.connectTimeout = 2 * time.Second
		f.delay = []time.Duration{0, time.Millisecond, 300 * time.Millisecond}[rnd.IntN(3)]
		m := &model{t: t, rnd: rnd, f: f, o: o, specs: map[string]NodeSpec{}, calls: map[int]context.CancelFunc{}}
		events := 0
		m.g = New(Config{
			Dial: f.dial, Classify: classify, Options: o, Rand: rand.New(rand.NewPCG(seed, 8)).Uint64,
			Fresh: func() bool { return true }, OnEvent: func(Event) { events++ },
		})
		defer m.cleanUp()
		m.say("max_conns %d, min idle %d, overflow %d, strategy %v, acquire timeout %v", o.MaxConns, o.MinIdleConnsPerInstance, o.Overflow, o.BalanceStrategy, o.AcquireTimeout)
		m.apply()
		for range steps {
			m.step()
			synctest.Wait()
			if err := m.g.check(); err != nil {
				m.fail(err)
			}
			if t.Failed() {
				m.fail(errors.New("see above"))
			}
		}
		// Now all nodes are well, all leases come back, and every caller must get its answer.
		for i := range 8 {
			m.f.node(fmt.Sprintf("n%d", i)).set(func(n *fakeNode) {
				if n.hold != nil {
					close(n.hold)
					n.hold = nil
				}
				n.err, n.limit = nil, 0
			})
		}
		time.Sleep(15 * time.Minute) // cool-downs and ejections end
		list := make([]NodeSpec, 8)
		for i := range list {
			list[i] = spec(fmt.Sprintf("n%d", i), 10, 2)
			list[i].Replicaset = fmt.Sprintf("rs%d", i/2)
			list[i].Role = metadata.Role(1 + i%2)
		}
		m.g.Apply(list)
		for round := 0; ; round++ {
			synctest.Wait()
			if err := m.g.check(); err != nil {
				m.fail(err)
			}
			l, ok := m.takeLease()
			if ok {
				l.Release()
				continue
			}
			m.mu.Lock()
			left := len(m.calls)
			m.mu.Unlock()
			if left == 0 {
				break
			}
			if round > 10*m.next+1000 {
				m.fail(fmt.Errorf("%d callers wait for ever", left))
			}
			time.Sleep(time.Second)
		}
		if m.done != m.next {
			m.fail(fmt.Errorf("%d of %d callers got an answer", m.done, m.next))
		}
		quiesce(t, m.g, f)
		if m.next > 50 && events == 0 {
			t.Error("no events")
		}
	})
}

// cleanUp ends everything, so that a failure shows its own reason.
func (m *model) cleanUp() {
	m.mu.Lock()
	for _, cancel := range m.calls {
		cancel()
	}
	m.mu.Unlock()
	synctest.Wait()
	for {
		l, ok := m.takeLease()
		if !ok {
			break
		}
		l.Release()
	}
	m.g.Close()
}

func TestModel(t *testing.T) {
	runs, steps := 300, 400
	if testing.Short() {
		runs, steps = 60, 200
	}
	seed := rand.Uint64()
	if *modelSeed != 0 {
		seed, runs = *modelSeed, 1
	}
	for i := range runs {
		s := seed + uint64(i)
		if !t.Run(fmt.Sprintf("seed=%d", s), func(t *testing.T) { runModel(t, s, steps) }) {
			t.Fatalf("repeat with -run TestModel -pool.seed=%d", s)
		}
	}
}
