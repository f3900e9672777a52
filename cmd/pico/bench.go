package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata/options"
)

// bench are the settings of one pico bench.
type bench struct {
	t    *tool
	cfg  *options.Config
	load load

	mix     string
	rows    int64
	payload int
	tier    string

	file string   // of own statements
	sql  string   // the one own statement
	args []string // its arguments
	yes  bool

	json bool
	html string
	wait time.Duration

	in        io.Reader
	out, diag io.Writer
}

// newBench is pico bench.
func (t *tool) newBench() *cobra.Command {
	var g target
	b := &bench{t: t}
	cmd := &cobra.Command{
		Use:   "bench [DSN]",
		Short: "Measure latency and throughput, the share of each node, and the events of the cluster meanwhile",
		Long: `Measure latency and throughput, the share of each node, and the events of the cluster meanwhile.

Without own statements a table ` + ownTable + `… with a random name is made, filled, used and
dropped again, also after an interrupt; no other table is touched. The user needs the right to
create tables. --mix gives the share of each kind of statement: insert, read (by key), update,
delete, count (over all replicasets), one (SELECT 1).

Own statements come from --sql with --arg for each parameter, or from a YAML file with
--statements. Arguments: ` + generatorForms + `.
If one of them may write you are asked first; --yes answers.

With --rate the latency of a statement counts from when it was due, also if all workers were
busy then: otherwise a cluster that stands still would look fast.

Exit codes: 0 all statements succeeded; 1 the run failed; 2 wrong usage; 4 statements failed.`,
		Example: `  pico bench 'picodata://app@node-a,node-b/?max_conns_per_instance=20' --workers 16 --duration 30s
  pico bench --mix read=50,insert=50 --rate 2000 --html report.html
  pico bench --sql 'SELECT * FROM orders WHERE id = $1' --arg '{int 1..100000}'
  pico bench --statements shop.yaml --yes --json`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := b.validate(); err != nil {
				return err
			}
			var err error
			if b.cfg, err = t.chooseOnly(&g, args); err != nil {
				return err
			}
			if cmd.Flags().Changed("count") && !cmd.Flags().Changed("duration") {
				b.load.duration = 0
			}
			b.wait = g.wait
			b.in, b.out, b.diag = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return b.run(cmd.Context())
		},
	}
	g.flags(cmd, 30*time.Second, "how long to wait for the cluster, and to make or drop the table")
	f := cmd.Flags()
	f.IntVarP(&b.load.workers, "workers", "w", 8, "how many statements may be under way at the same time")
	f.Float64Var(&b.load.rate, "rate", 0, "statements a second of all workers together; 0: as fast as they can")
	f.DurationVarP(&b.load.duration, "duration", "d", 10*time.Second, "how long to measure")
	f.Int64Var(&b.load.count, "count", 0, "end after so many statements; alone it takes the place of --duration")
	f.DurationVar(&b.load.limit, "statement-timeout", 10*time.Second, "the limit of one statement")
	f.Uint64Var(&b.load.seed, "seed", 1, "of the random choices: the same seed makes the same statements")
	f.StringVar(&b.mix, "mix", "read=80,insert=15,update=5", "shares of the default statements, KIND=WEIGHT,…")
	f.Int64Var(&b.rows, "rows", 1000, "rows to begin with")
	f.IntVar(&b.payload, "payload", 100, "length of the text in each row")
	f.StringVar(&b.tier, "tier", "", "make the table in that tier; default the cluster's default tier")
	f.StringVar(&b.sql, "sql", "", "an own statement")
	f.StringArrayVar(&b.args, "arg", nil, "an argument of --sql; once per parameter")
	f.StringVar(&b.file, "statements", "", "a YAML file of own statements: a list of {name, weight, sql, args}")
	f.BoolVarP(&b.yes, "yes", "y", false, "run own statements that may write without asking")
	f.BoolVar(&b.json, "json", false, "print the result as JSON")
	f.StringVar(&b.html, "html", "", "write a report to that file: one page that needs nothing else")
	cmd.MarkFlagsMutuallyExclusive("sql", "statements")
	for _, own := range []string{"sql", "statements"} {
		for _, table := range []string{"mix", "rows", "payload", "tier"} {
			cmd.MarkFlagsMutuallyExclusive(own, table)
		}
	}
	return cmd
}

// validate refuses what is wrong whatever the cluster.
func (b *bench) validate() error {
	if err := b.load.validate(); err != nil {
		return &usageError{err}
	}
	if b.file != "" || b.sql != "" {
		return nil
	}
	_, err := mixed(b.mix, kinds(ownTable, new(atomic.Int64), 0))
	return err
}

// run does the whole thing.
func (b *bench) run(ctx context.Context) (err error) {
	own, err := b.ownStatements()
	if err != nil {
		return err
	}
	if b.html != "" {
		// Before the work, so that a wrong path costs nothing.
		f, err := os.OpenFile(b.html, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	var current atomic.Pointer[recorder]
	c, err := b.t.open(b.cfg, options.WithTracers(benchTracer{current.Load}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	c.db.SetMaxIdleConns(b.load.workers)
	start, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	if err := c.db.PingContext(start); err != nil {
		return err
	}
	list := own
	if own == nil {
		table, err := b.makeTable(start, c)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.dropTable(ctx, c, table)) }()
		var last atomic.Int64
		known := kinds(table, &last, b.payload)
		if list, err = mixed(b.mix, known); err != nil {
			return err
		}
		if err := fill(ctx, c.db, known["insert"], b.rows, &b.load); err != nil {
			return err
		}
	}
	rec := newRecorder(time.Now(), b.interval())
	current.Store(rec)
	c.log.onEvent(rec.heard)
	before := c.Stats()
	stop := b.showProgress(rec)
	b.load.run(ctx, c.db, list, rec)
	took := time.Since(rec.began)
	stop()
	current.Store(nil)
	c.log.onEvent(nil)
	return b.report(rec.result(b, c, list, before, took))
}

// interval is the width of a step in the charts.
func (b *bench) interval() time.Duration {
	if b.load.duration == 0 {
		return 100 * time.Millisecond // doubled whenever a run turns out to be long
	}
	return max(b.load.duration/100, 10*time.Millisecond)
}

// ownStatements are those of the flags, nil if there are none. Before statements that may write it asks.
func (b *bench) ownStatements() ([]statement, error) {
	var list []statement
	switch {
	case b.file != "":
		var err error
		if list, err = readStatements(b.file); err != nil {
			return nil, err
		}
	case b.sql != "":
		s, err := (&ownStatement{Name: "statement", SQL: b.sql, Args: b.args}).statement()
		if err != nil {
			return nil, &usageError{fmt.Errorf("--sql: %w", err)}
		}
		list = append(list, s)
	case len(b.args) > 0:
		return nil, &usageError{errors.New("--arg without --sql")}
	default:
		return nil, nil
	}
	var writes []string
	for i := range list {
		if !list[i].plainRead() {
			writes = append(writes, list[i].sql)
		}
	}
	if len(writes) == 0 || b.yes {
		return list, nil
	}
	return list, b.ask(writes)
}

// ask asks whether statements that may write are to be run, many times over.
func (b *bench) ask(writes []string) error {
	fmt.Fprintf(b.diag, "These statements may change data, and will run many times in %s:\n", b.cfg.RedactedDSN())
	for _, w := range writes {
		fmt.Fprintf(b.diag, "  %s\n", w)
	}
	fmt.Fprint(b.diag, "Go on? [y/N] ")
	answer, err := bufio.NewReader(b.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	fmt.Fprintln(b.diag)
	return errors.New("nothing was run; --yes answers the question")
}

// makeTable makes the run's own table and returns its name.
func (b *bench) makeTable(ctx context.Context, c *client) (string, error) {
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	table := ownTable + hex.EncodeToString(random[:])
	create := "CREATE TABLE " + table + " (id INTEGER NOT NULL, n INTEGER, payload TEXT, PRIMARY KEY (id)) DISTRIBUTED BY (id)"
	if b.tier != "" {
		create += ` IN TIER "` + strings.ReplaceAll(b.tier, `"`, `""`) + `"`
	}
	fmt.Fprintln(b.diag, "Table:", table)
	if _, err := c.db.ExecContext(ctx, create); err != nil {
		return "", fmt.Errorf("making the table %s: %w", table, err)
	}
	return table, nil
}

// dropTable drops it, also when the run was interrupted.
func (b *bench) dropTable(ctx context.Context, c *client, table string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.wait)
	defer cancel()
	if _, err := c.db.ExecContext(ctx, "DROP TABLE "+table); err != nil {
		return fmt.Errorf("the table is still there, drop it with DROP TABLE %s: %w", table, err)
	}
	return nil
}
