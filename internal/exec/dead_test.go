package exec

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// bereaved is a cluster whose nodes don't answer; it counts who asks them.
type bereaved struct {
	pictured
	probes atomic.Int64
}

func (c *bereaved) Start(context.Context) error  { return nil }
func (c *bereaved) Buckets() *metadata.BucketMap { return nil }
func (c *bereaved) Probe(context.Context, *pool.NodeInfo) error {
	c.probes.Add(1)
	return context.DeadlineExceeded
}

// emptyPool is one that nobody leases from.
type emptyPool struct{ Pool }

func (emptyPool) Apply([]pool.NodeSpec) {}

func mourner(t *testing.T, topo *metadata.Topology) (*Executor, *bereaved) {
	t.Helper()
	cluster := &bereaved{pictured: pictured{topo: topo}}
	cfg := options.New()
	x := New(Parts{Options: cfg, Clock: options.SystemClock{}, Logger: slog.New(slog.DiscardHandler), Pool: emptyPool{}, Cluster: cluster})
	x.routing.tablesChanged(map[string]schema.Table{})
	t.Cleanup(x.Close)
	return x, cluster
}

func leaderA() *pool.NodeInfo {
	return &pool.NodeInfo{ID: "a", Name: "a", Replicaset: "rs", ReplicasetName: "rs", Tier: "default"}
}

// Close waits for all probes: none begins once it has looked.
func TestNoProbeAfterClose(t *testing.T) {
	x, cluster := mourner(t, led("a"))
	x.Close()
	l := &deadLeader{node: leaderA()}
	x.reprobe(l)
	x.suspect(leaderA(), false)
	x.dead.probes.Wait()
	if n := cluster.probes.Load(); n != 0 {
		t.Errorf("%d probes", n)
	}
}

// Several rows of one replicaset that nobody leads wait as one row does; what a server only parses waits for nobody.
func TestWhoIsHeldUp(t *testing.T) {
	x, _ := mourner(t, led(""))
	plan := route.Plan{Reason: route.NoLeader, ReplicasetUUID: "rs", Replicaset: "rs", Tier: "default"}
	for _, c := range []struct {
		name           string
		op             operation
		bucket, shared bool
		held           bool
	}{
		{"one row", opExec, true, false, true},
		{"several rows", opExec, false, true, true},
		{"parsed alone", opPrepare, true, false, false},
		{"a ping", opPing, true, false, false},
	} {
		r := run{x: x, op: c.op, ctx: t.Context(), text: x.texts.get("insert into t values ($1)"), plan: plan}
		r.plan.BucketKnown, r.plan.Shared = c.bucket, c.shared
		if why, _ := r.heldUp(); (why != nil) != c.held {
			t.Errorf("%s: %+v", c.name, why)
		}
	}
}

// peeking is a clock that looks at something when it is set.
type peeking struct {
	options.SystemClock
	look func()
}

func (c *peeking) AfterFunc(d time.Duration, f func()) options.Timer {
	c.look()
	return c.SystemClock.AfterFunc(d, f)
}

// A statement can be seen before it asks whether somebody looks: the other way round a look that is just over would
// miss it, and it would wait unseen until another one comes.
func TestStatementIsSeenBeforeTheLookIsSet(t *testing.T) {
	x, _ := mourner(t, led("a"))
	c := x.NewCheckout()
	defer c.Forget()
	seen := false
	x.Clock = &peeking{look: func() {
		if c.mu.TryLock() {
			seen = c.flight.conn != nil
			c.mu.Unlock()
		}
	}}
	r := run{c: c, x: x, op: opQuery, ctx: t.Context(), text: x.texts.get("select 1")}
	r.depart(&wire.Conn{})
	r.arrive()
	if !seen || !x.dead.armed.Load() {
		t.Errorf("seen %v, looked after %v", seen, x.dead.armed.Load())
	}
}

// Who waits because a leader refused writes is told when it is believed again.
func TestEndOfADemotionIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topo := led("a")
		topo.Replicasets[0].UUID = "27d39d2f-596a-41ba-b726-46f1afe30125"
		for i := range topo.Instances {
			topo.Instances[i].ReplicasetUUID = topo.Replicasets[0].UUID
		}
		x, _ := mourner(t, metadata.Build(*topo))
		x.demote(answered("XX000", readonly), &pool.NodeInfo{ID: "a", Name: "a", Replicaset: "27d39d2f-596a-41ba-b726-46f1afe30125"})
		if !x.roles.isDemoted("a") {
			t.Fatal("it leads still")
		}
		told := x.dead.next()
		time.Sleep(2 * demotionLasts)
		select {
		case <-told:
		default:
			t.Error("nobody was told")
		}
	})
}

// What a load's texts forbid is decided once: the judge believes it of texts that were made before servers were upgraded.
func TestLoadDecidesOnceAboutForwarding(t *testing.T) {
	of := func(version string) *metadata.Topology {
		topo := led("a")
		for i := range topo.Instances {
			topo.Instances[i].Version = version
		}
		return metadata.Build(*topo)
	}
	synctest.Test(t, func(t *testing.T) {
		for _, was := range []string{"25.4.1", "26.2.1"} {
			x, cluster := mourner(t, of(was))
			l, err := x.LoadInto(t.Context(), "t", []string{"id"})
			if err != nil {
				t.Fatal(err)
			}
			before := l.ForwardOff()
			cluster.topo = of("26.2.1")
			if before != (was == "26.2.1") || l.ForwardOff() != before {
				t.Errorf("%s: %v, %v after the upgrade", was, before, l.ForwardOff())
			}
		}
	})
}

// watched is a cluster that tells when it is asked for its snapshot.
type watched struct {
	*bereaved
	asked func()
}

func (c *watched) Topology() *metadata.Topology {
	c.asked()
	return c.bereaved.Topology()
}

// Whether somebody still leads is read under the lock that the next snapshot's leadersChanged takes: before it, the entry
// of a leader that was replaced meanwhile would stay.
func TestLeaderIsBuriedUnderTheLock(t *testing.T) {
	x, cluster := mourner(t, led("b"))
	held := false
	x.Cluster = &watched{cluster, func() {
		if held = !x.dead.mu.TryLock(); !held {
			x.dead.mu.Unlock()
		}
	}}
	x.giveUp(leaderA(), false)
	if !held || x.Hurt() {
		t.Errorf("lock held %v, hurt %v", held, x.Hurt())
	}
}

// sharded are tables of the tier default, and one that is global.
func sharded(x *Executor) {
	x.TablesChanged(map[string]schema.Table{
		"t": {Name: "t", Distribution: schema.ShardedByKey, Tier: "default", Operable: true},
		"u": {Name: "u", Distribution: schema.ShardedByKey, Tier: "default", Operable: true},
		"g": {Name: "g", Distribution: schema.Global, Operable: true},
	})
}

// What goes to all of a tier waits as long as one of its replicasets can't answer, however many tables it names, and
// whether the death is known from a connection or the snapshot shows that nobody leads.
func TestWholeTierIsHeldUp(t *testing.T) {
	texts := []struct {
		sql  string
		held bool
	}{
		{"select count(*) from t", true},
		{"select * from t join u on t.id = u.id", true},
		{"select * from g join t on t.id = g.id", true},
		{"select * from (select id from u) as x", true},
		{"insert into g select id from t", true},
		{"select t from g", false},
		{"select * from g as a join g as b on a.id = b.id", false},
		{"select * from elsewhere", false},
	}
	for _, c := range []struct {
		name   string
		master metadata.State
		led    string
		dead   bool
		held   bool
	}{
		{"all well", metadata.Online, "a", false, false},
		{"a leader that doesn't answer", metadata.Online, "a", true, true},
		{"the last leader is gone", metadata.Offline, "a", false, true},
		{"the lead moves from a living one", metadata.Online, "", false, false},
	} {
		topo := led("a")
		topo.Instances[0].State, topo.Instances[0].TargetState = c.master, c.master
		if c.led == "" {
			topo.Replicasets[0].TargetMaster, topo.Replicasets[0].LeaderUUID = "b", ""
		}
		x, _ := mourner(t, metadata.Build(*topo))
		sharded(x)
		x.leadersChanged(x.Cluster.Topology())
		if c.dead {
			x.bury(leaderA(), false)
		}
		for _, s := range texts {
			r := run{x: x, op: opQuery, ctx: t.Context(), text: x.texts.get(s.sql)}
			r.plan = x.routing.plan(r.text, nil, nil)
			if why, _ := r.heldUp(); (why != nil) != (c.held && s.held) {
				t.Errorf("%s: %s: %+v", c.name, s.sql, why)
			}
		}
	}
}

// A leader that the cluster sees Online long after it stopped answering here is out of reach from here alone: nobody waits
// for it any more, others can forward to it.
func TestLeaderOutOfReachFromHereHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, cluster := mourner(t, led("a"))
		sharded(x)
		x.bury(leaderA(), false)
		held := func() bool {
			r := run{x: x, op: opQuery, ctx: t.Context(), text: x.texts.get("select count(*) from t")}
			why, _ := r.heldUp()
			return why != nil
		}
		time.Sleep(noticed - time.Millisecond)
		if !held() {
			t.Error("nobody waits though the cluster may not have noticed yet")
		}
		time.Sleep(time.Millisecond)
		if held() {
			t.Error("it is Online for everybody else")
		}
		topo := led("a")
		topo.Instances[0].TargetState = metadata.Offline
		cluster.topo = metadata.Build(*topo)
		if !held() {
			t.Error("the cluster has seen it too")
		}
	})
}

// Only an answer of the network tells that nobody is there: this machine's own limits and its name servers don't.
func TestNobodyThere(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	call := func(no syscall.Errno) error { return dial(os.NewSyscallError("connect", no)) }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{call(syscall.ECONNREFUSED), true},
		{call(syscall.EHOSTUNREACH), true},
		{call(syscall.ETIMEDOUT), true},
		{&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, true},
		{dial(os.ErrDeadlineExceeded), true},
		{dial(&net.DNSError{Err: "no such host", IsNotFound: true}), true},
		{dial(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), false},
		{dial(&net.DNSError{Err: "i/o timeout", IsTimeout: true}), false},
		{dial(os.NewSyscallError("socket", syscall.EMFILE)), false},
		{call(syscall.EADDRNOTAVAIL), false},
		{call(syscall.EACCES), false},
		{call(syscall.ENETUNREACH), false},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(42)}, false},
		{&net.OpError{Op: "local error", Err: tls.AlertError(70)}, false},
		{context.Canceled, false},
		{&pq.Error{Code: "28P01"}, false},
	} {
		if got := nobodyThere(fmt.Errorf("dial: %w", c.err)); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
