package mirror

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lib/pq"
	"github.com/picodata/go-picodata/options"
)

// A line executes in order on one connection, opened when the first statement comes and closed with the line.
func TestLineExecutesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMirror{uuids: []string{"theirs"}}
		m := newMirror(f, nil)
		l := m.Line("")
		synctest.Wait()
		if dials, _, _ := f.log(); len(dials) != 0 {
			t.Errorf("dialled %v before the first statement", dials)
		}
		var want []string
		for i := range 50 {
			text := fmt.Sprint("statement ", i)
			want = append(want, text)
			l.Offer(text, nil, i%2 == 0)
		}
		synctest.Wait()
		dials, ran, open := f.log()
		wantEqual(t, "ran", ran, want)
		if len(dials) != 1 || open != 1 {
			t.Errorf("%v, %d open", dials, open)
		}
		accounted(t, m.Stats())
		l.Close()
		synctest.Wait()
		if _, _, open := f.log(); open != 0 || m.Stats().Conns != 0 {
			t.Errorf("%d open after Close", open)
		}
		l.Offer("late", nil, false)
		wantEqual(t, "dropped", m.Stats().Dropped, map[string]uint64{"closed": 1})
		m.Close()
	})
}

// A line that was never used costs nothing and leaves nothing.
func TestUnusedLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMirror{}
		m := newMirror(f, nil)
		before := runtime.NumGoroutine()
		l := m.Line("")
		synctest.Wait()
		if n := runtime.NumGoroutine(); n != before || len(m.lines) != 0 {
			t.Errorf("%d goroutines of %d, %d lines at work", n, before, len(m.lines))
		}
		l.Close()
		l.Close()
		l.Offer("late", nil, false)
		synctest.Wait()
		if dials, ran, open := f.log(); len(dials) != 0 || len(ran) != 0 || open != 0 {
			t.Errorf("dialled %v, ran %v, %d open", dials, ran, open)
		}
		s := m.Stats()
		accounted(t, s)
		wantEqual(t, "dropped", s.Dropped, map[string]uint64{"closed": 1})
		began := time.Now()
		m.Close()
		if d := time.Since(began); d != 0 {
			t.Errorf("Close waited %v for nobody", d)
		}
	})
}

// Both bounds hold exactly, and what is executed counts as memory.
func TestQueueBounds(t *testing.T) {
	size := sizeOf("text", nil)
	for name, c := range map[string]struct {
		set  func(*options.Config)
		want int // enqueued, while the first one hangs
	}{
		"queue": {func(o *options.Config) { o.MirrorQueue = 5 }, 6},
		"bytes": {func(o *options.Config) { o.MirrorQueueBytes = 9 * size }, 9},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeMirror{}
				f.execute = func(ctx context.Context, c *fakeConn, _ string) error { return c.hang(ctx) }
				m := newMirror(f, c.set)
				l := m.Line("")
				l.Offer("text", nil, false)
				synctest.Wait()
				for range 20 {
					l.Offer("text", nil, false)
				}
				s := m.Stats()
				if s.Enqueued != uint64(c.want) || s.Dropped[name] != uint64(21-c.want) || s.Running != 1 || s.Bytes != c.want*size {
					t.Errorf("%+v", s)
				}
				m.Close()
				s = m.Stats()
				accounted(t, s)
				if s.Errors["closed"] != 1 || s.Dropped["closed"] != uint64(c.want-1) {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// A statement that takes a minute is given up with its connection; the next one gets another.
func TestStatementTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMirror{}
		f.execute = func(ctx context.Context, c *fakeConn, sql string) error {
			if sql == "hangs" {
				return c.hang(ctx)
			}
			return nil
		}
		m := newMirror(f, nil)
		l := m.Line("")
		l.Offer("hangs", nil, false)
		l.Offer("next", nil, true)
		time.Sleep(statementTimeout - time.Second)
		if s := m.Stats(); s.Lag != statementTimeout-time.Second || s.Running != 1 || s.Queued != 1 {
			t.Errorf("%+v", s)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		s := m.Stats()
		accounted(t, s)
		wantEqual(t, "errors", s.Errors, map[string]uint64{"timeout": 1})
		if s.OK != 1 || s.Dials != 2 {
			t.Errorf("%+v", s)
		}
		m.Close()
	})
}

// Close lets a line finish what it has, for a second.
func TestCloseGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMirror{}
		f.execute = func(ctx context.Context, c *fakeConn, sql string) error {
			if sql == "hangs" {
				return c.hang(ctx)
			}
			time.Sleep(100 * time.Millisecond)
			return nil
		}
		m := newMirror(f, nil)
		quick, slow := m.Line(""), m.Line("")
		for range 5 {
			quick.Offer("quick", nil, false)
		}
		slow.Offer("hangs", nil, false)
		slow.Offer("waits", nil, false)
		synctest.Wait()
		quick.Close()
		slow.Close()
		slow.Close()
		time.Sleep(closeGrace - time.Millisecond)
		synctest.Wait()
		if s := m.Stats(); s.OK != 5 || s.Running != 1 || s.Conns != 1 {
			t.Errorf("before the grace is over: %+v", s)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		s := m.Stats()
		accounted(t, s)
		if s.Errors["closed"] != 1 || s.Dropped["closed"] != 1 || s.Conns != 0 {
			t.Errorf("%+v", s)
		}
		m.Close()
	})
}

// A connection that died unnoticed is replaced before the statement is lost, once; one that dies under a statement
// costs that statement.
func TestDeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMirror{}
		var last *fakeConn
		f.execute = func(ctx context.Context, c *fakeConn, sql string) error {
			last = c
			if sql == "dies" {
				_ = c.Close()
				return c.hang(ctx)
			}
			return nil
		}
		m := newMirror(f, nil)
		l := m.Line("")
		l.Offer("1", nil, false)
		synctest.Wait()
		last.dead = true
		l.Offer("2", nil, false)
		l.Offer("dies", nil, false)
		l.Offer("3", nil, false)
		synctest.Wait()
		s := m.Stats()
		accounted(t, s)
		if s.OK != 3 || s.Errors["lost"] != 1 || s.Dials != 3 {
			t.Errorf("%+v", s)
		}
		m.Close()
	})
}

// Thirty lines and three dead nodes: each node is tried once per pause, whoever asks, and the pauses grow to half a
// minute.
func TestNoDialStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMirror{dial: func(context.Context, string) error { return errRefused }}
		m := newMirror(f, nil)
		var lines []*Line
		for range 30 {
			lines = append(lines, m.Line(""))
		}
		began := time.Now()
		for time.Since(began) < 10*time.Minute {
			for _, l := range lines {
				l.Offer("x", nil, false)
			}
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		s := m.Stats()
		accounted(t, s)
		if s.Dropped["down"] != s.Offered {
			t.Errorf("%+v", s)
		}
		// A quarter of a second doubled seven times is half a minute; then one dial per half minute, ± a quarter. All lines
		// that stood before a node at its first failure can't have been more than the dials under way at a time.
		if per := s.Dials / 3; per < 20 || per > 40 {
			t.Errorf("%d dials of each node", per)
		}
		f.mu.Lock()
		f.dial = nil
		f.mu.Unlock()
		time.Sleep(dialPauseMax * 5 / 4)
		for _, l := range lines {
			l.Offer("x", nil, false)
		}
		synctest.Wait()
		if s := m.Stats(); s.OK != 30 || s.Conns != 30 {
			t.Errorf("after their return: %+v", s)
		}
		m.Close()
	})
}

// A refused login stops dials to all nodes, and one attempt at a time is all that is made.
func TestRefusedLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMirror{dial: func(context.Context, string) error {
			time.Sleep(10 * time.Millisecond)
			return &pq.Error{Code: "28P01", Message: "no"}
		}}
		m := newMirror(f, nil)
		for range 30 {
			m.Line("").Offer("x", nil, false)
		}
		time.Sleep(loginPause / 2)
		if dials, _, _ := f.log(); len(dials) != 1 {
			t.Errorf("%v", dials)
		}
		accounted(t, m.Stats())
		m.Close()
	})
}

// Until the first connection knows that it leads to another cluster nobody else dials; then all may.
func TestNobodyDialsBeforeTheClusterIsKnown(t *testing.T) {
	for _, uuids := range [][]string{{"ours"}, {"theirs"}} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeMirror{uuids: uuids, asked: make(chan struct{})}
			m := newMirror(f, nil)
			a := m.Line("")
			a.Offer("x", nil, false)
			synctest.Wait() // a is let in, and asks where it is
			others := []*Line{m.Line(""), m.Line("")}
			for _, l := range others {
				l.Offer("x", nil, false)
			}
			synctest.Wait()
			if dials, _, _ := f.log(); len(dials) != 1 {
				t.Errorf("%v: %d dials before the first one knows where it is", uuids, len(dials))
			}
			close(f.asked)
			synctest.Wait()
			want := map[string]int{"ours": 1, "theirs": 3}[uuids[0]]
			if dials, _, _ := f.log(); len(dials) != want {
				t.Errorf("%v: %d dials, want %d", uuids, len(dials), want)
			}
			m.Close()
		})
	}
}

// The cluster's own instance is refused, be it the one at the other end or one that this knows.
func TestSameClusterIsRefused(t *testing.T) {
	for _, uuids := range [][]string{{"ours"}, {"new", "ours"}} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeMirror{uuids: uuids}
			m := newMirror(f, nil)
			a, b := m.Line(""), m.Line("")
			for range 10 {
				a.Offer("x", nil, false)
				b.Offer("x", nil, false)
			}
			synctest.Wait()
			a.Offer("x", nil, false)
			s := m.Stats()
			accounted(t, s)
			dials, ran, open := f.log()
			if len(ran) != 0 || open != 0 || len(dials) != 1 || s.Dropped["refused"] != 21 || s.Off == "" {
				t.Errorf("dials %v, ran %v, %d open, %+v", dials, ran, open, s)
			}
			m.Close()
		})
	}
}

// Whatever happens in whatever order, every statement is accounted for once.
func TestEveryStatementIsAccountedFor(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(seed, 1))
			chance := func(n int) bool {
				mu.Lock()
				defer mu.Unlock()
				return random.IntN(n) == 0
			}
			f := &fakeMirror{}
			f.dial = func(ctx context.Context, _ string) error {
				if chance(3) {
					return errRefused
				}
				if chance(10) {
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			}
			f.execute = func(ctx context.Context, c *fakeConn, _ string) error {
				switch {
				case chance(20):
					return c.hang(ctx)
				case chance(10):
					_ = c.Close()
					return c.hang(ctx)
				case chance(10):
					c.dead = true
				case chance(5):
					return &pq.Error{Code: "XX000"}
				}
				time.Sleep(time.Millisecond)
				return nil
			}
			m := newMirror(f, func(o *options.Config) { o.MirrorQueue, o.MirrorRatio, o.MirrorCompare = 4, 0.7, true })
			var users sync.WaitGroup
			for range 8 {
				users.Go(func() {
					for range 5 {
						l := m.Line("")
						for range 20 {
							cmp := l.Offer("x", nil, chance(2))
							if !chance(10) {
								time.Sleep(time.Millisecond)
							}
							switch {
							case chance(3):
								cmp.Failed(errRefused)
							case chance(2):
								cmp.Affected(1)
							default:
								cmp.Row([]driver.Value{"x"})
								cmp.Done(chance(2))
							}
						}
						l.Close()
					}
				})
			}
			users.Wait()
			time.Sleep(2 * time.Minute)
			m.Close()
			synctest.Wait()
			s := m.Stats()
			accounted(t, s)
			if s.Offered != 800 || s.Conns != 0 || s.Same+s.Different+s.Incomplete != s.Enqueued {
				t.Errorf("seed %d: %+v", seed, s)
			}
			if _, _, open := f.log(); open != 0 {
				t.Errorf("seed %d: %d connections are open", seed, open)
			}
		})
	}
}
