package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/conformance/internal/account"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// Config describes a run.
type Config struct {
	Seed    uint64        // decides the faults, and what the workers do
	For     time.Duration // how long faults are made
	Workers int           // 0 = 64
	Log     io.Writer     // gets a line per fault; nil = none
}

// Report is what a run found.
type Report struct {
	Summary string
	Wrong   []string // the first things that are wrong
	Wrongs  int      // all of them
}

// scale shrinks the server's own times: half a minute until a dead leader is replaced becomes 300 ms.
const scale = 0.01

// Run runs the driver against a cluster that breaks, and says what was wrong.
func Run(cfg Config) (*Report, error) {
	if cfg.Workers == 0 {
		cfg.Workers = 64
	}
	c, err := picotest.New(picotest.Config{
		Scale: scale, Seed: cfg.Seed, Statements: -1,
		Tiers: []picotest.Tier{{Name: "default", Replicasets: 3, ReplicationFactor: 2}},
	})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, text := range []string{
		"create table ledger (id int primary key, v text)",
		"create table counters (id int primary key, n int)",
		"create table quotes (id int primary key, n int, s text)",
	} {
		if err := c.Exec(text); err != nil {
			return nil, err
		}
	}
	for i := range counters {
		if err := c.Exec(fmt.Sprintf("insert into counters values (%d, 0)", i)); err != nil {
			return nil, err
		}
	}
	for i, k := range quoteKeys {
		said := "0"
		if i%2 == 1 {
			said = strings.ReplaceAll(hostile[i/2], "'", "''")
		}
		if err := c.Exec(fmt.Sprintf("insert into quotes values (%d, 0, '%s')", k, said)); err != nil {
			return nil, err
		}
	}
	dsn, err := picodata.ParseDSN(c.AdminDSN())
	if err != nil {
		return nil, err
	}
	conn, err := picodata.NewConnector(dsn,
		options.WithConnectTimeout(300*time.Millisecond),
		options.WithTopologyUpdateInterval(100*time.Millisecond),
		options.WithEjectionDuration(50*time.Millisecond),
		options.WithEjectionMaxDuration(500*time.Millisecond),
		options.WithDrainTimeout(500*time.Millisecond),
		options.WithStuckStatementTimeout(time.Second),
		options.WithMaxRetries(20), // more than the faults that one statement can meet in a row
		options.WithStatementCacheThreshold(2),
		options.WithStatementCacheSize(4),
	)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(conn)
	db.SetMaxIdleConns(cfg.Workers)
	l := newLedger()
	b := &breaker{c: c}
	for _, n := range c.Nodes() {
		b.names = append(b.names, n.Name())
	}
	if err := run(cfg, db, l, b); err != nil {
		return nil, err
	}
	settle(c, l)
	stats := conn.Stats()
	inspect(c, conn, db, l)
	return report(cfg, l, b, &stats), nil
}

// betweenFaults is how many statements succeed between two faults at least. The driver runs one statement in
// ten again, and on a machine that is slow, or under the race detector, more faults than that would only show
// that this bound holds.
const betweenFaults = 64

// run lets the workers work while faults are made.
func run(cfg Config, db *sql.DB, l *ledger, b *breaker) error {
	begun := time.Now()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	read, err := db.PrepareContext(ctx, "select id, v from ledger where id = $1")
	if err != nil {
		return err
	}
	insert, err := db.PrepareContext(ctx, "insert into ledger values ($1, $2)")
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	for id := range cfg.Workers {
		w := &worker{id: id + 1, db: db, l: l, rnd: rand.New(rand.NewPCG(cfg.Seed, uint64(id)+1)), read: read, insert: insert}
		group.Go(func() { w.work(ctx) })
	}
	steps := schedule(cfg.Seed, cfg.For)
	var due int64
	for time.Since(begun) < cfg.For {
		now := time.Since(begun)
		b.due(now, false)
		if len(steps) > 0 && steps[0].at <= now && l.succeeded.Load() >= due && b.may(steps[0], now) {
			s := steps[0]
			steps = steps[1:]
			s.at = now
			if cfg.Log != nil {
				fmt.Fprintln(cfg.Log, s)
			}
			b.make(s)
			due = l.succeeded.Load() + betweenFaults
		}
		time.Sleep(time.Millisecond)
	}
	b.due(0, true)
	b.sending.Wait()
	stop()
	group.Wait()
	_ = read.Close()
	_ = insert.Close()
	return nil
}

// settle reads what the cluster holds, past the driver.
func settle(c *picotest.Cluster, l *ledger) {
	rows := map[int]int{}
	counts := map[int]int{}
	ask := func(text string, f func(row []any)) {
		var all [][]any
		var err error
		for range 100 { // the last instances may be on their way back
			if all, err = c.Query(text + " option (sql_motion_row_max = 0, sql_vdbe_opcode_max = 0)"); err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err != nil {
			l.report("%s: %v", text, err)
		}
		for _, row := range all {
			f(row)
		}
	}
	number := func(v any) int {
		n, err := strconv.Atoi(fmt.Sprint(v))
		if err != nil {
			l.report("%v is no number", v)
		}
		return n
	}
	ask("select id, v from ledger", func(row []any) {
		k := number(row[0])
		rows[k]++
		if fmt.Sprint(row[1]) != value(k) {
			l.report("key %d holds %v", k, row[1])
		}
	})
	ask("select id, n from counters", func(row []any) { counts[number(row[0])] = number(row[1]) })
	ask("select id, n from quotes", func(row []any) { counts[number(row[0])] = number(row[1]) })
	l.settle(rows, counts)
}

// inspect looks for what is left over.
func inspect(c *picotest.Cluster, conn *picodata.Connector, db *sql.DB, l *ledger) {
	if s := conn.Stats().Total; s.InUse != 0 || s.Waiters != 0 {
		l.report("when all workers were done: %d leases, %d waiters", s.InUse, s.Waiters)
	}
	if err := db.Close(); err != nil {
		l.report("Close: %v", err)
	}
	if s := conn.Stats().Total; s.InUse+s.Idle+s.Dialing+s.Draining+s.Waiters != 0 {
		l.report("after Close: %+v", s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, n := range c.Nodes() {
		if err := c.WaitConnections(ctx, n.Name(), 0); err != nil {
			l.report("after Close: %v", err)
		}
	}
}

func report(cfg Config, l *ledger, b *breaker, s *picodata.Stats) *Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	var kinds []string
	for k, n := range l.errs {
		kinds = append(kinds, fmt.Sprintf("%s %d", k, n))
	}
	slices.Sort(kinds)
	ack, doubt, no := 0, 0, 0
	for _, v := range l.rows {
		switch v {
		case account.Acknowledged:
			ack++
		case account.InDoubt:
			doubt++
		default:
			no++
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "seed %d, %v, %d workers\n", cfg.Seed, cfg.For, cfg.Workers)
	fmt.Fprintf(&out, "statements: %d (%d reads, %d writes; %d with contexts that end at random)\n", l.statements.Load(), l.reads.Load(), l.writes.Load(), l.cancelled.Load())
	fmt.Fprintf(&out, "rows: %d acknowledged, %d in doubt, %d refused\n", ack, doubt, no)
	fmt.Fprintf(&out, "the driver: %d statements run again, %d of them woken after a leader's change, %d retries left out; %d dials, %d ejections\n",
		s.Statements.Retries, s.Statements.Revived, s.Statements.BudgetSpent, s.Total.Dials, s.Total.Ejections)
	fmt.Fprintf(&out, "faults: %s\n", b.summary())
	fmt.Fprintf(&out, "errors: %s\n", strings.Join(kinds, ", "))
	fmt.Fprintf(&out, "longest time without a success: %v, until %v\n", l.gap.Round(time.Millisecond), l.gapAt.Sub(l.begun).Round(time.Millisecond))
	fmt.Fprintf(&out, "wrong: %d", l.wrongs)
	return &Report{Summary: out.String(), Wrong: l.wrong, Wrongs: l.wrongs}
}
