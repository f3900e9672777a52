package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// startBatches opens a cluster of two replicasets with a table of 100 rows, warm.
func startBatches(t *testing.T, opts ...options.Option) (*picotest.Cluster, *sql.DB, *picodata.Connector) {
	t.Helper()
	two := picotest.Config{Statements: 20_000, Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 2}}}
	c, db, conn := startDB(t, two, append([]options.Option{options.WithRouting(options.RoutingKeys)}, opts...)...)
	mustExec(t, db, "create table items (id int primary key, name text, price double)")
	untilRouted(t, conn, "select name from items where id = $1", 1)
	b := picodata.NewBatch()
	for i := range 100 {
		b.Queue("insert into items values ($1, $2, $3)", i, fmt.Sprint("item ", i), float64(i)+0.5)
	}
	if b.Len() != 100 {
		t.Errorf("%d statements of 100", b.Len())
	}
	if err := b.Run(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return c, db, conn
}

// untilRouted waits until the driver knows the table of a statement.
func untilRouted(t *testing.T, conn *picodata.Connector, query string, args ...any) {
	t.Helper()
	untilPlanned(t, conn, "routed", query, args...)
}

// untilPlanned waits until a statement's plan has the reason.
func untilPlanned(t *testing.T, conn *picodata.Connector, reason, query string, args ...any) {
	t.Helper()
	for range 10_000 {
		p, err := conn.Explain(t.Context(), query, args...)
		if err != nil {
			t.Fatal(err)
		}
		if p.Reason == reason {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("never %s: %s", reason, query)
}

// flights counts the flights of the connections that users' statements went over; the topology is read over others, at any time.
func flights(c *picotest.Cluster) int {
	type id struct {
		node string
		conn uint64
	}
	users := map[id]bool{}
	for _, s := range c.Statements(picotest.UserTables()) {
		users[id{s.Node, s.Conn}] = true
	}
	n := 0
	for _, node := range c.Nodes() {
		for _, conn := range node.Conns() {
			if users[id{node.Name(), conn.ID}] {
				n += conn.Counters.Flights
			}
		}
	}
	return n
}

// A batch of a hundred keyed reads over two replicasets is two flights, and each has its own answer.
func TestBatchIsOneFlightANode(t *testing.T) {
	c, db, _ := startBatches(t, options.WithTopologyUpdateInterval(time.Hour))
	read := func() []*picodata.BatchItem {
		b := picodata.NewBatch()
		for i := range 100 {
			b.Queue("select name, price from items where id = $1", i)
		}
		if err := b.Run(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		return b.Items()
	}
	read()
	before := flights(c)
	items := read()
	if got := flights(c) - before; got != 2 {
		t.Errorf("%d flights, want 2", got)
	}
	nodes := map[string]int{}
	for i, it := range items {
		var name string
		var price float64
		if err := it.Scan(&name, &price); err != nil || name != fmt.Sprint("item ", i) || price != float64(i)+0.5 {
			t.Fatalf("%d: %q, %v, %v", i, name, price, err)
		}
		nodes[it.Node().Name]++
	}
	if len(nodes) != 2 {
		t.Errorf("nodes: %v", nodes)
	}
	for _, s := range c.Statements(picotest.SQL("select name")) {
		if s.Hops != 0 {
			t.Fatalf("forwarded: %+v", s)
		}
	}
}

// An error stays its own statement's; rows are read as those of a query are.
func TestBatchAnswers(t *testing.T) {
	_, db, _ := startBatches(t)
	type item struct {
		ID    int64
		Name  string
		Price sql.NullFloat64
	}
	b := picodata.NewBatch()
	dup := b.Queue("insert into items values ($1, 'again', 1.5)", 7)
	good := b.Queue("insert into items values ($1, 'new', null)", 1000)
	bad := b.Queue("select nothing from items")
	named := b.Queue("select 1", sql.Named("x", 1))
	many := b.Queue("select id, name, price from items where id >= $1 and id < 200", 98)
	none := b.Queue("select id from items where id = $1", -1)
	upd := b.Queue("update items set price = 2.5 where id = $1", 3)
	if err := good.Err(); !errors.Is(err, picodata.ErrBatchNotRun) {
		t.Error(err)
	}
	err := b.Run(t.Context(), db)
	var be *picodata.BatchError
	if !errors.As(err, &be) || be.Failed != 3 || be.First != 0 || be.Statements != 7 || !picodata.IsUniqueViolation(err) {
		t.Fatalf("%v", err)
	}
	if !picodata.IsUniqueViolation(dup.Err()) || bad.Err() == nil || named.Err() == nil || !strings.Contains(named.Err().Error(), "named") {
		t.Errorf("%v, %v, %v", dup.Err(), bad.Err(), named.Err())
	}
	if good.Err() != nil || good.RowsAffected() != 1 || upd.RowsAffected() != 1 {
		t.Errorf("%v, %d, %d", good.Err(), good.RowsAffected(), upd.RowsAffected())
	}
	var id int
	if err := none.Scan(&id); err != sql.ErrNoRows {
		t.Error(err)
	}
	items, err := picodata.Collect[item](many.Rows())
	if err != nil || len(items) != 2 {
		t.Fatalf("%v, %v", items, err)
	}
	if rows, err := many.Rows(); err != nil {
		t.Fatal(err)
	} else {
		types, err := rows.ColumnTypes()
		if err != nil || types[0].DatabaseTypeName() != "INT8" || types[1].DatabaseTypeName() != "TEXT" {
			t.Errorf("%v, %v", types, err)
		}
		rows.Close()
	}
	if names, err := picodata.Collect[string](db.Query("select name from items where id = 5")); err != nil || len(names) != 1 || names[0] != "item 5" {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := picodata.Collect[int](many.Rows()); err == nil {
		t.Error("three columns into an int")
	}
	if err := b.Run(t.Context(), db); err == nil {
		t.Error("a batch ran twice")
	}
	if err := picodata.NewBatch().Run(t.Context(), db); err != nil {
		t.Error(err)
	}
}

// A node dies under a batch: its reads run again elsewhere, its writes are told as unknown, and the statements
// of other nodes don't hear of it.
func TestBatchLosesANode(t *testing.T) {
	c, db, _ := startBatches(t)
	victim := c.Leader("default_1")
	fail := victim.CloseAfter(picotest.BeforeAnswer(), picotest.SQL("items")).Times(1)
	b := picodata.NewBatch()
	for i := range 50 {
		b.Queue("select name from items where id = $1", i)
	}
	if err := b.Run(t.Context(), db); err != nil || fail.Count() != 1 {
		t.Fatalf("%v, %d", err, fail.Count())
	}
	fail = victim.CloseAfter(picotest.BeforeAnswer(), picotest.SQL("update items")).Times(1)
	b = picodata.NewBatch()
	for i := range 50 {
		b.Queue("update items set price = price + 1 where id = $1", i)
	}
	err := b.Run(t.Context(), db)
	if err == nil || fail.Count() != 1 {
		t.Fatalf("%v, %d", err, fail.Count())
	}
	unknown, mine := 0, 0
	for i, it := range b.Items() {
		owner := it.Node().Name
		if owner == victim.Name() {
			owner = "default_1"
		}
		switch {
		case owner == "default_1":
			mine++
			if picodata.IsOutcomeUnknown(it.Err()) {
				unknown++
			}
		case it.Err() != nil:
			t.Errorf("%d of %s: %v", i, owner, it.Err())
		}
	}
	if mine == 0 || unknown != mine {
		t.Errorf("%d of %d unknown", unknown, mine)
	}
}

// A switchover refuses writes that prove not to have run: they run again, each once.
func TestBatchOverASwitchover(t *testing.T) {
	c, db, _ := startBatches(t)
	old := c.Leader("default_1").Name()
	for _, n := range c.Nodes() {
		if n.Replicaset() == "default_1" && n.Name() != old {
			c.SwitchLeader("default_1", n.Name())
			break
		}
	}
	b := picodata.NewBatch()
	for i := range 100 {
		b.Queue("update items set price = price + 1 where id = $1", i)
	}
	if err := b.Run(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	var sum float64
	if err := db.QueryRow("select sum(price) from items").Scan(&sum); err != nil || sum != 4950+50+100 {
		t.Errorf("%v, %v", sum, err)
	}
}

// The context ends a batch: what was not sent says so.
func TestBatchContextEnds(t *testing.T) {
	c, db, _ := startBatches(t)
	ctx, cancel := context.WithCancel(t.Context())
	hold := c.Hold(picotest.SQL("update items"))
	defer hold.ReleaseAll()
	done := make(chan error)
	b := picodata.NewBatch()
	for i := range 10 {
		b.Queue("update items set price = 0.5 where id = $1", i)
	}
	go func() { done <- b.Run(ctx, db) }()
	bounded, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	if err := hold.Wait(bounded, 2); err != nil {
		t.Fatal(err)
	}
	cancel()
	err := <-done
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for i, it := range b.Items() {
		if !picodata.IsOutcomeUnknown(it.Err()) {
			t.Errorf("%d: %v", i, it.Err())
		}
	}
}
