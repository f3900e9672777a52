package pool

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// threeByTwo is three replicasets of a leader and a replica: a1 leads a, and so on.
func threeByTwo() []NodeSpec {
	var list []NodeSpec
	for _, rs := range []string{"a", "b", "c"} {
		for i, role := range []metadata.Role{metadata.RoleLeader, metadata.RoleReplica} {
			s := spec(fmt.Sprintf("%s%d", rs, i+1), 10, 0)
			s.Replicaset, s.Role = rs, role
			list = append(list, s)
		}
	}
	return list
}

// load is workers that lease, work and release, until it is stopped.
type load struct {
	g      *Gate
	stop   chan struct{}
	group  sync.WaitGroup
	served atomic.Int64
	asked  atomic.Int64 // leases of a node that the request names
}

func (l *load) work(t *testing.T, seed uint64, workers int, takes time.Duration, next func(*rand.Rand) Request) {
	for i := range workers {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		l.group.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				req := next(rnd)
				lease, err := l.g.Lease(context.Background(), req)
				if err != nil {
					t.Errorf("%+v: %v", req, err)
					return
				}
				l.served.Add(1)
				if req.Matches(lease.Node()) {
					l.asked.Add(1)
				}
				serve(lease)
				time.Sleep(takes/2 + time.Duration(rnd.Int64N(int64(takes))))
				lease.Release()
			}
		})
	}
}

// during runs a load for a time and says what came of it.
func during(t *testing.T, g *Gate, d time.Duration, start func(*load)) (l *load, dials uint64) {
	l = &load{g: g, stop: make(chan struct{})}
	before := g.Stats().Total.Dials
	start(l)
	time.Sleep(d)
	mustHold(t, g)
	close(l.stop)
	l.group.Wait()
	return l, g.Stats().Total.Dials - before
}

func cappedGate(t *testing.T, f *fakeNet, limit int, specs []NodeSpec) *Gate {
	f.delay = 3 * time.Millisecond
	o := options.New()
	o.MaxConns = limit
	o.MaxConnLifetime = 0
	return testGate(t, f, o, specs...)
}

// A cap costs no routing: of statements for random leaders all are handed to them, and nothing is dialled once each
// leader has its connections.
func TestCappedRouting(t *testing.T) {
	for _, wait := range []time.Duration{0, 100 * time.Millisecond} {
		t.Run(wait.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newNet()
				g := cappedGate(t, f, 12, threeByTwo())
				releaseAll(holdAll(t, g, 12)) // two to each node: the policy knows no keys
				seed := rand.Uint64()
				keyed := func(l *load) {
					l.work(t, seed, 12, time.Millisecond, func(rnd *rand.Rand) Request {
						return Request{Node: []string{"a1", "b1", "c1"}[rnd.IntN(3)], Wait: wait}
					})
				}
				l, dials := during(t, g, 2*time.Second, keyed)
				if served, asked := l.served.Load(), l.asked.Load(); asked < served*99/100 || dials > 12 {
					t.Errorf("%d of %d went straight to the owner, %d dials", asked, served, dials)
				}
				l, dials = during(t, g, 10*time.Second, keyed)
				if served, asked := l.served.Load(), l.asked.Load(); asked < served*99/100 || dials > 6 { // chance makes a demand of its own once in a while
					t.Errorf("in a steady state %d of %d went straight to the owner, %d dials", asked, served, dials)
				}
				quiesce(t, g, f)
			})
		})
	}
}

// Connections are dialled while demand shifts, and then no more.
func TestCappedShift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet()
		g := cappedGate(t, f, 12, threeByTwo())
		releaseAll(holdAll(t, g, 12))
		for round, req := range []Request{
			{Role: options.RoleLeader, Strict: true}, {Replicaset: "b", Strict: true}, {Node: "c2", Strict: true}, {},
			{Role: options.RoleReplica, Strict: true}, {Replicaset: "a", Role: options.RoleLeader, Strict: true},
		} {
			mix := func(l *load) {
				l.work(t, uint64(round), 16, time.Millisecond, func(*rand.Rand) Request { return req })
			}
			l, dials := during(t, g, 2*time.Second, mix)
			if dials > 12 {
				t.Errorf("%+v: %d dials", req, dials)
			}
			if perSecond := l.served.Load() / 2; perSecond < 7_000 && req.Node+req.Replicaset != "" {
				t.Errorf("%+v: %d leases a second, of 12,000 that twelve connections can make", req, perSecond)
			}
			if _, dials := during(t, g, 2*time.Second, mix); dials > 1 {
				t.Errorf("%+v: %d dials in a steady state", req, dials)
			}
		}
		quiesce(t, g, f)
	})
}

// More workers on a node never mean less work.
func TestCappedMonotone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last int64
		for _, workers := range []int{3, 6, 11, 12, 13, 24, 48} {
			f := newNet()
			g := cappedGate(t, f, 12, threeByTwo())
			releaseAll(holdAll(t, g, 12))
			l, dials := during(t, g, 2*time.Second, func(l *load) {
				l.work(t, 1, workers, time.Millisecond, func(*rand.Rand) Request { return Request{Node: "b1", Strict: true} })
			})
			if served := l.served.Load(); served < last-last/100 || dials > 12 {
				t.Errorf("%d workers: %d leases, fewer workers made %d; %d dials", workers, served, last, dials)
			} else {
				last = served
			}
			quiesce(t, g, f)
		}
	})
}

// Two demands don't trade connections, whatever their rhythm: a dial costs at least so many leases.
func TestCappedTrade(t *testing.T) {
	for _, period := range []time.Duration{2 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(period.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newNet()
				g := cappedGate(t, f, 12, threeByTwo())
				releaseAll(holdAll(t, g, 12))
				l, dials := during(t, g, 10*time.Second, func(l *load) {
					l.work(t, 1, 24, time.Millisecond, func(*rand.Rand) Request {
						name := []string{"a1", "b1"}[time.Now().UnixNano()/int64(period)%2]
						return Request{Node: name, Strict: true}
					})
				})
				if served := l.served.Load(); int64(dials) > 12+served/unusedRounds {
					t.Errorf("%d dials for %d leases", dials, served)
				}
				quiesce(t, g, f)
			})
		})
	}
}

// Near nodes and those of a high priority keep their share though others have connections, too.
func TestCappedPreferences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNet()
		f.delay = 3 * time.Millisecond
		o := options.New()
		o.MaxConns = 12
		o.PreferZones = []string{"DC=near"}
		specs := threeByTwo()
		for i := range specs {
			specs[i].Zone = map[string]string{"DC": []string{"near", "far"}[i%2]}
		}
		g := testGate(t, f, o, specs...)
		var warm []Lease
		for _, s := range specs { // half the connections are far
			warm = append(warm, mustLease(t, g, Request{Node: s.ID, Strict: true}), mustLease(t, g, Request{Node: s.ID, Strict: true}))
		}
		releaseAll(warm)
		any := func(l *load) {
			l.work(t, 1, 12, time.Millisecond, func(*rand.Rand) Request { return Request{} })
		}
		if _, dials := during(t, g, 2*time.Second, any); dials > 12 {
			t.Errorf("%d dials", dials)
		}
		for _, n := range f.nodes {
			n.set(func(n *fakeNode) { n.served = 0 })
		}
		l, dials := during(t, g, 5*time.Second, any)
		far := 0
		for _, s := range specs {
			if s.Zone["DC"] == "far" {
				far += f.node(s.ID).get(servedOf)
			}
		}
		if int64(far) > l.served.Load()/20 || dials > 2 {
			t.Errorf("%d of %d leases were far, %d dials", far, l.served.Load(), dials)
		}
		quiesce(t, g, f)
	})
}

// Nobody starves: whatever others do, a waiter is served after max(patienceRounds rounds, 2 leases for everyone who waits)
// and what is under way meanwhile.
func TestCappedStarvation(t *testing.T) {
	runs := 12
	if testing.Short() {
		runs = 4
	}
	base := rand.Uint64()
	for i := range runs {
		seed := base + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 9))
				f := newNet()
				limit := 7 + rnd.IntN(10)
				specs := threeByTwo()
				g := cappedGate(t, f, limit, specs)
				const workers = 40
				// The bound: twice those who wait or patience, the connections in hand, and a dial with what is served meanwhile.
				bound := uint64(max(patienceRounds*limit, 2*workers) + 4*limit + 2*workers)
				var worst atomic.Uint64
				kinds := []Request{{}, {Node: "a1", Strict: true}, {Node: "a2", Strict: true}, {Replicaset: "b", Strict: true},
					{Role: options.RoleLeader, Strict: true}, {Node: "c1"}, {Replicaset: "c", Role: options.RoleReplica, Strict: true}}
				stop := make(chan struct{})
				var group sync.WaitGroup
				for w := range workers {
					rnd := rand.New(rand.NewPCG(seed, uint64(100+w)))
					group.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							// Demand moves all at once, and most of it is for one kind.
							kind := int(time.Now().UnixMilli() / 300 % int64(len(kinds)))
							if rnd.IntN(4) == 0 {
								kind = rnd.IntN(len(kinds))
							}
							g.mu.Lock()
							came := g.demand.served
							g.mu.Unlock()
							l, err := g.Lease(context.Background(), kinds[kind])
							if err != nil {
								t.Errorf("%+v: %v", kinds[kind], err)
								return
							}
							g.mu.Lock()
							waited := g.demand.served - came
							g.mu.Unlock()
							for {
								if old := worst.Load(); waited <= old || worst.CompareAndSwap(old, waited) {
									break
								}
							}
							time.Sleep(time.Duration(rnd.IntN(3000)) * time.Microsecond)
							l.Release()
						}
					})
				}
				// Some hold all that a node has for as long as they like.
				group.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						l, err := g.Lease(context.Background(), Request{Node: "a1", Strict: true})
						if err != nil {
							t.Error(err)
							return
						}
						time.Sleep(time.Duration(100+rnd.IntN(400)) * time.Millisecond)
						l.Release()
					}
				})
				for range 200 {
					time.Sleep(25 * time.Millisecond)
					mustHold(t, g)
				}
				close(stop)
				group.Wait()
				if w := worst.Load(); w > bound {
					t.Errorf("cap %d: somebody waited for %d leases, the bound is %d", limit, w, bound)
				} else {
					t.Logf("cap %d: the longest wait was %d leases, the bound is %d", limit, w, bound)
				}
				quiesce(t, g, f)
			})
		})
	}
}
