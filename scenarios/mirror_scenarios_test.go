package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// The scenarios of mirroring: rows MI1 to MI9 and their neighbours. The shadow is a cluster of its own.

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

// MI1: A healthy mirror executes all statements of a connection, in their order.
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

// MI5: No more mirror connections than connections, and one that is closed takes its
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

// MI6: A mirror that answers everything with an error.
func TestMirrorErrors(t *testing.T) {
	s := startShadowed(t, 1, options.WithMirrorQueue(1024))
	s.shadow.Fail("XX000", "no", picotest.SQL("select $1")).Times(-1)
	inParallel(8, 1000, func(i int) { s.selects(t.Context(), i) })
	if m := s.stats(); m.Errors["XX000"] != 1000 || m.Sent != 1000 || len(m.Errors) != 1 {
		t.Errorf("%+v", m)
	}
}

// MI7: Whatever the driver asks for its own sake stays at home. On the mirror
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

// Reads are what is known to be one; the rest is for mirror_mode=all.
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

// MI9: The share is exact, over all connections together.
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

// What arrives at an overfull mirror has all its arguments, and they are those of
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

// A listed node's statements go to its own mirror node, those of the others to mirror, or nowhere.
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
