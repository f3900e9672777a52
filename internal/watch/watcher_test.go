package watch

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// watch makes a Watcher over the fake cluster, closed at the end of the test, and its log.
func watch(t *testing.T, c *fakeCluster, cfg *options.Config, change ...func(*Config)) (*Watcher, *logBuffer) {
	log := &logBuffer{}
	wc := Config{Config: cfg, Dial: c.Dial, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Rand: rand.New(rand.NewPCG(1, 2)), Stay: true}
	for _, f := range change {
		f(&wc)
	}
	w := New(wc)
	t.Cleanup(func() {
		w.Close()
		synctest.Wait()
		if n := c.openConns(); n != 0 {
			t.Errorf("%d control connections are left", n)
		}
	})
	return w, log
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// lines are those of the log that hold the text.
func (l *logBuffer) lines(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

func start(t *testing.T, w *Watcher) {
	t.Helper()
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func TestWatcherFirstSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		var changes []string
		w, log := watch(t, c, fakeConfig("10.0.0.1:4327", "10.0.0.3:4327"), func(wc *Config) {
			wc.OnTopology = func(old, new *metadata.Topology) {
				for _, e := range metadata.Diff(old, new) {
					changes = append(changes, e.Kind.String()+" "+e.Name)
				}
			}
		})
		if w.Topology() != nil || len(c.dials) != 0 {
			t.Fatal("work before Start")
		}
		start(t, w)
		topo := w.Topology()
		if len(topo.Instances) != 4 || len(topo.Replicasets) != 2 || topo.Version != 1 || topo.ReadFrom == "" {
			t.Fatalf("%+v", topo)
		}
		if l, ok := topo.Leader("rs-2"); !ok || l.Name != "i3" || l.Role != metadata.RoleLeader {
			t.Fatalf("leader of rs-2: %+v", l)
		}
		if rs, ok := w.Buckets().Lookup("default", 2000); !ok || rs != "rs-2" {
			t.Fatalf("bucket 2000: %q %v", rs, ok)
		}
		if len(log.lines("topology known")) != 1 || len(log.lines("rights on system tables changed")) != 0 || len(log.lines("level=WARN")) != 0 {
			t.Error(log.buf.String())
		}
		changes = nil
		c.switchLeader("rs-2", "i4")
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if l, _ := w.Topology().Leader("rs-2"); l == nil || l.Name != "i4" || w.Topology().Version != 2 {
			t.Fatalf("leader of rs-2 after the switch: %+v", l)
		}
		if want := []string{"instance changed role i3", "instance changed role i4", "replicaset has a leader default_2"}; !slices.Equal(changes, want) {
			t.Errorf("%q", changes)
		}
		if n := c.count("_pico_bucket"); n != 1 {
			t.Errorf("a leader's switch made the driver ask %d times for buckets, not once", n)
		}
	})
}

func TestWatcherSeedDownAtStart(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(3)
			c.down["10.0.0.1:4327"], c.down["10.0.0.2:4327"] = true, true
			w, _ := watch(t, c, fakeConfig("10.0.0.1:4327", "10.0.0.2:4327", "10.0.0.3:4327"))
			began := time.Now()
			start(t, w)
			if d := time.Since(began); d != 0 {
				t.Errorf("refusals cost %v", d)
			}
		})
	})
	t.Run("black hole", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for seed := range uint64(10) { // wherever the random start falls
				c := newFakeCluster(3)
				c.hole["10.0.0.1:4327"] = true
				w, _ := watch(t, c, fakeConfig("10.0.0.1:4327", "10.0.0.2:4327", "10.0.0.3:4327"), func(wc *Config) {
					wc.Rand = rand.New(rand.NewPCG(seed, 9))
				})
				began := time.Now()
				start(t, w)
				if d := time.Since(began); d != 0 && d != 50*time.Millisecond {
					t.Errorf("a black hole cost %v", d)
				}
			}
		})
	})
	t.Run("takes logins, answers nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(2)
			c.frozen["10.0.0.1:4327"] = true
			w, _ := watch(t, c, fakeConfig("10.0.0.1:4327", "10.0.0.2:4327"))
			began := time.Now()
			start(t, w)
			if d := time.Since(began); d > stagger {
				t.Errorf("a frozen node cost %v", d)
			}
		})
	})
	t.Run("all down", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newFakeCluster(3)
			seeds := []string{"10.0.0.1:4327", "10.0.0.2:4327", "10.0.0.3:4327"}
			for _, s := range seeds {
				c.down[s] = true
			}
			w, log := watch(t, c, fakeConfig(seeds...))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			began := time.Now()
			err := w.Start(ctx)
			if !errors.Is(err, errUnreachable) || !errors.Is(err, errRefused) || time.Since(began) > time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			time.Sleep(2*time.Second - time.Since(began))
			if text := err.Error(); strings.Contains(text, "\n") || strings.Count(text, "picodata: ") != 1 {
				t.Errorf("not one plain line: %q", text)
			}
			for _, s := range seeds {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%v doesn't tell of %s", err, s)
				}
			}
			if n := len(log.lines("can't be refreshed")); n != 1 {
				t.Errorf("the outage is logged %d times", n)
			}
			failures := w.Stats().Failures
			if failures < 4 || failures > 12 {
				t.Errorf("%d attempts in 2 s", failures)
			}
			c.revive(seeds[1])
			ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			if err := w.Start(ctx); err != nil {
				t.Errorf("the same watcher, once a seed is back: %v", err)
			}
		})
	})
}

func TestWatcherStartsAtRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := map[string]int{}
		for range 200 {
			c := newFakeCluster(4)
			w, _ := watch(t, c, fakeConfig("10.0.0.1:4327", "10.0.0.2:4327", "10.0.0.3:4327", "10.0.0.4:4327"), func(wc *Config) { wc.Rand = nil })
			start(t, w)
			first[c.dials[0]]++
		}
		for i, n := range first {
			if n > 100 {
				t.Errorf("%d of 200 clients begin at %s", n, i)
			}
		}
	})
}

func TestWatcherHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(4)
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		time.Sleep(time.Second)
		before := w.Stats().Refreshes
		for range 1000 {
			w.Hint(schema.HintConnectionLost)
		}
		synctest.Wait()
		if n := w.Stats().Refreshes - before; n != 1 {
			t.Errorf("a thousand hints made %d refreshes at once", n)
		}
		// A storm that brings no news asks less and less often.
		stormed := w.Stats().Refreshes
		for range 300 {
			w.Hint(schema.HintSwitchover)
			time.Sleep(10 * time.Millisecond)
		}
		if n := w.Stats().Refreshes - stormed; n < 4 || n > 9 {
			t.Errorf("a storm of 3 s made %d refreshes", n)
		}
		// News ends it: the next hint is heeded soon.
		time.Sleep(5 * time.Second)
		c.switchLeader("rs-1", "i2")
		w.Hint(schema.HintSwitchover)
		synctest.Wait()
		if l, _ := w.Topology().Leader("rs-1"); l.Name != "i2" {
			t.Errorf("the leader is %s after the hint", l.Name)
		}
		if n := c.busiest(); n != 1 {
			t.Errorf("%d queries at a time", n)
		}
	})
}

// A hint that comes while a refresh reads isn't swallowed by it: what it is about may be newer.
func TestWatcherHintDuringRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		c.do(func() { c.frozen["10.0.0.1:4327"] = true })
		w.Hint(schema.HintConnectionLost)
		time.Sleep(firstGap)
		synctest.Wait() // the refresh hangs now
		before := w.Stats().Refreshes
		w.Hint(schema.HintConnectionLost)
		c.do(func() { delete(c.frozen, "10.0.0.1:4327") })
		time.Sleep(3*time.Second + 200*time.Millisecond) // the query's deadline and the gap
		synctest.Wait()
		if n := w.Stats().Refreshes - before; n != 2 {
			t.Errorf("%d refreshes, want that which hung and one for the second hint", n)
		}
	})
}

func TestWatcherIntervalHasJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327"))
		start(t, w)
		gaps := map[time.Duration]bool{}
		last := w.Topology().ReadAt
		for len(gaps) < quietSteps {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			if at := w.Topology().ReadAt; at != last {
				d := at.Sub(last)
				if d < 4*time.Second || d > 6*time.Second {
					t.Fatalf("%v between two refreshes", d)
				}
				if gaps[d] {
					t.Fatalf("%v twice", d)
				}
				gaps[d], last = true, at
			}
		}
		if v := w.Topology().Version; v != 1 {
			t.Errorf("version %d, though nothing changed", v)
		}
		if n := w.Stats().Refreshes; n != quietSteps+1 {
			t.Errorf("%d refreshes, %d seen", n, quietSteps+1)
		}
		// While nothing changes it asks less often, down to a bound, and then each time by one small question.
		time.Sleep(10 * time.Minute)
		before, asked := w.Stats().Refreshes, c.count(" ")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := w.Stats().Refreshes - before; n < 600/24 || n > 600/16 {
			t.Errorf("%d refreshes in ten quiet minutes", n)
		} else if q := c.count(" ") - asked; q > int(n)+2*4 { // and all there is each five minutes
			t.Errorf("%d questions in %d refreshes", q, n)
		}
		if s := w.Stats(); s.Readings < 2 || s.Readings > 4 {
			t.Errorf("rows were read %d times in %d looks of twenty quiet minutes", s.Readings, s.Refreshes)
		}
		w.Hint(schema.HintConnectionLost)
		synctest.Wait()
		before = w.Stats().Refreshes
		time.Sleep(7 * time.Second)
		if n := w.Stats().Refreshes - before; n < 1 {
			t.Error("a hint doesn't shorten the interval")
		}
	})
}

func TestWatcherFatalError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errPassword := errors.New("password is wrong")
		c := newFakeCluster(3)
		c.down["10.0.0.1:4327"], c.down["10.0.0.2:4327"] = true, true
		c.dialErr = errPassword
		w, _ := watch(t, c, fakeConfig("10.0.0.1:4327", "10.0.0.2:4327", "10.0.0.3:4327"), func(wc *Config) {
			wc.Fatal = func(err error) bool { // as errors.As does, it finds the first of several
				var node *metadata.NodeError
				return errors.As(err, &node) && errors.Is(node, errPassword)
			}
		})
		began := time.Now()
		if err := w.Start(t.Context()); !errors.Is(err, errPassword) || errors.Is(err, errRefused) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		for range 75 {
			w.Hint(schema.HintConnectionLost)
			if err := w.Start(t.Context()); !errors.Is(err, errPassword) {
				t.Error(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := c.countExact(c.dials, "10.0.0.3:4327"); n != 1 {
			t.Errorf("%d logins with a wrong password", n)
		}
		c.do(func() { c.dialErr = nil })
		time.Sleep(13 * time.Second)
		start(t, w)
	})
}

func TestWatcherClose(t *testing.T) {
	closes := func(t *testing.T, w *Watcher) {
		t.Helper()
		began := time.Now()
		w.Close()
		w.Close()
		if d := time.Since(began); d != 0 {
			t.Errorf("Close took %v", d)
		}
		if err := w.Start(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Start after Close: %v", err)
		}
		w.Hint(schema.HintConnectionLost)
	}
	for name, prepare := range map[string]func(t *testing.T, c *fakeCluster, w *Watcher){
		"before Start": func(*testing.T, *fakeCluster, *Watcher) {},
		"at rest":      func(t *testing.T, _ *fakeCluster, w *Watcher) { start(t, w) },
		"in a dial": func(_ *testing.T, c *fakeCluster, w *Watcher) {
			c.hole["10.0.0.1:4327"], c.hole["10.0.0.2:4327"] = true, true
			go w.Start(context.Background())
			synctest.Wait()
		},
		"in a query": func(t *testing.T, c *fakeCluster, w *Watcher) {
			start(t, w)
			c.do(func() { c.frozen["10.0.0.1:4327"], c.frozen["10.0.0.2:4327"] = true, true })
			w.Hint(schema.HintNoNode)
			synctest.Wait()
		},
		"in an outage": func(_ *testing.T, c *fakeCluster, w *Watcher) {
			c.down["10.0.0.1:4327"], c.down["10.0.0.2:4327"] = true, true
			go w.Start(context.Background())
			time.Sleep(time.Second)
		},
	} {
		for _, mode := range []options.Mode{options.Discovery, options.Bootstrap} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newFakeCluster(2)
					cfg := fakeConfig("10.0.0.1:4327", "10.0.0.2:4327")
					cfg.Mode = mode
					w, _ := watch(t, c, cfg)
					prepare(t, c, w)
					closes(t, w)
				})
			})
		}
	}
}

// A Dial that heeds nothing holds Close for half a second, not for ever.
func TestWatcherCloseWithDeafDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hear := make(chan struct{})
		w := New(Config{Config: fakeConfig("10.0.0.1:4327"), Dial: func(context.Context, Target) (Conn, error) {
			<-hear
			return nil, errRefused
		}})
		started := make(chan error, 1)
		go func() { started <- w.Start(context.Background()) }()
		synctest.Wait()
		closed := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			w.Close()
			if d := time.Since(began); d != want {
				t.Errorf("Close took %v, want %v", d, want)
			}
		}
		closed(0) // the dial is left to itself
		if err := <-started; !errors.Is(err, ErrClosed) {
			t.Errorf("Start: %v", err)
		}
		close(hear)
	})
}

// Close waits half a second for a program's function that doesn't return, no more and no less, and then not at all.
func TestWatcherCloseWithDeafListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		hear := make(chan struct{})
		w := New(Config{Config: fakeConfig("10.0.0.1:4327"), Dial: c.Dial, OnTopology: func(_, _ *metadata.Topology) { <-hear }})
		go w.Start(context.Background())
		synctest.Wait()
		for _, want := range []time.Duration{500 * time.Millisecond, 500 * time.Millisecond, 0} {
			if want == 0 {
				close(hear)
				synctest.Wait()
			}
			began := time.Now()
			w.Close()
			if d := time.Since(began); d != want {
				t.Errorf("Close took %v, want %v", d, want)
			}
		}
	})
}

// Readers, hints, statistics and a cluster in motion: for the race detector.
func TestWatcherConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(6)
		cfg := fakeConfig("10.0.0.1:4327", "10.0.0.2:4327", "10.0.0.5:4327")
		cfg.TopologyUpdateInterval = 20 * time.Millisecond
		w, _ := watch(t, c, cfg)
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				if err := w.Start(t.Context()); err != nil {
					t.Error(err)
				}
				var last uint64
				for i := range 200 {
					topo := w.Topology()
					if topo.Version < last {
						t.Error("versions go back")
					}
					last = topo.Version
					if l, ok := topo.Leader("rs-1"); ok && l.ReplicasetUUID != "rs-1" {
						t.Error("torn snapshot")
					}
					w.Buckets().Lookup("default", uint64(i))
					w.Stats()
					if i%10 == g%10 {
						w.Hint([]schema.Reason{schema.HintBuckets, schema.HintSwitchover, schema.HintTables}[i%3])
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		wg.Go(func() {
			for i := range 30 {
				c.switchLeader("rs-1", []string{"i1", "i2"}[i%2])
				c.setState("i6", []metadata.State{metadata.Online, metadata.Offline}[i%2])
				if i == 10 {
					c.kill("10.0.0.1:4327")
				}
				if i == 20 {
					c.revive("10.0.0.1:4327")
				}
				time.Sleep(7 * time.Millisecond)
			}
		})
		wg.Wait()
		synctest.Wait() // the loop is at rest, or in a query that the cluster's lock covers
		if n := c.busiest(); n > 1 {
			t.Errorf("%d queries at a time", n)
		}
	})
}
