package scenarios_test

import (
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// loading is a cluster of two replicasets with a table of a hundred buckets' worth of nothing.
func loading(t *testing.T, cfg picotest.Config, opts ...options.Option) (*picotest.Cluster, *sql.DB, *picodata.Connector) {
	t.Helper()
	cfg.Statements = 20_000
	cfg.Tiers = []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 2}}
	c, db, conn := startDB(t, cfg, opts...)
	mustExec(t, db, "create table items (id int primary key, name text)")
	untilRouted(t, conn, "insert into items values ($1, $2)", 1, "")
	return c, db, conn
}

func itemRows(n int) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for i := range n {
			if !yield([]any{i, fmt.Sprint("item ", i)}) {
				return
			}
		}
	}
}

var itemColumns = []string{"id", "name"}

func countItems(t *testing.T, db *sql.DB) (n int64) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "select count(*) from items").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Rows go to their owners, none is forwarded, and each statement holds rows of one owner only.
func TestInsertGoesToOwners(t *testing.T) {
	c, db, _ := loading(t, picotest.Config{})
	var last picodata.InsertProgress
	res, err := picodata.Insert(t.Context(), db, "items", itemColumns, itemRows(5000), picodata.ChunkRows(200),
		picodata.OnProgress(func(p picodata.InsertProgress) { last = p }))
	if err != nil {
		t.Fatal(err)
	}
	if res.Rows != 5000 || res.Inserted != 5000 || res.Plain != 0 || countItems(t, db) != 5000 {
		t.Fatalf("%+v", res)
	}
	if last.Inserted != 5000 || last.Owners["default_1"]+last.Owners["default_2"] != 5000 || last.Owners["default_1"] == 0 {
		t.Errorf("%+v", last)
	}
	texts := map[string]bool{}
	for _, s := range c.Statements(picotest.SQL(`insert into "items"`)) {
		texts[s.SQL] = true
		if s.Hops != 0 || len(s.Ran) != 1 || !strings.HasSuffix(s.SQL, "OPTION (forward = off)") {
			t.Fatalf("%d rows: %d hops, ran on %v: %s", len(s.Args)/2, s.Hops, s.Ran, s.SQL[len(s.SQL)-40:])
		}
	}
	if len(texts) > 9 { // 200, and powers of two below
		t.Errorf("%d texts", len(texts))
	}
}

// A refused statement leaves none of its rows behind, and the result names the rows at fault.
func TestInsertNamesBadRows(t *testing.T) {
	_, db, _ := loading(t, picotest.Config{})
	for _, id := range []int{3, 700, 999} {
		mustExec(t, db, "insert into items values ($1, 'old')", id)
	}
	res, err := picodata.Insert(t.Context(), db, "items", itemColumns, itemRows(1000), picodata.MaxErrors(5))
	if err != nil {
		t.Fatal(err)
	}
	if res.Inserted != 997 || !slices.Equal(res.FailedRows, []int64{3, 700, 999}) || len(res.Errors) != 3 || countItems(t, db) != 1000 {
		t.Fatalf("%+v", res)
	}
	if !picodata.IsUniqueViolation(res.Errors[0].Err) {
		t.Error(res.Errors[0].Err)
	}

	// Without room for errors it stops, and says of every row what became of it.
	mustExec(t, db, "delete from items where id <> 3")
	res, err = picodata.Insert(t.Context(), db, "items", itemColumns, itemRows(20_000))
	var ie *picodata.InsertError
	if !picodata.IsUniqueViolation(err) || !errors.As(err, &ie) {
		t.Fatal(err)
	}
	if res.Inserted+res.Failed+res.Unsent != res.Rows || res.Unknown != 0 || countItems(t, db) != res.Inserted+1 {
		t.Fatalf("%v; %d there", err, countItems(t, db))
	}

	// Skip and replace.
	res, err = picodata.Insert(t.Context(), db, "items", itemColumns, itemRows(1000), picodata.OnConflict(picodata.ConflictSkip))
	if err != nil || res.Inserted+res.Skipped != 1000 || res.Skipped == 0 {
		t.Fatalf("%v, %+v", err, res)
	}
	res, err = picodata.Insert(t.Context(), db, "items", itemColumns, itemRows(1000), picodata.OnConflict(picodata.ConflictReplace))
	if err != nil || res.Inserted != 1000 {
		t.Fatalf("%v, %+v", err, res)
	}
	var name string
	if err := db.QueryRow("select name from items where id = 3").Scan(&name); err != nil || name != "item 3" {
		t.Error(name, err)
	}
}

// Buckets move and leaders change in the middle of a load: nothing is lost, nothing doubled.
func TestInsertWhileTheClusterMoves(t *testing.T) {
	c, db, _ := loading(t, picotest.Config{})
	var seen atomic.Int64
	step := 0
	res, err := picodata.Insert(t.Context(), db, "items", itemColumns, itemRows(8000), picodata.ChunkRows(50), picodata.OnProgress(func(p picodata.InsertProgress) {
		seen.Store(p.Inserted)
		switch {
		case step == 0 && p.Inserted > 1000:
			step = 1
			c.MoveBuckets("default", 1, 700, "default_2")
		case step == 1 && p.Inserted > 3000:
			step = 2
			old := c.Leader("default_1").Name()
			for _, n := range c.Nodes() {
				if n.Replicaset() == "default_1" && n.Name() != old {
					c.SwitchLeader("default_1", n.Name())
					break
				}
			}
		}
	}))
	if err != nil {
		t.Fatalf("%v\n%v", err, res.Errors)
	}
	if res.Inserted != 8000 || countItems(t, db) != 8000 || step != 2 {
		t.Fatalf("%+v, %d, step %d", res, countItems(t, db), step)
	}
}

// A node dies under a load: the rows that it was sent are of unknown outcome and named; a second load that
// skips what is there completes the table.
func TestInsertResumesAfterALoss(t *testing.T) {
	c, db, _ := loading(t, picotest.Config{})
	victim := c.Leader("default_1")
	var match atomic.Int64
	fault := victim.CloseAfter(picotest.BeforeAnswer(), picotest.SQL(`insert into "items"`), func(*picotest.Statement) bool { return match.Add(1) == 3 })
	res, err := picodata.Insert(t.Context(), db, "items", itemColumns, itemRows(3000), picodata.ChunkRows(100), picodata.MaxErrors(100))
	if err != nil || fault.Count() != 1 {
		t.Fatalf("%v, %d", err, fault.Count())
	}
	if res.Unknown != int64(len(res.UnknownRows)) || res.Unknown == 0 || res.Inserted+res.Unknown != 3000 {
		t.Fatalf("%+v", res)
	}
	again := func(yield func([]any) bool) {
		for _, n := range slices.Concat(res.UnknownRows, res.UnsentRows) {
			if !yield([]any{n, fmt.Sprint("item ", n)}) {
				return
			}
		}
	}
	second, err := picodata.Insert(t.Context(), db, "items", itemColumns, again, picodata.OnConflict(picodata.ConflictSkip))
	if err != nil || countItems(t, db) != 3000 {
		t.Fatalf("%v, %+v, %d", err, second, countItems(t, db))
	}
}

// Rows whose owner nobody leads wait for a leader as long as dead_leader_timeout says, and no longer; under
// dead_leader=fail they don't wait.
func TestInsertWaitsForALeader(t *testing.T) {
	for _, c := range []struct {
		name string
		opts []options.Option
		want time.Duration // until it gives up; 0: it doesn't
	}{
		{"wait", nil, 0},
		{"wait a little", []options.Option{options.WithDeadLeaderTimeout(5 * time.Second)}, 5 * time.Second},
		{"fail", []options.Option{options.WithDeadLeader(options.DeadLeaderFail)}, time.Nanosecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := picotest.Config{Statements: 2000, Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 1}}}
			bubble(t, cfg, func(t *testing.T, w *world) {
				w.filled(20, c.opts...)
				victim := w.cluster.Leader("default_2")
				victim.Kill()
				for n := 0; n < 60_000 && w.online(victim.Name()); n++ {
					time.Sleep(time.Millisecond)
				}
				begun := time.Now()
				if c.want == 0 {
					time.AfterFunc(45*time.Second, func() { victim.Start() })
				}
				res, err := picodata.Insert(t.Context(), w.DB, "t", []string{"id", "v"}, func(yield func([]any) bool) {
					for i := 100; i < 200 && yield([]any{i, 0}); i++ {
					}
				}, picodata.ChunkRows(10), picodata.MaxErrors(100))
				took := time.Since(begun)
				if c.want == 0 {
					if err != nil || res.Inserted != 100 || took < 45*time.Second {
						t.Fatalf("after %v: %+v, %v", took, res, err)
					}
					return
				}
				if res.Inserted == 0 || res.Unsent == 0 || res.Inserted+res.Unsent != 100 || len(res.Errors) == 0 || took < c.want-1 {
					t.Fatalf("after %v: %+v, %v", took, res, err)
				}
				for _, e := range res.Errors {
					var le *picodata.LeaderlessError
					if !errors.As(e.Err, &le) || le.Replicaset != "default_2" || le.Waited.Truncate(time.Second) != c.want.Truncate(time.Second) || !picodata.IsRetryable(e.Err) {
						t.Fatalf("after %v: %v", took, e.Err)
					}
				}
			})
		})
	}
}

// Tables without a known owner are loaded as plain statements, and bad arguments are refused at once.
func TestInsertPlainAndRefused(t *testing.T) {
	_, db, _ := loading(t, picotest.Config{})
	mustExec(t, db, "create table g (id int primary key, name text) distributed globally")
	res, err := picodata.Insert(t.Context(), db, "g", itemColumns, itemRows(700))
	if err != nil || res.Inserted != 700 || res.Plain != 700 {
		t.Fatalf("%v, %+v", err, res)
	}
	for _, c := range []struct {
		table   string
		columns []string
		opt     picodata.InsertOption
		want    string
	}{
		{"", itemColumns, picodata.InFlight(1), "a table"},
		{"items", nil, picodata.InFlight(1), "column"},
		{"items", itemColumns, picodata.InFlight(0), "InFlight(0): 1 to 64"},
		{"items", itemColumns, picodata.ChunkRows(1001), "ChunkRows(1001): 1 to 1000"},
		{"items", itemColumns, picodata.MaxErrors(-1), "MaxErrors(-1)"},
		{"items", itemColumns, picodata.OnConflict(9), "ConflictReplace"},
		{"nowhere", itemColumns, picodata.InFlight(1), "nowhere"},
		{"items", []string{"id", "nothing"}, picodata.InFlight(1), "nothing"},
	} {
		if _, err := picodata.Insert(t.Context(), db, c.table, c.columns, itemRows(3), c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c, err)
		}
	}
	res, err = picodata.Insert(t.Context(), db, "items", itemColumns, slices.Values([][]any{{1, "a"}, {2}, {3, struct{}{}}, {4, "d"}}), picodata.MaxErrors(10))
	if err != nil || res.Inserted != 2 || !slices.Equal(res.FailedRows, []int64{1, 2}) {
		t.Errorf("%v, %+v", err, res)
	}
}

// A plain INSERT of several rows of one owner goes straight there.
func TestRowsOfOneOwnerGoThere(t *testing.T) {
	c, db, conn := loading(t, picotest.Config{})
	untilRouted(t, conn, "insert into items values ($1, 'x'), ($2, 'y')", 1, 1)
	byOwner := map[string][]any{}
	for i := range 40 {
		p, err := conn.Explain(t.Context(), "insert into items values ($1, $2)", i, "")
		if err != nil {
			t.Fatal(err)
		}
		byOwner[p.Replicaset] = append(byOwner[p.Replicaset], i)
	}
	for owner, ids := range byOwner {
		mustExec(t, db, "insert into items values ($1, 'a'), ($2, 'b'), ($3, 'c')", ids[:3]...)
		p, err := conn.Explain(t.Context(), "insert into items values ($1, 'a'), ($2, 'b'), ($3, 'c')", ids[:3]...)
		if err != nil || p.Reason != "routed" || p.Replicaset != owner || p.Node.Name != c.Leader(owner).Name() {
			t.Errorf("%+v, %v", p, err)
		}
	}
	for _, s := range c.Statements(picotest.SQL("'a'")) {
		if s.Hops != 0 {
			t.Errorf("%+v", s)
		}
	}
	p, err := conn.Explain(t.Context(), "insert into items values ($1, 'a'), ($2, 'b')", byOwner["default_1"][4], byOwner["default_2"][4])
	if err != nil || p.Reason != "several_owners" {
		t.Errorf("%+v, %v", p, err)
	}
}
