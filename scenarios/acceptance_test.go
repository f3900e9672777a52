package scenarios_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// prep-missing-on-other-conn: Prepared statements over nodes that forget them.
func TestPrepMissingOnOtherConn(t *testing.T) {
	c, db, conn := startDB(t, picotest.Config{Scale: 0.01, Tiers: three.Tiers}, options.WithStatementCacheThreshold(1), options.WithStatementCacheSize(1))
	one, err := db.PrepareContext(t.Context(), "select $1::int + 4731")
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	many, err := db.PrepareContext(t.Context(), "select $1::int + $2::int + $3::int + 4732")
	if err != nil {
		t.Fatal(err)
	}
	defer many.Close()
	times := 300
	if testing.Short() {
		times = 60
	}
	// Something happens to the nodes each time that work has been done, but to no statement twice: what was under way
	// when it happened, or meets the fault that it left, is over before the next. A statement is run again so often and no more.
	var inFlight sync.RWMutex
	progress := make(chan struct{}, 1)
	var chaos, group sync.WaitGroup
	chaos.Go(func() {
		i := -1
		var fault *picotest.Fault
		for range progress {
			i++
			n := c.Nodes()[i%3]
			inFlight.Lock() // nothing is under way that met the last one
			if fault != nil {
				fault.Remove()
			}
			inFlight.Unlock()
			switch i % 4 {
			case 0: // restarts: every name is forgotten
				<-n.Stop()
				<-n.Start()
			case 1: // somebody has the name
				fault = n.Inject(picotest.OnParse(), picotest.ErrorMessage("42P05", "Duplicated prepared statement"), picotest.SQL("+ 4731"))
			case 2: // the server lost it
				fault = n.Inject(picotest.OnBind(), picotest.ErrorMessage("XX000", "Couldn't find statement 'p1'."), picotest.SQL("+ 4732"))
			case 3:
				n.DropConnections()
			}
		}
	})
	for w := range 16 {
		group.Go(func() {
			for i := range times {
				var a, b int
				inFlight.RLock()
				err := one.QueryRowContext(t.Context(), i).Scan(&a)
				inFlight.RUnlock()
				if err != nil || a != i+4731 {
					t.Errorf("one parameter: %d, %v", a, err)
					return
				}
				inFlight.RLock()
				err = many.QueryRowContext(t.Context(), i, w, 1).Scan(&b)
				inFlight.RUnlock()
				if err != nil || b != i+w+1+4732 {
					t.Errorf("three parameters: %d, %v", b, err)
					return
				}
				if i%30 == 0 {
					select {
					case progress <- struct{}{}:
					default:
					}
				}
			}
		})
	}
	group.Wait()
	close(progress)
	chaos.Wait()
	t.Logf("%+v", conn.Stats().Statements)
	k := c.Counters()
	if k.Received["P"] == 0 || k.Received["B"] == 0 {
		t.Error("nothing was prepared: the test looks at the wrong thing")
	}
}

// prep-handle-survives-failover: A *sql.Stmt outlives the node it was made on.
func TestPrepHandleSurvivesFailover(t *testing.T) {
	c, db, conn := startDB(t, picotest.Config{Scale: 0.01, Tiers: three.Tiers}, options.WithStatementCacheThreshold(1))
	stmt, err := db.PrepareContext(picodata.ToInstance(t.Context(), "i1"), "select $1::int + 4733")
	if err != nil {
		t.Fatal(err)
	}
	run := func(i int) error {
		var n int
		err := stmt.QueryRowContext(t.Context(), i).Scan(&n)
		if err == nil && n != i+4733 {
			err = fmt.Errorf("%d + 4733 = %d", i, n)
		}
		return err
	}
	inParallel(20, 200, func(i int) {
		if err := run(i); err != nil {
			t.Error(err)
		}
	})
	c.Node("i1").Kill()
	inParallel(100, 1000, func(i int) {
		if err := run(i); err != nil {
			t.Errorf("after the death of i1: %v", err)
		}
	})
	before := c.Counters()
	if err := stmt.Close(); err != nil {
		t.Error("Close:", err)
	}
	after := c.Counters()
	for _, m := range []string{"C", "H", "S"} { // Q is what the topology is asked by, at any time
		if after.Received[m] != before.Received[m] {
			t.Errorf("Close sent %d × %s", after.Received[m]-before.Received[m], m)
		}
	}
	// Each connection parsed the text once without a name and once with one: names are its own, and it keeps them.
	type place struct {
		node string
		conn uint64
	}
	used := map[place]bool{}
	for _, x := range c.Statements(picotest.SQL("+ 4733")) {
		used[place{x.Node, x.Conn}] = true
	}
	for _, n := range c.Nodes() {
		for _, k := range append(n.Conns(), n.ClosedConns()...) {
			if p := k.Counters.Received["P"]; used[place{n.Name(), k.ID}] && p > 2 {
				t.Errorf("connection %d of %s parsed %d times", k.ID, n.Name(), p)
			}
		}
	}
	if n := conn.Stats().Statements.Failed; n != 0 {
		t.Errorf("%d statements failed", n)
	}
}

// sync-untouched-nodes: What a statement costs its node, and what it costs the others.
func TestSyncUntouchedNodes(t *testing.T) {
	six := picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 6, ReplicationFactor: 1}}}
	c, db, _ := startDB(t, six, options.WithTransactions(options.TransactionsAutocommit), options.WithTopologyUpdateInterval(time.Hour))
	mustExec(t, db, "create table t (id int primary key, n int)")
	ctx := picodata.ToInstance(t.Context(), "i1")
	warm := func() {
		if _, err := db.ExecContext(ctx, "select 1"); err != nil {
			t.Fatal(err)
		}
	}
	warm()
	for _, n := range c.Nodes()[3:] {
		n.Delay(20 * time.Millisecond) // far away
	}
	c.ResetCounters()
	times := 500
	if testing.Short() {
		times = 50
	}
	stmt, err := db.PrepareContext(ctx, "select $1::int + 4734")
	if err != nil {
		t.Fatal(err)
	}
	for i := range times {
		if _, err := db.ExecContext(ctx, "select 4735"); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := db.QueryRowContext(ctx, "select $1::int + 4736", i).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if err := stmt.QueryRowContext(ctx, i).Scan(&n); err != nil {
			t.Fatal(err)
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(ctx, "select 4737"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := stmt.Close(); err != nil {
		t.Error(err)
	}
	for _, n := range c.Nodes()[1:] {
		// One of them may hold the connection that reads the topology; that asks system tables, by simple queries.
		ours := c.Statements(picotest.UserTables(), func(s *picotest.Statement) bool { return s.Node == n.Name() })
		if k := n.Counters(); len(ours) != 0 || k.Ever != 0 || k.Received["P"]+k.Received["S"]+k.Received["C"]+k.Received["H"] != 0 {
			t.Errorf("%s, which has nothing to do with the statements, got %d of them, %d connections, %v", n.Name(), len(ours), k.Ever, k.Received)
		}
	}
	k := c.Node("i1").Counters()
	// The topology's connection, should it be here, adds a few.
	own := len(c.Statements(func(s *picotest.Statement) bool { return s.Node == "i1" })) - 4*times
	if k.Flights != 4*times+own {
		t.Errorf("%d flights for %d statements and %d of the driver's own", k.Flights, 4*times, own)
	}
	if got := k.Received["S"] + k.Received["Q"]; got != 4*times+own {
		t.Errorf("%d Syncs and Queries for %d statements and %d of the driver's own", got, 4*times, own)
	}
	if got := k.Received["B"]; got != 2*times || k.Received["E"] != got {
		t.Errorf("%d Binds, %d Executes for %d statements with arguments", got, k.Received["E"], 2*times)
	}
	if k.Received["C"] > 0 {
		t.Errorf("%d Closes", k.Received["C"])
	}
}

// sync-inside-unit: Batches and Execute with a row limit are out of reach of lib/pq. What is asked
// for in one call is one unit with one Sync at its end, and a text of several statements is an error that harms nothing.
func TestSyncInsideUnit(t *testing.T) {
	c, db, _ := startDB(t, picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 1, ReplicationFactor: 1}}},
		options.WithMaxConnsPerInstance(2), options.WithTopologyUpdateInterval(time.Hour))
	mustExec(t, db, "create table t (id int primary key)")
	for i := range 35 {
		mustExec(t, db, "insert into t values ($1)", i)
	}
	sc, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	mustExec(t, sc, "select 1")
	for _, batch := range []string{"select 1; select 2; select 3", "insert into t values (100); insert into t values (101)"} {
		var e *picodata.Error
		if _, err := sc.ExecContext(t.Context(), batch); !errors.As(err, &e) || e.Kind != picodata.KindQuery {
			t.Errorf("%q: %v", batch, err)
		}
		mustExec(t, sc, "select 1")
	}
	c.ResetCounters()
	rows, err := sc.QueryContext(t.Context(), "select id from t where id < $1", 1000)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		if seen[id] {
			t.Errorf("row %d came twice", id)
		}
		seen[id] = true
		// Another goroutine wants the same node meanwhile.
		done := make(chan error)
		go func() {
			_, err := db.ExecContext(t.Context(), "select 4738")
			done <- err
		}()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := rows.Err(); err != nil || len(seen) != 35 {
		t.Errorf("%d rows, %v", len(seen), err)
	}
	rows.Close()
	k := c.Counters()
	if k.Received["S"] != 1 || k.Received["E"] != 1 || k.Received["H"] != 0 {
		t.Errorf("one query of 35 rows: %v", k.Received)
	}
}

// listen-half-open: LISTEN is refused; the connection that reads the topology notices that its peer is gone, and
// the driver learns the cluster elsewhere.
func TestListenHalfOpen(t *testing.T) {
	c, db, conn := startDB(t, picotest.Config{Scale: 0.01}, options.WithTopologyUpdateInterval(50*time.Millisecond), options.WithConnectTimeout(300*time.Millisecond))
	for _, q := range []string{"listen topology", "LISTEN x", "unlisten *", "notify x"} {
		var e *picodata.Error
		if _, err := db.ExecContext(t.Context(), q); !errors.As(err, &e) {
			t.Errorf("%s: %v", q, err)
		}
		mustExec(t, db, "select 1")
	}
	changed := make(chan *metadata.Topology, 100)
	conn.OnTopologyChange(func(topology *metadata.Topology) { changed <- topology })
	// The peer vanishes without a FIN: its kernel answers nothing any more.
	var deaf *picotest.Node
	for _, n := range c.Nodes() {
		if strings.Contains(conn.Topology().ReadFrom, n.Name()) || strings.Contains(conn.Topology().ReadFrom, n.Addr()) {
			deaf = n
		}
	}
	if deaf == nil {
		t.Fatalf("nobody is read from: %q", conn.Topology().ReadFrom)
	}
	deaf.BlackHole()
	defer deaf.Accept()
	// What happens while nobody listens isn't missed: the new reading is a whole one.
	rs := "default_1"
	if deaf.Replicaset() == rs {
		rs = "default_2"
	}
	next := c.Replicas(rs)[0]
	c.SwitchLeader(rs, next.Name())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		select {
		case topology := <-changed:
			in, ok := topology.ByName(next.Name())
			if ok && in.Role == metadata.RoleLeader {
				if strings.Contains(topology.ReadFrom, deaf.Name()) {
					t.Errorf("read from %s, which answers nothing", topology.ReadFrom)
				}
				return
			}
		case <-ctx.Done():
			t.Fatalf("the new leader isn't seen: %+v", conn.Stats().Topology)
		}
	}
}

// decimalScanner is a Scanner as decimal libraries are: it takes text.
type decimalScanner struct{ text string }

func (d *decimalScanner) Scan(src any) error {
	switch v := src.(type) {
	case string:
		d.text = v
	case []byte:
		d.text = string(v)
	default:
		return fmt.Errorf("%T is no text", src)
	}
	return nil
}

// scan-decimal-uuid-json: What values become in every kind of variable, by both forms on the wire.
func TestScanDecimalUUIDJSON(t *testing.T) {
	_, db, _ := startDB(t, picotest.Config{})
	mustExec(t, db, "create table s (id int primary key, d decimal, u uuid, f double, n unsigned)")
	const id = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
	decimals := []struct{ sent, want string }{
		{"0.051426", "0.051426"},
		{"12345678901234567890.123456789", "12345678901234567890.123456789"},
		{"-0.0", "0.0"},
		{"1E-30", "0.000000000000000000000000000001"},
	}
	for i, d := range decimals {
		mustExec(t, db, "insert into s (id, d, u) values ($1, $2, $3)", i, d.sent, id)
	}
	// read runs a query as text and with an argument, which is the other form.
	read := func(column string, i int, into ...any) {
		t.Helper()
		for k, dest := range into {
			var err error
			if k%2 == 0 {
				err = db.QueryRow(fmt.Sprintf("select %s from s where id = %d", column, i)).Scan(dest)
			} else {
				err = db.QueryRow(fmt.Sprintf("select %s from s where id = $1", column), i).Scan(dest)
			}
			if err != nil {
				t.Errorf("%s of row %d into %T: %v", column, i, dest, err)
			}
		}
	}
	for i, d := range decimals {
		var (
			a [2]any
			s [2]string
			b [2][]byte
			n [2]sql.NullString
			j [2]json.Number
			x [2]decimalScanner
		)
		read("d", i, &a[0], &a[1], &s[0], &s[1], &b[0], &b[1], &n[0], &n[1], &j[0], &j[1], &x[0], &x[1])
		for k := range 2 {
			got := []string{fmt.Sprintf("%s", a[k]), s[k], string(b[k]), n[k].String, j[k].String(), x[k].text}
			for _, g := range got {
				if strings.TrimPrefix(g, "-") != strings.TrimPrefix(d.want, "-") {
					t.Errorf("%s came back as %v (form %d)", d.sent, got, k)
					break
				}
			}
		}
		if s[0] != s[1] {
			t.Errorf("%s: text gives %q, binary %q", d.sent, s[0], s[1])
		}
	}
	var f float64
	if err := db.QueryRow("select d from s where id = 0").Scan(&f); err != nil || f != 0.051426 {
		t.Errorf("a decimal into float64: %v, %v", f, err)
	}
	var whole int64
	if err := db.QueryRow("select d from s where id = 1").Scan(&whole); err == nil {
		t.Errorf("12345678901234567890.1… fits into an int64: %d", whole)
	}
	var (
		ua [2]any
		us [2]string
		ub [2][]byte
	)
	read("u", 0, &ua[0], &ua[1], &us[0], &us[1], &ub[0], &ub[1])
	for k := range 2 {
		if fmt.Sprintf("%s", ua[k]) != id || us[k] != id || string(ub[k]) != id {
			t.Errorf("a UUID came back as %s, %s, %s", ua[k], us[k], ub[k])
		}
	}
	// Documents come as they are written on the server.
	var doc, same string
	var raw json.RawMessage
	if err := db.QueryRow("select failure_domain from _pico_instance where name = 'i1'").Scan(&doc); err != nil {
		t.Error(err)
	}
	if err := db.QueryRow("select failure_domain from _pico_instance where name = $1", "i1").Scan(&same); err != nil {
		t.Error(err)
	}
	if err := db.QueryRow("select distribution from _pico_table where name = 's'").Scan((*[]byte)(&raw)); err != nil || !json.Valid(raw) {
		t.Errorf("%s, %v", raw, err)
	}
	if doc != same || !json.Valid([]byte(doc)) {
		t.Errorf("documents: text %q, binary %q", doc, same)
	}
	// What nobody can represent is an error, not another number.
	if _, err := db.Exec("insert into s (id, n) values ($1, $2)", 50, uint64(math.MaxUint64)); err == nil {
		t.Error("18446744073709551615 was accepted as an argument")
	}
	for _, v := range []float64{math.Inf(1), math.Inf(-1)} {
		mustExec(t, db, "insert into s (id, f) values ($1, $2) on conflict do replace", 60, v)
		var g [2]float64
		read("f", 60, &g[0], &g[1])
		if g[0] != v || g[1] != v {
			t.Errorf("%v came back as %v", v, g)
		}
	}
	// The storage keeps no NaN: it would become NULL.
	var guard *picodata.GuardError
	if _, err := db.Exec("insert into s (id, f) values ($1, $2) on conflict do replace", 61, math.NaN()); !errors.As(err, &guard) {
		t.Errorf("NaN: %v", err)
	}
	var small int8
	if err := db.QueryRow("select 300 + $1::int", 0).Scan(&small); err == nil {
		t.Errorf("300 fits into an int8: %d", small)
	}
}
