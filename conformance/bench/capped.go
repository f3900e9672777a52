package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
)

// cappedCase is one row of what a cap for the cluster costs: the same work without a cap and with one of twelve.
type cappedCase struct {
	name    string
	workers int
	key     []options.Option
	// straight is how many statements went where they should.
	straight func(s picodata.Stats) uint64
	work     func(ctx context.Context, db *sql.DB, n int64) error
}

const cap12 = 12

// straightTo counts the leases of the nodes that a test is for.
func straightTo(names ...string) func(picodata.Stats) uint64 {
	return func(s picodata.Stats) (n uint64) {
		for _, x := range s.Nodes {
			for _, name := range names {
				if x.Name == name {
					n += x.Leases
				}
			}
		}
		return n
	}
}

func keyed(ctx context.Context, db *sql.DB, n int64) error {
	_, err := db.ExecContext(ctx, "INSERT INTO capped VALUES ($1, $2) ON CONFLICT DO REPLACE", n%997, n)
	return err
}

func read(ctx context.Context, db *sql.DB, _ int64) error {
	var one int
	return db.QueryRowContext(ctx, "SELECT 1").Scan(&one)
}

func hinted(hint func(context.Context) context.Context) func(context.Context, *sql.DB, int64) error {
	return func(ctx context.Context, db *sql.DB, n int64) error { return read(hint(ctx), db, n) }
}

func cappedCases() []cappedCase {
	routed := func(s picodata.Stats) uint64 { return s.Routing["routed"] }
	toI1 := hinted(func(ctx context.Context) context.Context { return picodata.ToInstance(ctx, "i1") })
	leaders := straightTo("i1", "i3", "i5")
	return []cappedCase{
		{"keyed INSERTs, 12 workers", 12, nil, routed, keyed},
		{"the same, routing_acquire_timeout=100ms", 12, []options.Option{options.WithRoutingAcquireTimeout(100 * time.Millisecond)}, routed, keyed},
		{"ToLeader, 16 workers", 16, nil, leaders, hinted(picodata.ToLeader)},
		{"ToReplicaset, 16 workers", 16, nil, straightTo("i1", "i2"),
			hinted(func(ctx context.Context) context.Context { return picodata.ToReplicaset(ctx, "default_1") })},
		{"shard_0 for all, 16 workers", 16, []options.Option{options.WithNoShard(options.NoShard{Behavior: options.NoShardN}), options.WithNoShardScope(options.NoShardAll)}, straightTo("i1", "i2"), read},
		{"one node, 11 workers", 11, nil, straightTo("i1"), toI1},
		{"one node, 12 workers", 12, nil, straightTo("i1"), toI1},
		{"one node, 24 workers", 24, nil, straightTo("i1"), toI1},
		{"priorities, 12 workers", 12, []options.Option{options.WithNodePriorities(
			options.NodeRule{Selector: "i1", Value: 1}, options.NodeRule{Selector: "i3", Value: 1}, options.NodeRule{Selector: "i5", Value: 1})}, leaders, read},
	}
}

// capped prints the table of docs/benchmarks.md. Each case begins with two connections to every node, so that demand has to
// shift first; d is how long each is measured after that.
func capped(out io.Writer, d time.Duration, only string) error {
	cluster, cfg, err := simulate(3, 2)
	if err != nil {
		return err
	}
	defer cluster.Close()
	fmt.Fprintf(out, "| case | straight, no cap | straight, cap %d | throughput, cap : none | dials to shift | dials a second then |\n| --- | ---: | ---: | ---: | ---: | ---: |\n", cap12)
	for _, c := range cappedCases() {
		if !strings.Contains(c.name, only) {
			continue
		}
		// In turns, so that a slow moment of the machine hits both.
		var with, without cappedResult
		for range 3 {
			for _, r := range []struct {
				limit int
				sum   *cappedResult
			}{{0, &without}, {cap12, &with}} {
				one, err := runCapped(cfg, c, r.limit, d)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				r.sum.add(one)
			}
		}
		fmt.Fprintf(out, "| %s | %s | %s | %.2f | %d | %.1f |\n", c.name, without.share(), with.share(),
			float64(with.done)/float64(max(without.done, 1)), with.shift/3, float64(with.dials)/(3*d.Seconds()))
	}
	return nil
}

type cappedResult struct{ done, straight, shift, dials uint64 }

func (r *cappedResult) add(o cappedResult) {
	r.done += o.done
	r.straight += o.straight
	r.shift += o.shift
	r.dials += o.dials
}

func (r *cappedResult) share() string {
	return fmt.Sprintf("%.1f %%", 100*float64(r.straight)/float64(max(r.done, 1)))
}

// runCapped runs a case once.
func runCapped(cfg *options.Config, c cappedCase, limit int, d time.Duration) (r cappedResult, err error) {
	conn, db, shut, err := routed(cfg, append([]options.Option{options.WithMaxConns(limit)}, c.key...)...)
	if err != nil {
		return r, err
	}
	defer shut()
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS capped (id INT PRIMARY KEY, n INT) DISTRIBUTED BY (id)"); err != nil {
		return r, err
	}
	if err := warmCapped(ctx, db); err != nil {
		return r, err
	}
	var next, done atomic.Int64
	stop := make(chan struct{})
	var group sync.WaitGroup
	var failed atomic.Pointer[error]
	for range c.workers {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := c.work(ctx, db, next.Add(1)); err != nil {
					failed.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	before := conn.Stats()
	time.Sleep(time.Second)
	middle, begun := conn.Stats(), done.Load()
	time.Sleep(d)
	after := conn.Stats()
	r.done = uint64(done.Load() - begun)
	close(stop)
	group.Wait()
	if e := failed.Load(); e != nil {
		return r, *e
	}
	r.shift = middle.Total.Dials - before.Total.Dials
	r.dials = after.Total.Dials - middle.Total.Dials
	r.straight = min(c.straight(after)-c.straight(middle), r.done)
	return r, nil
}

// warmCapped opens two connections to every node.
func warmCapped(ctx context.Context, db *sql.DB) error {
	for i := range 6 {
		for range 2 {
			c, err := db.Conn(ctx)
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.PingContext(picodata.ToInstance(ctx, fmt.Sprintf("i%d", i+1))); err != nil {
				return err
			}
		}
	}
	return nil
}
