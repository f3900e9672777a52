// Command ledger breaks a cluster under load and keeps a book of what the driver said about each statement. Then it reads the
// tables and compares.
//
//	go run ./ledger
//	go run ./ledger -dsn picodata://admin:…@node-a,node-b/ -kill 'ssh {instance} systemctl kill -s KILL picodata' \
//	    -start 'ssh {instance} systemctl start picodata' -events kill-leader,kill-replica
//
// Without -dsn it simulates a cluster of its own and breaks that. Of a real one, commands say how an instance is stopped,
// killed, frozen, thawed and started; {instance} and {replicaset} stand for names. Each returns when it's done. A
// switchover is asked for in SQL unless a command does it. Events whose commands are missing are left out.
//
// Workers, 16 of them, run 13 kinds of statement: by key, over all buckets, at replicas, on global tables, in a
// Tx, prepared, in a Batch, by Insert. What the report says of each kind:
//
//   - acknowledged, definite failures (it didn't run), unknown: what the driver said of calls;
//   - doubled: rows that are there twice, increments too many, a duplicate key of a row that nobody else has;
//   - lost: acknowledged, and not there. A server that stops loses some by itself, see docs/failure.md;
//   - lied: refused, and there; or a read that gave another row than it was asked for;
//   - slowest: the longest call; elsewhere: of those that needed no replicaset that the event hurts.
//
// It ends with 1 if anything was doubled or lied about, with -lost also if anything was lost.
//
// It makes the tables ledger_rows, ledger_counters and ledger_globals anew for each event, and drops them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := ledger(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "ledger:", err)
		}
		stop()
		os.Exit(1)
	}
}

// ledger is the program.
func ledger(ctx context.Context, args []string, out, log io.Writer) (err error) {
	cfg := config{log: log}
	var (
		stop, kill, freeze, thaw, start, move, format string
		scale                                         float64
		lost                                          bool
	)
	f := flag.NewFlagSet("ledger", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&cfg.dsn, "dsn", "", "the cluster; \"\" = a simulated one")
	f.StringVar(&cfg.adminDSN, "admin-dsn", "", "for tables, system tables and switchovers; \"\" = -dsn")
	f.StringVar(&stop, "stop", "", "a command that stops {instance} as an operator does")
	f.StringVar(&kill, "kill", "", "a command that kills {instance}")
	f.StringVar(&freeze, "freeze", "", "a command that freezes {instance}: kill -STOP")
	f.StringVar(&thaw, "thaw", "", "a command that ends -freeze: kill -CONT")
	f.StringVar(&start, "start", "", "a command that starts {instance}")
	f.StringVar(&move, "switchover", "", "a command that makes {instance} lead {replicaset}; \"\" = SQL")
	list := f.String("events", strings.Join(names(), ","), "what happens, in this order")
	f.IntVar(&cfg.workers, "workers", 16, "how many; of the first kinds, each worker beyond 13 keeps to one half of the replicasets")
	f.DurationVar(&cfg.limit, "timeout", 40*time.Second, "of each statement")
	f.DurationVar(&cfg.pause, "pause", 10*time.Millisecond, "between two statements of a worker")
	f.DurationVar(&cfg.before, "before", 2*time.Second, "load before each event")
	f.DurationVar(&cfg.after, "after", 3*time.Second, "load after each event")
	f.DurationVar(&cfg.patience, "patience", 3*time.Minute, "until the cluster must be healthy again")
	f.Float64Var(&scale, "scale", 0.1, "of a simulated cluster's own times: 1 = half a minute until a dead leader is replaced")
	f.StringVar(&format, "format", "text", "of the tables: text or markdown")
	f.BoolVar(&lost, "lost", false, "end with 1 if something was lost, too")
	if err := f.Parse(args); err != nil {
		return err
	}
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("want flags alone, have %q", f.Args())
	case format != "text" && format != "markdown":
		return fmt.Errorf("-format %s: want text or markdown", format)
	case cfg.workers < 1, scale <= 0:
		return errors.New("-workers and -scale: want more than 0")
	}
	chosen, err := choose(*list, names())
	if err != nil {
		return err
	}
	cfg.hooks = hooks{stop: onInstance(stop), kill: onInstance(kill), freeze: onInstance(freeze), thaw: onInstance(thaw), start: onInstance(start), switchover: command(move)}
	if cfg.dsn == "" {
		c, err := picotest.New(picotest.Config{Scale: scale, Statements: -1})
		if err != nil {
			return err
		}
		defer c.Close()
		cfg.dsn, cfg.hooks = c.AdminDSN(), simulated(c)
	}
	return report(ctx, cfg, chosen, out, format == "markdown", lost)
}

// names are those of the events.
func names() (list []string) {
	for _, e := range events {
		list = append(list, e.name)
	}
	return list
}

// choose finds events by their names.
func choose(list string, names []string) (chosen []event, err error) {
	for _, name := range strings.Split(list, ",") {
		i := slices.Index(names, strings.TrimSpace(name))
		if i < 0 {
			return nil, fmt.Errorf("-events %s: want some of %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, events[i])
	}
	return chosen, nil
}

// report runs events, and prints what each came to and all of them together.
func report(ctx context.Context, cfg config, chosen []event, out io.Writer, markdown, lost bool) (err error) {
	r, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	var results []*result
	var sums []*line
	for _, e := range chosen {
		if !e.needs(r.hooks) {
			fmt.Fprintf(out, "%s is left out: nothing says how\n", e.name)
			continue
		}
		res, err := r.event(ctx, e)
		if err != nil {
			return err
		}
		if err := res.print(out, markdown); err != nil {
			return err
		}
		results, sums = append(results, res), append(sums, res.sum())
	}
	fmt.Fprintln(out)
	if err := table(out, "event", sums, markdown); err != nil {
		return err
	}
	if n := wrong(results, lost); n > 0 {
		return fmt.Errorf("%d things are wrong", n)
	}
	return nil
}
