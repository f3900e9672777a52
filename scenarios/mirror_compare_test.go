package scenarios_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// What people mirror for: the other cluster's answers beside this one's.

// startCompared has a table on both sides, the same but for the rows that the test changes.
func startCompared(t *testing.T) (*shadowed, *syncBuffer) {
	t.Helper()
	var log syncBuffer
	s := startShadowed(t, 1, options.WithMirrorCompare(true), options.WithMirrorMode(options.MirrorAll), options.WithMirrorQueue(1024),
		options.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
	for _, c := range []*picotest.Cluster{s.cluster, s.shadow} {
		for _, text := range []string{
			"create table cmp (id int primary key, s text, d double, b bool, u uuid, m decimal, j json)",
			`insert into cmp values (1, 'one', 1.5, true, 'b4aa9eb9-5d3a-4e80-9d8e-2d3b0f2f8d60', 1.25, null), (2, 'two', null, null, null, null, null), (3, 'three', 3.0, false, null, 3, null)`,
		} {
			if err := c.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s, &log
}

// The same data give no difference, whatever the order of rows, the protocol and the types.
func TestMirrorComparesEqual(t *testing.T) {
	s, log := startCompared(t)
	for range 5 { // unnamed, named
		s.all("select * from cmp")
		s.all("select * from cmp where id >= $1", 1)
		s.all("select * from cmp where id > $1 order by id desc", 100)
		s.all("select nothing from cmp")
		s.selects(t.Context(), 5) // QueryRow never asks for the end
	}
	s.compared() // there is no order between connections: the mirror's reads could see the update
	mustExec(t, s, "update cmp set s = $1 where id = $2", "zwei", 2)
	if m := s.compared(); m.Same != 26 || m.Different+m.Incomplete != 0 || len(m.Differences) != 0 {
		t.Errorf("%+v", m)
	}
	if text := log.String(); strings.Contains(text, "differ") {
		t.Error(text)
	}
}

// One value, one row, one type of error, one number of rows touched; counted by
// statement and logged without values.
func TestMirrorFindsDifferences(t *testing.T) {
	s, log := startCompared(t)
	for _, text := range []string{
		"update cmp set s = 'planted' where id = 3",
		"create table only_there (id int primary key)",
		"insert into cmp (id) values (77)",
	} {
		if err := s.shadow.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		s.all("select s from cmp where id = $1", 3)  // a value
		s.all("select id from cmp where id > 2")     // a row more
		s.all("select id from only_there")           // an error here
		s.all("select id from cmp where id = $1", 1) // nothing
	}
	mustExec(t, s, "update cmp set d = 1 where id > $1", 2) // touches another one there
	m := s.compared()
	if m.Same != 3 || m.Different != 10 || m.Incomplete != 0 {
		t.Errorf("%+v", m)
	}
	if counts := slices.Sorted(maps.Values(m.Differences)); !slices.Equal(counts, []uint64{1, 3, 3, 3}) {
		t.Errorf("%v", m.Differences)
	}
	text := log.String()
	for _, want := range []string{"select s from cmp where id = ?", "in=values here=\"1 row\" mirror=\"1 row\"", "in=rows here=\"1 row\" mirror=\"2 rows\"",
		"in=error here=\"error XX000\" mirror=\"0 rows\"", "row affected\" mirror=\"2 rows affected\"", "count=2"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "planted") || strings.Contains(text, "count=3") {
		t.Error(text)
	}
}

// What one side has in part is no difference.
func TestMirrorComparesWholeResultsOnly(t *testing.T) {
	s, _ := startCompared(t)
	if err := s.shadow.Exec("delete from cmp where id > 0"); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var id int
	if err := s.QueryRowContext(ctx, "select id from cmp order by id").Scan(&id); err != nil { // of three rows
		t.Fatal(err)
	}
	held := s.cluster.Hold(picotest.SQL("select s from cmp"))
	qctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := s.ExecContext(qctx, "select s from cmp")
		done <- err
	}()
	if err := held.Wait(ctx, 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	held.ReleaseAll()
	s.shadow.CloseAfter(picotest.BeforeAnswer(), picotest.SQL("select d from cmp"))
	s.all("select d from cmp")
	m := s.compared()
	if m.Incomplete != 3 || m.Same+m.Different != 0 || m.Errors["lost"] != 1 {
		t.Errorf("%+v", m)
	}
}

// A read that the driver runs again elsewhere is mirrored once, and it is the answer
// that the caller got that is compared.
func TestMirrorOfRetriedStatement(t *testing.T) {
	s, _ := startCompared(t)
	for i, p := range []picotest.Point{picotest.OnExecute(), picotest.BeforeAnswer(), picotest.AfterRows(0)} {
		f := s.cluster.CloseAfter(p, picotest.SQL("select id from cmp"))
		s.all("select id from cmp order by id")
		if f.Count() != 1 {
			t.Fatalf("fault %d didn't happen", i)
		}
	}
	m := s.compared()
	if m.Offered != 3 || m.OK != 3 || m.Same != 3 {
		t.Errorf("%+v", m)
	}
	if r := s.c.Stats().Statements.Retries; r != 3 {
		t.Errorf("%d retries", r)
	}
}
