package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// The scenarios of statements without a shard: rows NS1, NS3, NS5 and NS6.

// twoRows belongs to no single shard that anybody could tell: an INSERT of two rows, one of them without parameters.
const twoRows = "insert into t values ($1), (2) on conflict do nothing"

// threeShards has replicasets of one, two and three nodes, so that choosing nodes isn't choosing replicasets.
func threeShards(t *testing.T, opts ...options.Option) *routed {
	t.Helper()
	cluster := picotest.Start(t, picotest.Config{Version: "26.2", Tiers: []picotest.Tier{{Name: "default", Replicasets: 3}}, Statements: 20_000})
	cluster.AddInstance("default_2")
	cluster.AddInstance("default_3")
	cluster.AddInstance("default_3")
	if err := cluster.Exec("create table t (id int primary key)"); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Exec("create table g (id int primary key) distributed globally"); err != nil {
		t.Fatal(err)
	}
	return openRouted(t, cluster, "app", opts...)
}

func noShard(b options.NoShardBehavior, shard int) options.Option {
	return options.WithNoShard(options.NoShard{Behavior: b, Shard: shard})
}

// NS1: 3000 unrouted statements, 1000±120 on each replicaset.
func TestNoShardRandom(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 600
	}
	for name, c := range map[string]struct {
		text string
		args []any
		opts []options.Option
	}{
		"bound": {twoRows, []any{1}, nil},
		"all":   {"select 1", nil, []options.Option{options.WithNoShardScope(options.NoShardAll)}},
	} {
		t.Run(name, func(t *testing.T) {
			r := threeShards(t, append(c.opts, noShard(options.NoShardRandom, 0))...)
			r.exec(c.text, c.args...) // after which the text is known not to be routable
			r.cluster.ResetCounters()
			for range n {
				r.exec(c.text, c.args...)
			}
			got := r.arrivals(c.text)
			for _, rs := range r.cluster.Replicasets() {
				if off := got[rs] - n/3; off > n*12/100 || off < -n*12/100 {
					t.Errorf("%v", got)
				}
			}
		})
	}
}

// NS3: A replicaset whose nodes refuse connections gets no statement after
// detection, nobody notices, and a statement that names it fails with an error that names it.
func TestNoShardRandomHealthy(t *testing.T) {
	r := threeShards(t, noShard(options.NoShardRandomHealthy, 0), options.WithTopologyUpdateInterval(time.Hour))
	for range 30 {
		r.exec(twoRows, 1)
	}
	down := r.cluster.Node("i1")
	down.Refuse()
	down.DropConnections()
	if err := r.cluster.WaitConnections(t.Context(), "i1", 0); err != nil {
		t.Fatal(err)
	}
	for range 30 { // detection; a write on a connection that just died is repeated with the caller's leave only
		if _, err := r.ExecContext(picodata.Idempotent(t.Context()), twoRows, 1); err != nil {
			t.Fatal(err)
		}
	}
	r.cluster.ResetCounters()
	r.workers(8, func(ctx context.Context, _ int) error {
		for range 300 / 8 {
			if _, err := r.ExecContext(ctx, twoRows, 1); err != nil {
				return err
			}
		}
		return nil
	})
	if got := r.arrivals(twoRows); got["default_1"] != 0 || got["default_2"] == 0 || got["default_3"] == 0 {
		t.Errorf("%v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := r.ExecContext(picodata.ToReplicaset(ctx, "default_1"), twoRows, 1)
	if err == nil || !strings.Contains(err.Error(), "default_1") && !strings.Contains(err.Error(), "i1") {
		t.Errorf("an explicit shard: %v", err)
	}
	if got := r.arrivals(twoRows); got["default_1"] != 0 || got["default_2"]+got["default_3"] != 8*(300/8) {
		t.Errorf("the explicit statement moved: %v", got)
	}
}

// With random_healthy: that no connection of a replicaset could be had counts against
// it like one that failed, whether the statement went elsewhere or not at all.
func TestNoShardRandomHealthyLeavesTheBusyAlone(t *testing.T) {
	r := threeShards(t, noShard(options.NoShardRandomHealthy, 0), options.WithAcquireTimeout(time.Second),
		options.WithNodeMaxConns(options.NodeRule{Selector: "i1", Value: 1}))
	r.exec(twoRows, 1)
	hold := r.cluster.Hold(picotest.SQL("select 'busy'"))
	held := make(chan error)
	go func() {
		var s string
		held <- r.QueryRowContext(picodata.ToInstance(t.Context(), "i1"), "select 'busy'").Scan(&s)
	}()
	if err := hold.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	const n = 120
	for range n { // a third of them would have been for default_1
		r.exec(twoRows, 1)
	}
	if busy := r.c.Stats().Routing["leader_busy"]; busy == 0 || busy > n/10 {
		t.Errorf("%d of %d were meant for a replicaset that has no room", busy, n)
	}
	_, err := r.ExecContext(picodata.ToReplicaset(t.Context(), "default_1"), twoRows, 1)
	var timeout *picodata.AcquireTimeoutError
	if !errors.As(err, &timeout) {
		t.Errorf("an explicit shard without room: %v", err)
	}
	hold.ReleaseAll()
	if err := <-held; err != nil {
		t.Error(err)
	}
}

// NS5, NS6: With shard_2 all go to that one of three, and routed statements are left alone.
func TestNoShardN(t *testing.T) {
	r := threeShards(t, noShard(options.NoShardN, 2))
	r.exec(twoRows, 1)
	r.cluster.ResetCounters()
	const one = "insert into t values ($1) on conflict do nothing"
	for i := range 60 {
		r.exec(twoRows, 1)
		r.exec(one, i)
		if _, err := r.ExecContext(t.Context(), "selec"); err == nil {
			t.Fatal("nonsense was executed")
		}
	}
	if got := r.arrivals(twoRows); got["default_3"] != 60 || len(got) != 1 {
		t.Errorf("%v", got)
	}
	if got := r.arrivals(one); len(got) != 3 {
		t.Errorf("routed statements: %v", got)
	}
	if n := r.c.Stats().Routing["routed"]; n < 59 {
		t.Errorf("%v", r.c.Stats().Routing)
	}
}

// NS5: With shard_9 there is a typed error at first use, for what it is for only.
func TestNoShardOutOfRange(t *testing.T) {
	r := threeShards(t, noShard(options.NoShardN, 9))
	r.exec("insert into g values (1)")
	if _, err := r.ExecContext(t.Context(), twoRows, 1); err != nil { // not known yet: by the policy
		t.Fatal(err)
	}
	_, err := r.ExecContext(t.Context(), twoRows, 1)
	var e *picodata.ShardRangeError
	if !errors.As(err, &e) || e.Shard != 9 || e.Have != 3 {
		t.Errorf("%v", err)
	}
}

// NS5: With fail there is ErrNoShard before anything of it is executed, after the text
// was parsed alone once.
func TestNoShardFail(t *testing.T) {
	r := threeShards(t, noShard(options.NoShardFail, 0))
	if err := r.PingContext(t.Context()); err != nil { // the topology's questions are bound, too
		t.Fatal(err)
	}
	r.cluster.ResetCounters()
	for range 3 {
		if _, err := r.ExecContext(t.Context(), twoRows, 1); !errors.Is(err, picodata.ErrNoShard) {
			t.Errorf("%v", err)
		}
	}
	if got := r.arrivals(twoRows); len(got) != 0 {
		t.Errorf("executed: %v", got)
	}
	if n := r.cluster.Counters().Received["B"]; n != 0 {
		t.Errorf("%d Binds", n)
	}
	// What has a shard, or none to have, runs, the first time included.
	r.cluster.ResetCounters()
	for id := range 5 {
		r.exec("insert into t values ($1)", id)
		r.exec("insert into g values ($1)", id)
		var one int
		if err := r.QueryRowContext(t.Context(), "select 1").Scan(&one); err != nil {
			t.Fatal(err)
		}
	}
	if stray, _ := r.stray(); len(stray) > 5 { // those on the global table
		t.Errorf("%d went astray: %+v", len(stray), stray)
	}
	if got := r.arrivals("insert into t values ($1)"); got["default_1"]+got["default_2"]+got["default_3"] != 5 {
		t.Errorf("%v", got)
	}
	// A hint helps.
	if _, err := r.ExecContext(picodata.ToReplicaset(t.Context(), "default_2"), twoRows, 11); err != nil {
		t.Error(err)
	}
}

// NS5: With foo there is an error when the database is opened.
func TestNoShardNonsense(t *testing.T) {
	_, err := sql.Open("picodata", "picodata://app@localhost/?no_shard_specified_behavior=foo")
	var e *picodata.ConfigError
	if !errors.As(err, &e) || e.Key != "no_shard_specified_behavior" {
		t.Errorf("%v", err)
	}
}
