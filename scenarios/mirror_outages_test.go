package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"maps"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// Mirrors that hang, are down, come back, refuse the login or are no mirrors at all.

// MI2: A mirror that takes statements and never answers costs nobody anything; what
// waits is bounded, and in the end every statement is accounted for.
func TestMirrorHangs(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	for name, hang := range map[string]func(*picotest.Cluster){
		"statements": func(c *picotest.Cluster) { c.Hold(picotest.UserTables()) },
		"logins":     func(c *picotest.Cluster) { c.HoldAt(picotest.OnLogin()) },
		"frozen":     func(c *picotest.Cluster) { c.Node("i1").Freeze() },
		"black hole": func(c *picotest.Cluster) { c.Node("i1").BlackHole() },
	} {
		for limit, opt := range map[string]options.Option{
			"queue": options.WithMirrorQueue(10), "bytes": options.WithMirrorQueueBytes(2048),
		} {
			t.Run(name+" "+limit, func(t *testing.T) {
				s := startShadowed(t, 1, options.WithMirrorQueue(1000), opt)
				hang(s.shadow)
				inParallel(4, n, func(i int) { s.selects(t.Context(), i) })
				if got := len(s.cluster.Statements(picotest.SQL("select $1"))); got != n {
					t.Errorf("%d statements", got)
				}
				m := s.c.Stats().Mirror
				lines := s.c.Stats().Total.Open
				if m.OK != 0 || m.Dropped[limit] == 0 || m.Lag <= 0 || m.Running == 0 {
					t.Errorf("%+v", m)
				}
				if m.Queued > 10*lines || m.Bytes > 2048*lines {
					t.Errorf("%d statements of %d bytes wait for %d connections", m.Queued, m.Bytes, lines)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if m = s.stats(); m.Offered != uint64(n) || m.Dropped["closed"] == 0 {
					t.Errorf("%+v", m)
				}
				s.connections(0)
			})
		}
	}
}

// MI3: A mirror whose name doesn't resolve, is slow to resolve, or refuses, costs nobody
// an error, Close included, and is asked a few times, not a thousand.
func TestMirrorIsDown(t *testing.T) {
	for name, dial := range map[string]func(ctx context.Context) error{
		"unresolvable": func(context.Context) error {
			return &net.DNSError{Err: "no such host", Name: "mirror.invalid", IsNotFound: true}
		},
		"refused": func(context.Context) error { return &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED} },
		"slow": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			var dialled atomic.Int64
			cluster, db, c := startDB(t, three,
				options.WithMirror("picodata://u:secret@mirror.invalid/"), options.WithMirrorQueue(16),
				options.WithDialFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
					if strings.HasPrefix(address, "mirror.invalid:") {
						dialled.Add(1)
						return nil, dial(ctx)
					}
					return (&net.Dialer{}).DialContext(ctx, network, address)
				}))
			s := &shadowed{DB: db, t: t, c: c, cluster: cluster}
			inParallel(8, 1000, func(i int) { s.selects(t.Context(), i) })
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			m := s.stats()
			if m.Offered != 1000 || m.Sent != 0 {
				t.Errorf("%+v", m)
			}
			s.connections(0)
			// All lines together: the first dials, and one or two after the first pause.
			if n := dialled.Load(); n == 0 || n > 12 {
				t.Errorf("%d dials", n)
			}
		})
	}
}

// When a mirror node dies its lines go to the next one; when all are gone statements are
// dropped; when they are back they get statements again, in whichever way connections died.
func TestMirrorComesBack(t *testing.T) {
	s := startShadowed(t, 2)
	ctx := t.Context()
	one, err := s.Conn(ctx) // one connection, one line
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	next := 0
	sent := func() uint64 {
		next++
		mustExec(t, one, "select $1", next)
		return s.stats().OK
	}
	if sent() != 1 {
		t.Fatal("nothing is mirrored")
	}
	first := s.shadow.Statements(picotest.SQL("select $1"))[0].Node
	other := map[string]string{"i1": "i2", "i2": "i1"}[first]
	// again sends statements until one arrives: some are dropped while a node's pause lasts.
	again := func() {
		t.Helper()
		before := s.stats().OK
		s.await(func(*picodata.MirrorStats) bool { return sent() > before })
	}
	for _, kill := range []func(*picotest.Node){(*picotest.Node).DropConnections, (*picotest.Node).ResetConnections} {
		n := s.shadow.Node(first)
		n.Refuse()
		kill(n)
		if err := s.shadow.WaitConnections(ctx, first, 0); err != nil {
			t.Fatal(err)
		}
		again()
		if before, got := sent(), sent(); got != before+1 {
			t.Errorf("the other node doesn't get all: %d, then %d", before, got)
		}
		last := s.shadow.Statements(picotest.SQL("select $1"))
		if node := last[len(last)-1].Node; node != other {
			t.Errorf("%s got it", node)
		}
		n.Accept()
		first, other = other, first
	}
	for _, n := range s.shadow.Nodes() {
		n.Refuse()
		n.DropConnections()
		if err := s.shadow.WaitConnections(ctx, n.Name(), 0); err != nil {
			t.Fatal(err)
		}
	}
	sent()
	before, down := sent(), s.stats().Dropped["down"]
	if got := sent(); got != before || s.stats().Dropped["down"] != down+1 {
		t.Errorf("nobody is there: %d, then %d, %+v", before, got, s.stats())
	}
	for _, n := range s.shadow.Nodes() {
		n.Accept()
	}
	again()
}

// A mirror that is the cluster itself is refused before anything is mirrored, be it
// named by the same address or by another instance's.
func TestMirrorOfItself(t *testing.T) {
	for name, mirror := range map[string]func(*picotest.Cluster) string{
		"same address":   func(c *picotest.Cluster) string { return c.Node("i1").AdminDSN() },
		"other instance": func(c *picotest.Cluster) string { return c.Node("i3").AdminDSN() },
	} {
		t.Run(name, func(t *testing.T) {
			s := startShadowed(t, 1)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			cfg, err := picodata.ParseDSN(s.cluster.Node("i1").AdminDSN())
			if err != nil {
				t.Fatal(err)
			}
			var log syncBuffer
			s.c, err = picodata.NewConnector(cfg, options.WithMirror(mirror(s.cluster)), options.WithMirrorMode(options.MirrorAll),
				options.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			if err != nil {
				t.Fatal(err)
			}
			s.DB = sql.OpenDB(s.c)
			mustExec(t, s, "create table me (id int primary key)")
			for i := range 50 {
				mustExec(t, s, "insert into me values ($1)", i)
			}
			m := s.stats()
			if m.Sent != 0 || m.Dropped["refused"] != 51 || !strings.Contains(m.Off, "mirror") {
				t.Errorf("%+v", m)
			}
			s.connections(0)
			if n := strings.Count(log.String(), "mirroring is off"); n != 1 {
				t.Errorf("said %d times: %s", n, log.String())
			}
			if n := len(s.cluster.Statements(picotest.SQL("insert into me"))); n != 50 {
				t.Errorf("%d statements", n)
			}
		})
	}
}

// A wrong password is tried once, not by every connection: four refusals lock the user.
func TestMirrorLoginRefused(t *testing.T) {
	s := startShadowed(t, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg, err := picodata.ParseDSN(s.shadow.AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Password = "not it"
	var log syncBuffer
	s.open(options.WithMirror(picodata.FormatDSN(cfg)), options.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	inParallel(16, 1000, func(i int) { s.selects(t.Context(), i) })
	m := s.stats()
	if m.Offered != 1000 || m.Sent != 0 || m.DialFailures != 1 {
		t.Errorf("%+v", m)
	}
	if n := s.shadow.Counters().LoginFailures; n != 1 {
		t.Errorf("%d refused logins", n)
	}
	if text := log.String(); !strings.Contains(text, "login was refused") || strings.Contains(text, "not it") {
		t.Error(text)
	}
}

// A statement that its caller gives up while the mirror works at it is finished there, if
// that takes no more than a second; the connection that it was on is gone by then.
func TestMirrorOutlivesCancel(t *testing.T) {
	for _, late := range []time.Duration{0, 999 * time.Millisecond, 1001 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			cfg := picotest.Config{Network: picotest.Memory, Tiers: []picotest.Tier{{Name: "default"}}}
			s := &shadowed{t: t, cluster: picotest.Start(t, cfg), shadow: picotest.Start(t, cfg)}
			s.open(options.WithMirror("picodata://admin:T0psecret@shadow/"), options.WithDialFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
				if address == "shadow:4327" {
					return s.shadow.DialContext(ctx, network, s.shadow.Node("i1").Addr())
				}
				return s.cluster.DialContext(ctx, network, address)
			}))
			defer s.Close()
			here, there := s.cluster.Hold(picotest.SQL("select 8")), s.shadow.Hold(picotest.SQL("select 8"))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := s.ExecContext(ctx, "select 8")
				done <- err
			}()
			for _, h := range []*picotest.Hold{here, there} {
				if err := h.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			synctest.Wait()
			time.Sleep(late) // of the bubble's time
			there.ReleaseAll()
			here.ReleaseAll()
			synctest.Wait()
			want := picodata.MirrorStats{OK: 1}
			if late > time.Second {
				want = picodata.MirrorStats{Errors: map[string]uint64{"closed": 1}}
			}
			if m := s.stats(); m.OK != want.OK || !maps.Equal(m.Errors, want.Errors) {
				t.Errorf("after %v: %+v", late, m)
			}
			s.connections(0)
		})
	}
}
