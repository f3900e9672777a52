package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// The scenarios of routing: where INSERTs and statements with keys arrive, in a cluster that
// counts every hop from one instance to another.

// keyed is a table with a sharding key of some type, and random rows for it.
type keyed struct {
	name, create, insert string
	row                  func(*rand.Rand) []any
}

func keyedTables() []keyed {
	randomUUID := func(r *rand.Rand) uuid.UUID {
		var u uuid.UUID
		for i := range u {
			u[i] = byte(r.Uint32())
		}
		u[8] = u[8]&0x3f | 0x80 // others are refused, see uuid_guard
		return u
	}
	return []keyed{
		{"int", "id int primary key", "insert into %s values ($1) on conflict do nothing",
			func(r *rand.Rand) []any { return []any{int64(r.Uint64()) >> r.IntN(60)} }},
		{"text", "id text primary key", "insert into %s (id) values ($1)",
			func(r *rand.Rand) []any { return []any{fmt.Sprintf("строка %d", r.Uint64())} }},
		{"uuid", "id uuid primary key, n int", "insert into %s (n, id) values (?, ?)",
			func(r *rand.Rand) []any { return []any{1, randomUUID(r)} }},
		{"decimal", "id decimal primary key", "insert into %s values ($1)",
			func(r *rand.Rand) []any { return []any{decimal.New(r.Int64N(1e15)-5e14, -int32(r.IntN(10)))} }},
		{"datetime", "id datetime primary key", "insert into %s values ($1)",
			func(r *rand.Rand) []any { return []any{time.Unix(r.Int64N(4e9), r.Int64N(1e9))} }},
		{"double", "id double primary key", "insert into %s values ($1) on conflict do nothing",
			func(r *rand.Rand) []any { return []any{float64(r.Int64N(1<<40)) / 8} }},
		{"boolean and int", "b bool, id int, primary key (b, id)", "insert into %s values ($1, $2) on conflict do nothing",
			func(r *rand.Rand) []any { return []any{r.IntN(2) == 1, int64(r.Uint32())} }},
		{"text and int", "id int, s text, v text, primary key (s, id)", "insert into %s (id, s, v) values ($1, $2, $3)",
			func(r *rand.Rand) []any { return []any{r.Int64(), fmt.Sprint(r.Uint32()), "v"} }},
		{"integer as text", "id int primary key", "insert into %s values ($1) on conflict do nothing",
			func(r *rand.Rand) []any { return []any{fmt.Sprint(r.Int64())} }},
		{"nullable", "id int, n int null, primary key (id)", "insert into %s values ($1, $2) on conflict do nothing",
			func(r *rand.Rand) []any { return []any{r.Int64(), sql.NullInt64{}} }},
	}
}

// createKeyed makes the tables and lets the user write to them.
func createKeyed(t testing.TB, cluster *picotest.Cluster, user string) {
	t.Helper()
	for i, k := range keyedTables() {
		for _, text := range []string{fmt.Sprintf("create table t_%d (%s)", i, k.create), fmt.Sprintf("grant write on table t_%d to %s", i, user)} {
			if err := cluster.Exec(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
}

// routingRows: 2,000 on each of five clusters make 10,000 of each type.
var routingRows = flag.Int("routing.rows", 500, "rows of each key type that TestInsertsArriveAtTheirOwner inserts in each of its clusters; 100 with -short")

// Inserts of random keys of each type, on each version. On 26.2 a
// wrong guess is refused besides, under forward=off.
func TestInsertsArriveAtTheirOwner(t *testing.T) {
	n := *routingRows
	if testing.Short() {
		n = 100
	}
	for _, c := range []struct{ version, user, forward string }{
		{"26.2", "notices", "off"}, {"26.2", "app", "off"}, {"26.1", "notices", ""}, {"25.6", "notices", ""}, {"25.5", "app", ""},
	} {
		t.Run(c.version+" "+c.user, func(t *testing.T) {
			var opts []options.Option
			if c.forward != "" {
				opts = append(opts, options.WithForward(options.ForwardOff))
			}
			cfg := fourShards(c.version)
			cfg.Statements = 2 * n
			cluster := picotest.Start(t, cfg)
			createKeyed(t, cluster, c.user)
			r := openRouted(t, cluster, c.user, opts...)
			r.insertEverywhere(n)
			// Only the first of a text may have been refused: it went to the wrong leader by the policy.
			if s := r.c.Stats().Statements; s.Reroutes > uint64(len(keyedTables())) || s.Failed > 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// On a server without notices the driver reads _pico_table anew when a
// text names a table that wasn't there.
func TestATableMadeLaterIsRouted(t *testing.T) {
	r := startRouted(t, fourShards("25.5"), "app")
	r.exec("create table late (id int primary key)")
	for id := 0; r.c.Stats().Routing["routed"] == 0; id++ { // until the reading is in, or the test's time over
		r.exec("insert into late values ($1)", id)
	}
	if n := r.c.Stats().Routing["meta_miss"]; n == 0 {
		t.Errorf("%v", r.c.Stats().Routing)
	}
}

// A fresh connector, a table that is there. The first INSERT
// teaches, every later one is at its owner; with the right to read _pico_table the first one is too.
func TestTheSecondInsertIsRouted(t *testing.T) {
	for _, version := range []string{"25.5", "26.1", "26.2"} {
		cluster := picotest.Start(t, fourShards(version))
		if err := cluster.Exec("create table t (id int primary key)"); err != nil {
			t.Fatal(err)
		}
		if err := cluster.Exec("grant write on table t to notices"); err != nil {
			t.Fatal(err)
		}
		for i, user := range []string{"app", "notices"} {
			if version == "25.5" && user == "notices" {
				continue // no notices there
			}
			t.Run(version+" "+user, func(t *testing.T) {
				r := openRouted(t, cluster, user)
				base := int64(i) << 40
				r.exec("insert into t values ($1)", base)
				cluster.ResetCounters()
				for i := range 50 {
					r.exec("insert into t values ($1)", base+1+int64(i))
				}
				if stray, all := r.stray(); len(stray) != 0 || all != 50 {
					t.Errorf("%d of %d went astray: %v", len(stray), all, r.c.Stats().Routing)
				}
			})
		}
	}
}

// What servers said of texts is forgotten, while every connection knows the text by
// name and has no reason to parse it again. The next execution has it parsed, and those after it are routed.
func TestKeysAreLearntAnew(t *testing.T) {
	const text = "insert into t_0 values ($1) on conflict do nothing"
	for name, forget := range map[string]func(r *routed){
		"the oldest version leaves the cluster": func(r *routed) {
			old := r.c.Topology()
			<-r.cluster.Node("i8").Stop()
			for topo := old; topo.MinVersion() == old.MinVersion(); {
				var err error
				if topo, err = r.changed(topo); err != nil {
					r.t.Fatal(err)
				}
			}
		},
		"many other texts come": func(r *routed) {
			for i := range 4 * 64 {
				r.exec(fmt.Sprintf("select %d", i))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := picotest.Start(t, fourShards("26.2"))
			createKeyed(t, cluster, "notices")
			if err := cluster.Node("i8").SetVersion("26.1"); err != nil {
				t.Fatal(err)
			}
			r := openRouted(t, cluster, "notices", options.WithInstanceRole(options.RoleLeader), options.WithQueryMetadataCacheSize(64),
				options.WithTopologyUpdateInterval(50*time.Millisecond))
			for i := range 100 { // each leader has named it by now
				r.exec(text, i)
			}
			forget(r)
			r.exec(text, 1000)
			before := r.c.Stats().Routing
			for i := range 50 {
				r.exec(text, 2000+i)
			}
			if after := r.c.Stats().Routing; after["routed"]-before["routed"] != 50 {
				t.Errorf("%v, then %v", before, after)
			}
		})
	}
}

// A table is dropped and made anew with another sharding key, through
// this connector or behind its back.
func TestATableMadeAnewIsRoutedByItsNewKey(t *testing.T) {
	for _, c := range []struct{ version, user string }{{"25.5", "app"}, {"26.2", "app"}, {"26.2", "notices"}} {
		for _, own := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %s own=%v", c.version, c.user, own), func(t *testing.T) {
				cluster := picotest.Start(t, fourShards(c.version))
				r := openRouted(t, cluster, c.user, options.WithTopologyUpdateInterval(50*time.Millisecond))
				ddl := func(text string) {
					t.Helper()
					if own {
						r.exec(text)
					} else if err := cluster.Exec(text); err != nil {
						t.Fatal(err)
					}
				}
				grant := func() {
					if err := cluster.Exec("grant write on table again to " + c.user); err != nil && !own {
						t.Fatal(err)
					}
				}
				ddl("create table again (id int, s text, primary key (id)) distributed by (id)")
				grant()
				// insert reports how many of 20 rows ran where they lie. An error that says that the schema
				// has changed is the server's own, on versions that don't invalidate statements.
				id := 0
				insert := func() int {
					cluster.ResetCounters()
					for range 20 {
						id++
						_, err := r.ExecContext(t.Context(), "insert into again values ($1, $2)", id, fmt.Sprint("s", id))
						if e := (*picodata.Error)(nil); err != nil && !(errors.As(err, &e) && e.Kind == picodata.KindSchema) {
							t.Fatal(err)
						}
					}
					stray, all := r.stray()
					return all - len(stray)
				}
				until20 := func(what string) {
					t.Helper()
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					defer cancel()
					for n := insert(); n != 20; n = insert() {
						if ctx.Err() != nil {
							t.Fatalf("%s: only %d of 20 rows ran where they lie: %v", what, n, r.c.Stats().Routing)
						}
					}
				}
				until20("at first")
				ddl("drop table again")
				ddl("create table again (id int, s text, primary key (id, s)) distributed by (s)")
				grant()
				until20("with another key")
			})
		}
	}
}

// Twenty workers share six sessions; nearly all inserts are routed.
func TestWorkersWithFewSessions(t *testing.T) {
	cluster := picotest.Start(t, fourShards("26.2"))
	createKeyed(t, cluster, "notices")
	r := openRouted(t, cluster, "notices")
	r.SetMaxOpenConns(6)
	const workers, each = 20, 100
	r.exec("insert into t_0 values ($1) on conflict do nothing", -1)
	cluster.ResetCounters()
	r.workers(workers, func(ctx context.Context, worker int) error {
		for i := range each {
			if _, err := r.ExecContext(ctx, "insert into t_0 values ($1) on conflict do nothing", worker*each+i); err != nil {
				return err
			}
		}
		return nil
	})
	if stray, all := r.stray(); all != workers*each || len(stray)*100 > all {
		t.Errorf("%d of %d went astray: %v", len(stray), all, r.c.Stats().Routing)
	}
}

// No insert fails, and once the driver has seen the
// change none makes a hop.
func TestRebalancingAndALeaderSwitchInMidRun(t *testing.T) {
	cluster := picotest.Start(t, fourShards("26.2"))
	createKeyed(t, cluster, "notices")
	r := openRouted(t, cluster, "notices", options.WithTopologyUpdateInterval(50*time.Millisecond))
	var (
		stop atomic.Bool
		next atomic.Int64
		done = make(chan struct{})
	)
	insert := func(ctx context.Context) error {
		_, err := r.ExecContext(ctx, "insert into t_0 values ($1) on conflict do nothing", next.Add(1))
		return err
	}
	go func() {
		defer close(done)
		r.workers(4, func(ctx context.Context, _ int) error {
			for !stop.Load() {
				if err := insert(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	defer func() { stop.Store(true); <-done }()
	// settles inserts until a run of them made no hop.
	settles := func(what string) {
		t.Helper()
		for {
			if t.Failed() {
				t.FailNow()
			}
			before, from := cluster.Counters(), next.Load()
			for next.Load() < from+200 {
				if err := insert(t.Context()); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			if cluster.Counters().Hops == before.Hops {
				return
			}
		}
	}
	settles("at first")

	leader := cluster.Leader("default_2")
	if err := cluster.SwitchLeader("default_2", cluster.Replicas("default_2")[0].Name()).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	settles("after a switch of leaders")
	if leader.IsLeader() {
		t.Fatal("the leader didn't switch")
	}

	added := cluster.AddReplicaset("default", 2)
	cluster.Rebalance("default")
	settles("after a rebalancing")
	if n := cluster.Leader(added).Counters().Served; n == 0 {
		t.Errorf("the new replicaset %s serves nothing", added)
	}

	stop.Store(true)
	<-done
	if s := r.c.Stats().Statements; s.Failed != 0 || s.OutcomeUnknown != 0 {
		t.Errorf("%+v", s)
	}
}

// While a cluster is upgraded, instances with and without notices, and with other
// hashes of a DOUBLE, live side by side. Nothing fails, and what is certain is routed.
func TestMixedVersions(t *testing.T) {
	for _, versions := range [][2]string{{"25.5", "26.1"}, {"26.1", "26.2"}} {
		t.Run(strings.Join(versions[:], " "), func(t *testing.T) {
			cluster := picotest.Start(t, fourShards(versions[0]))
			createKeyed(t, cluster, "app")
			for i, n := range cluster.Nodes() {
				if err := n.SetVersion(versions[i%2]); err != nil {
					t.Fatal(err)
				}
			}
			r := openRouted(t, cluster, "app")
			for i, k := range keyedTables() {
				text := fmt.Sprintf(k.insert, fmt.Sprintf("t_%d", i))
				r.exec(text, k.row(r.random)...)
				cluster.ResetCounters()
				for range 50 {
					r.exec(text, k.row(r.random)...)
				}
				stray, all := r.stray()
				if certain := k.name != "double" || versions[0] != "25.5"; certain && len(stray) != 0 || all != 50 {
					t.Errorf("%s: %d of %d went astray: %v", k.name, len(stray), all, r.c.Stats().Routing)
				}
			}
			if n := r.c.Stats().Routing["no_bucket"]; (n > 0) != (versions[0] == "25.5") {
				t.Errorf("%v", r.c.Stats().Routing)
			}
		})
	}
}

// Everything works, unrouted, and the counters say why.
func TestAUserWithoutRights(t *testing.T) {
	for _, version := range []string{"25.2", "25.5", "26.1", "26.2"} {
		t.Run(version, func(t *testing.T) {
			r := startRouted(t, fourShards(version), "plain")
			r.exec("create table mine (id int primary key)")
			const n = 40
			for id := range n {
				r.exec("insert into mine values ($1)", id)
			}
			var rows int
			if err := r.QueryRowContext(t.Context(), "select count(*) from mine").Scan(&rows); err != nil || rows != n {
				t.Fatalf("%d rows, %v", rows, err)
			}
			counts := r.c.Stats().Routing
			why := counts["meta_miss"] + counts["no_topology"] + counts["no_leader"]
			if counts["routed"] != 0 || why != n || counts["meta_miss"] == 0 {
				t.Errorf("%v", counts)
			}
		})
	}
}

// routing=keys for every statement with a key, with forward=off as the proof.
func TestKeysOfOtherStatementsAreRouted(t *testing.T) {
	cluster := picotest.Start(t, fourShards("26.2"))
	for _, text := range []string{"create table k (id int, s text, n int, primary key (s, id))", "create table g (id int primary key) distributed globally"} {
		if err := cluster.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	r := openRouted(t, cluster, "app", options.WithRouting(options.RoutingKeys), options.WithForward(options.ForwardOff))
	r.exec("insert into g values (1)") // by which time the tables are read
	for i := range 50 {
		id, s := i*7919, fmt.Sprint("s", i)
		r.exec("insert into k (id, s, n) values ($1, $2, $3)", id, s, 0)
		r.exec("update k set n = n + $1 where id = $2 and k.s = $3", i, id, s)
		var n int
		if err := r.QueryRowContext(t.Context(), `select "n" from "k" as x where ("x"."s" = $1 and "x"."id" = $2)`, s, id).Scan(&n); err != nil || n != i {
			t.Fatalf("%d, %v", n, err)
		}
		if i%2 == 0 {
			r.exec("delete from k where $1 = s and id = $2::int", s, id)
		}
	}
	if s := r.c.Stats(); s.Statements.Reroutes != 0 || s.Routing["routed"] < 175 || s.Statements.Failed != 0 {
		t.Errorf("%+v %v", s.Statements, s.Routing)
	}
	if hops := cluster.Counters().Hops; hops > 1 { // that of the insert into g
		t.Errorf("%d hops", hops)
	}
}

// Each hint is obeyed to the letter.
func TestHintsAreObeyed(t *testing.T) {
	r := startRouted(t, picotest.Config{Version: "26.2", Tiers: []picotest.Tier{
		{Name: "default", Replicasets: 3, ReplicationFactor: 2}, {Name: "cold", Replicasets: 1, ReplicationFactor: 2, Buckets: 300},
	}}, "app")
	ask := func(ctx context.Context) (*picotest.Node, error) {
		var id string
		if err := r.QueryRowContext(ctx, "select pico_instance_uuid()").Scan(&id); err != nil {
			return nil, err
		}
		for _, n := range r.cluster.Nodes() {
			if n.UUID() == id {
				return n, nil
			}
		}
		return nil, errors.New("no such instance")
	}
	bg := t.Context()
	for name, c := range map[string]struct {
		ctx  context.Context
		want func(*picotest.Node) bool
	}{
		"instance":   {picodata.ToInstance(bg, "i3"), func(n *picotest.Node) bool { return n.Name() == "i3" }},
		"uuid":       {picodata.ToInstance(bg, r.cluster.Node("i4").UUID()), func(n *picotest.Node) bool { return n.Name() == "i4" }},
		"replicaset": {picodata.ToReplicaset(bg, "default_2"), func(n *picotest.Node) bool { return n.Replicaset() == "default_2" }},
		"its replica": {picodata.ToReplica(picodata.ToReplicaset(bg, "default_2")),
			func(n *picotest.Node) bool { return n.Replicaset() == "default_2" && !n.IsLeader() }},
		"tier":    {picodata.ToTier(bg, "cold"), func(n *picotest.Node) bool { return n.Tier() == "cold" }},
		"leader":  {picodata.ToLeader(bg), (*picotest.Node).IsLeader},
		"replica": {picodata.ToReplica(bg), func(n *picotest.Node) bool { return !n.IsLeader() }},
		"bucket": {picodata.ToBucket(bg, "", 1934),
			func(n *picotest.Node) bool {
				return n.IsLeader() && n.Replicaset() == r.cluster.BucketOwner("default", 1934)
			}},
		"key": {picodata.ShardKey(bg, "default", int64(1)),
			func(n *picotest.Node) bool {
				return n.IsLeader() && n.Replicaset() == r.cluster.BucketOwner("default", 1934)
			}},
		"key of another tier": {picodata.ShardKey(bg, "cold", "lol", 42), func(n *picotest.Node) bool { return n.IsLeader() && n.Tier() == "cold" }},
	} {
		for range 5 {
			n, err := ask(c.ctx)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if !c.want(n) {
				t.Errorf("%s: %s", name, n.Name())
			}
		}
	}
	for name, ctx := range map[string]context.Context{
		"no such instance":   picodata.ToInstance(bg, "i99"),
		"no such replicaset": picodata.ToReplicaset(bg, "default_9"),
		"no such tier":       picodata.ToTier(bg, "hot"),
		"no such bucket":     picodata.ToBucket(bg, "cold", 301),
	} {
		if n, err := ask(ctx); err == nil {
			t.Errorf("%s: answered by %s", name, n.Name())
		} else if !strings.HasPrefix(err.Error(), "picodata: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := r.c.Stats().Routing["hint"]; n != 50 {
		t.Errorf("%v", r.c.Stats().Routing)
	}
}

// For every key type, where Explain says, there the row goes.
func TestExplainAgreesWithWhatHappens(t *testing.T) {
	cluster := picotest.Start(t, fourShards("26.2"))
	createKeyed(t, cluster, "notices")
	r := openRouted(t, cluster, "notices")
	for i, k := range keyedTables() {
		text, row := fmt.Sprintf(k.insert, fmt.Sprintf("t_%d", i)), k.row(r.random)
		plan, err := r.c.Explain(t.Context(), text, row...)
		if err != nil {
			t.Fatal(err)
		}
		cluster.ResetCounters()
		r.exec(text, row...)
		ran := slices.DeleteFunc(cluster.Statements(), func(s picotest.Statement) bool { // a new connection asks who is there
			return strings.Contains(s.SQL, "instance_uuid")
		})
		if len(ran) != 1 || ran[0].Node != plan.Node.Name || plan.Reason != "routed" || cluster.BucketOwner("default", plan.Bucket) != plan.Replicaset || ran[0].Hops != 0 {
			t.Errorf("%s: %+v, but %+v", k.name, plan, ran)
		}
		if !strings.Contains(plan.String(), "the leader of "+plan.Replicaset) {
			t.Errorf("%s", plan)
		}
	}
	if plan, err := r.c.Explain(t.Context(), "select 1"); err != nil || plan.Node != (picodata.Node{}) || plan.Reason != "balance" {
		t.Errorf("%+v, %v", plan, err)
	}
}

// An INSERT of two rows, one of them in a replicaset that is read-only
// for the moment, is never run again because a hint named the bucket of the other.
func TestAHintProvesNothingAboutBuckets(t *testing.T) {
	cfg := fourShards("26.2")
	cfg.SwitchWindow = -1 // until Finish
	cluster := picotest.Start(t, cfg)
	if err := cluster.Exec("create table t (id int primary key)"); err != nil {
		t.Fatal(err)
	}
	r := openRouted(t, cluster, "app")
	r.exec("insert into t values ($1)", 42)
	readOnly := cluster.BucketOwner("default", 219) // of the int 5
	if readOnly == cluster.BucketOwner("default", 1934) {
		t.Fatal("both rows lie in one replicaset")
	}
	s := cluster.SwitchLeader(readOnly, cluster.Replicas(readOnly)[0].Name())
	defer s.Finish()
	cluster.ResetCounters()
	const text = "insert into t values ($1), ($2)"
	_, err := r.ExecContext(picodata.ShardKey(t.Context(), "", int64(1)), text, 1, 5)
	var unknown *picodata.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
	if got := r.arrivals(text); len(got) != 1 || got[cluster.BucketOwner("default", 1934)] != 1 {
		t.Errorf("run %v times", got)
	}
}
