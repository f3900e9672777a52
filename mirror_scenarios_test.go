package picodata_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
	"go.uber.org/goleak"
)

// The scenarios of mirroring: rows MI1 to MI9 and their neighbours. The shadow is a cluster of its own.

// shadowed is a database with a mirror.
type shadowed struct {
	*sql.DB
	t       *testing.T
	c       *picodata.Connector
	cluster *picotest.Cluster
	shadow  *picotest.Cluster
}

// startShadowed starts a cluster of three nodes and a shadow of so many, and opens the one with the other
// as its mirror. When the test ends, nothing of the driver may be left.
func startShadowed(t *testing.T, shadows int, opts ...options.Option) *shadowed {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	cfg := picotest.Config{Statements: 20_000, Tiers: []picotest.Tier{{Name: "default", Replicasets: shadows}}}
	s := &shadowed{t: t}
	s.shadow = picotest.Start(nil, cfg)
	cfg.Tiers = three.Tiers
	s.cluster = picotest.Start(nil, cfg)
	t.Cleanup(func() {
		if s.DB != nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		s.cluster.Close()
		s.shadow.Close()
		goleak.VerifyNone(t, leaks)
	})
	s.open(append([]options.Option{options.WithMirror(s.shadow.AdminDSN())}, opts...)...)
	return s
}

// open opens the cluster.
func (s *shadowed) open(opts ...options.Option) {
	s.t.Helper()
	cfg, err := picodata.ParseDSN(s.cluster.AdminDSN())
	if err != nil {
		s.t.Fatal(err)
	}
	if s.c, err = picodata.NewConnector(cfg, opts...); err != nil {
		s.t.Fatal(err)
	}
	s.DB = sql.OpenDB(s.c)
}

// await waits until the mirror's numbers are as wanted.
func (s *shadowed) await(want func(*picodata.MirrorStats) bool) picodata.MirrorStats {
	s.t.Helper()
	for patience := time.Now().Add(time.Minute); ; {
		m := s.c.Stats().Mirror
		if want(&m) {
			return m
		}
		if time.Now().After(patience) {
			s.t.Fatalf("the mirror doesn't get there: %+v", m)
		}
		runtime.Gosched()
	}
}

// stats waits until the mirror has nothing to do and checks that every statement is accounted for.
func (s *shadowed) stats() picodata.MirrorStats {
	s.t.Helper()
	m := s.await(func(m *picodata.MirrorStats) bool { return m.Queued == 0 && m.Running == 0 })
	accounted(s.t, m)
	return m
}

// compared waits until every statement that was enqueued is compared, or known not to be comparable.
func (s *shadowed) compared() picodata.MirrorStats {
	s.t.Helper()
	s.await(func(m *picodata.MirrorStats) bool { return m.Same+m.Different+m.Incomplete == m.Enqueued })
	return s.stats()
}

// connections waits until the mirror has so many.
func (s *shadowed) connections(n int) {
	s.t.Helper()
	s.await(func(m *picodata.MirrorStats) bool { return m.Conns == n })
}

// accounted checks the sums of a mirror at rest.
func accounted(t *testing.T, m picodata.MirrorStats) {
	t.Helper()
	var dropped, failed uint64
	for _, n := range m.Dropped {
		dropped += n
	}
	for _, n := range m.Errors {
		failed += n
	}
	if m.Offered != m.Sent+dropped || m.Sent != m.OK+failed || m.Bytes != 0 || m.Lag != 0 {
		t.Errorf("the sums are wrong: %+v", m)
	}
}

// sequences are the arguments of the statements with this text, joined per connection, in any order.
func sequences(c *picotest.Cluster, text string) []string {
	by := map[string][]string{}
	for _, s := range c.Statements() {
		if s.SQL == text {
			key := fmt.Sprint(s.Node, "/", s.Conn)
			by[key] = append(by[key], fmt.Sprint(s.Args...))
		}
	}
	var all []string
	for _, list := range by {
		all = append(all, strings.Join(list, " "))
	}
	slices.Sort(all)
	return all
}

func (s *shadowed) selects(ctx context.Context, i int) {
	var n int
	if err := s.QueryRowContext(ctx, "select $1", i).Scan(&n); err != nil || n != i {
		s.t.Errorf("select %d: %d, %v", i, n, err)
	}
}

// TestMirrorGetsAll is MI1: a healthy mirror executes all statements of a connection, in their order.
func TestMirrorGetsAll(t *testing.T) {
	s := startShadowed(t, 1, options.WithMirrorQueue(1024))
	inParallel(7, 1000, func(i int) { s.selects(t.Context(), i) })
	m := s.stats()
	if m.Offered != 1000 || m.OK != 1000 || len(m.Dropped) != 0 || m.Off != "" {
		t.Errorf("%+v", m)
	}
	here, there := sequences(s.cluster, "select $1"), sequences(s.shadow, "select $1")
	if len(here) < 3 || !slices.Equal(here, there) {
		t.Errorf("%d connections here, %d on the mirror, with other statements or in another order", len(here), len(there))
	}
}

// TestMirrorPerConnection is MI5: no more mirror connections than connections, and one that is closed takes its
// mirror along.
func TestMirrorPerConnection(t *testing.T) {
	s := startShadowed(t, 1)
	ctx := t.Context()
	held := s.cluster.Hold(picotest.SQL("select 7"))
	type query struct {
		cancel context.CancelFunc
		done   chan error
	}
	var all []query
	for range 7 {
		qctx, cancel := context.WithCancel(ctx)
		q := query{cancel, make(chan error, 1)}
		go func() {
			_, err := s.ExecContext(qctx, "select 7")
			q.done <- err
		}()
		all = append(all, q)
	}
	if err := held.Wait(ctx, 7); err != nil {
		t.Fatal(err)
	}
	if err := s.shadow.WaitConnections(ctx, "i1", 7); err != nil {
		t.Fatal(err)
	}
	if m := s.stats(); m.OK != 7 {
		t.Errorf("the mirror waits for the cluster: %+v", m)
	}
	for _, q := range all[:3] {
		q.cancel()
		if err := <-q.done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if err := s.shadow.WaitConnections(ctx, "i1", 4); err != nil {
		t.Fatal(err)
	}
	held.ReleaseAll()
	for _, q := range all[3:] {
		if err := <-q.done; err != nil {
			t.Error(err)
		}
		q.cancel()
	}
	if m := s.stats(); m.OK != 7 || m.Dials != 7 {
		t.Errorf("%+v", m)
	}
	s.connections(4)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.shadow.WaitConnections(ctx, "i1", 0); err != nil {
		t.Fatal(err)
	}
}

// TestMirrorErrors is MI6: a mirror that answers everything with an error.
func TestMirrorErrors(t *testing.T) {
	s := startShadowed(t, 1, options.WithMirrorQueue(1024))
	s.shadow.Fail("XX000", "no", picotest.SQL("select $1")).Times(-1)
	inParallel(8, 1000, func(i int) { s.selects(t.Context(), i) })
	if m := s.stats(); m.Errors["XX000"] != 1000 || m.Sent != 1000 || len(m.Errors) != 1 {
		t.Errorf("%+v", m)
	}
}

// TestMirrorGetsUsersStatementsOnly is MI7: whatever the driver asks for its own sake stays at home. On the mirror
// are the user's statements and the two questions that each connection begins with.
func TestMirrorGetsUsersStatementsOnly(t *testing.T) {
	s := startShadowed(t, 1, options.WithPrepare(options.PrepareEager), options.WithMirrorMode(options.MirrorAll),
		options.WithTopologyUpdateInterval(options.New().TopologyUpdateInterval), options.WithTransactions(options.TransactionsAutocommit))
	ctx := t.Context()
	for _, c := range []*picotest.Cluster{s.cluster, s.shadow} {
		if err := c.Exec("create table mi (id int primary key, n int)"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Ping(); err != nil {
		t.Fatal(err)
	}
	stmt, err := s.PrepareContext(ctx, "insert into mi values ($1, $2)")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	for i := range 20 {
		if _, err := stmt.ExecContext(ctx, i, i); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.c.Explain(ctx, "insert into mi values ($1, $2)", 1, 2); err != nil {
		t.Fatal(err)
	}
	s.stats() // there is no order between connections
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, tx, "delete from mi where id = $1", 3)
	mustExec(t, tx, "begin")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	m := s.stats()
	if m.OK != 21 || m.Offered != 21 {
		t.Errorf("%+v", m)
	}
	got := map[string]int{}
	for _, st := range s.shadow.Statements() {
		got[st.SQL]++
	}
	want := map[string]int{
		"insert into mi values ($1, $2)": 20, "delete from mi where id = $1": 1,
		"SELECT pico_instance_uuid()": int(m.Dials), "SELECT uuid FROM _pico_instance": int(m.Dials),
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, list := range [][2]*picotest.Cluster{{s.cluster, s.shadow}} {
		a, err := list[0].Query("select id, n from mi order by id")
		b, err2 := list[1].Query("select id, n from mi order by id")
		if err != nil || err2 != nil || !reflect.DeepEqual(a, b) || len(a) != 19 {
			t.Errorf("%v %v, %v %v", a, err, b, err2)
		}
	}
}

// TestMirrorModes: reads are what is known to be one; the rest is for mirror_mode=all.
func TestMirrorModes(t *testing.T) {
	for mode, want := range map[options.MirrorMode]int{options.MirrorReads: 2, options.MirrorAll: 5} {
		t.Run(mode.String(), func(t *testing.T) {
			s := startShadowed(t, 1, options.WithMirrorMode(mode), options.WithMirrorQueue(1024))
			for _, text := range []string{"create table mm (id int primary key)", "insert into mm values (1)", "select * from mm", "values (1)", "drop table mm", ";"} {
				mustExec(t, s, text)
			}
			if m := s.stats(); m.Offered != uint64(want) || m.Sent != uint64(want) {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestMirrorRatio is MI9: the share is exact, over all connections together.
func TestMirrorRatio(t *testing.T) {
	n := 6400
	if testing.Short() {
		n = 640
	}
	for _, ratio := range []float64{1, 0.1, 0} {
		t.Run(fmt.Sprint(ratio), func(t *testing.T) {
			s := startShadowed(t, 1, options.WithMirrorRatio(ratio), options.WithMirrorQueue(10_000), options.WithMirrorQueueBytes(1<<28))
			inParallel(16, n, func(i int) { s.selects(t.Context(), i) })
			m, want := s.stats(), int(float64(n)*ratio)
			if m.OK != uint64(want) || m.Dropped["sampled"] != uint64(n-want) {
				t.Errorf("%+v", m)
			}
		})
	}
}

// syncBuffer is a buffer for logs.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestMirrorWholeOrNot: what arrives at an overfull mirror has all its arguments, and they are those of
// the call whatever the caller does with its memory afterwards.
func TestMirrorWholeOrNot(t *testing.T) {
	s := startShadowed(t, 1, options.WithMirrorQueue(4), options.WithMirrorQueueBytes(1<<20))
	buffers := make([][]byte, 8)
	inParallel(len(buffers), len(buffers), func(w int) {
		b := make([]byte, 100)
		for i := range 200 {
			for j := range b {
				b[j] = byte('a' + (w+i)%26)
			}
			var x, y string
			if err := s.QueryRowContext(t.Context(), "select $1::text, $2::text", b, b).Scan(&x, &y); err != nil {
				t.Error(err)
			}
		}
	})
	m := s.stats()
	if m.Enqueued == 0 || m.Dropped["queue"] == 0 || m.OK != m.Enqueued {
		t.Errorf("%+v", m)
	}
	for _, st := range s.shadow.Statements(picotest.SQL("select $1::text")) {
		a, b := fmt.Sprint(st.Args[0]), fmt.Sprint(st.Args[1])
		if a != b || a != strings.Repeat(a[:1], 100) {
			t.Errorf("%v", st.Args)
		}
	}
}

// TestMirrorMap: a listed node's statements go to its own mirror node, those of the others to mirror, or nowhere.
func TestMirrorMap(t *testing.T) {
	s := startShadowed(t, 3)
	addr := func(i int) string { return s.shadow.Node(fmt.Sprintf("i%d", i)).Addr() }
	m := options.WithMirrorMap(options.Mapping{From: "i1", To: addr(2)}, options.Mapping{From: s.cluster.Node("i2").Addr(), To: addr(3)})
	for name, c := range map[string]struct {
		opts []options.Option
		want map[string]int
	}{
		"pairs alone":      {nil, map[string]int{"i2": 10, "i3": 10}},
		"and for the rest": {[]options.Option{options.WithMirror(s.shadow.Node("i1").AdminDSN())}, map[string]int{"i1": 10, "i2": 10, "i3": 10}},
	} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s.open(append(c.opts, m)...)
		s.shadow.ResetCounters()
		for i := range 30 {
			s.selects(t.Context(), i)
		}
		s.stats()
		if got := userStatements(s.shadow, "select $1"); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
