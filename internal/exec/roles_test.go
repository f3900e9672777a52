package exec

import (
	"testing"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// led is a replicaset of two, led by whom master says; "": by nobody.
func led(master string) *metadata.Topology {
	t := metadata.Topology{Version: 1, RolesKnown: true,
		Replicasets: []metadata.Replicaset{{UUID: "rs", Name: "rs", Tier: "default", State: "ready", CurrentMaster: master, TargetMaster: master}},
		Tiers:       []metadata.Tier{{Name: "default", BucketCount: 3000}}}
	for _, name := range []string{"a", "b"} {
		t.Instances = append(t.Instances, metadata.Instance{UUID: name, Name: name, ReplicasetUUID: "rs", ReplicasetName: "rs", Tier: "default",
			State: metadata.Online, TargetState: metadata.Online, Address: name + ":1"})
	}
	return metadata.Build(t)
}

// That a leader has refused a write is remembered until a snapshot shows another one: neither one that names it still, nor
// one in which nobody leads, proves anything.
func TestCorrectionsOutliveSnapshotsWithoutALeader(t *testing.T) {
	var r roles
	r.set("a", true)
	for _, master := range []string{"a", "", "a"} {
		r.forget(led(master))
		if !r.isDemoted("a") {
			t.Fatalf("forgotten by a snapshot that is led by %q", master)
		}
	}
	if got := r.avoid([4]string{"b"}); got != [4]string{"b", "a"} {
		t.Errorf("avoided: %q", got)
	}
	r.forget(led("b"))
	if r.isDemoted("a") || r.any() {
		t.Error("remembered though another one leads")
	}
}

// pictured is a cluster of which nothing but a snapshot is known.
type pictured struct {
	Cluster
	topo *metadata.Topology
}

func (c *pictured) Topology() *metadata.Topology { return c.topo }
func (c *pictured) Hint(schema.Reason)           {}

// Dials that fail count against the replicaset of their node, so that random_healthy leaves it alone.
func TestFailedDialsScore(t *testing.T) {
	x := &Executor{Parts: Parts{Options: options.New(), Clock: options.SystemClock{}, Cluster: &pictured{topo: led("a")}}}
	x.routing.x = x
	if x.routing.health.Troubled() {
		t.Fatal("troubled from the beginning")
	}
	x.routing.dialFailed(&pool.DialError{Nodes: []*pool.NodeDialError{{Node: "nobody"}}})
	if x.routing.health.Troubled() {
		t.Error("a node that isn't there counts against somebody")
	}
	x.routing.dialFailed(&pool.DialError{Nodes: []*pool.NodeDialError{{Node: "b"}}})
	if !x.routing.health.Troubled() {
		t.Error("it counts against nobody")
	}
}

// What a text's key was is forgotten with the schema that it was of.
func TestAnOlderSchemaTakesItsKeysAlong(t *testing.T) {
	x := &Executor{Parts: Parts{Options: options.New(), Clock: options.SystemClock{}, Cluster: &pictured{topo: led("a")}}}
	x.routing.x = x
	text := &Text{SQL: "insert into t values ($1)"}
	text.keys.Store(&keyAnswer{known: true, epoch: x.routing.epoch.Load()})
	if x.routing.answer(text) == nil {
		t.Fatal("nothing is known from the beginning")
	}
	x.routing.outdated(text)
	if x.routing.answer(text) != nil {
		t.Error("the key of the older schema is still believed")
	}
}

// A session that was closed is known to nobody any more.
func TestClosedSessionsAreForgotten(t *testing.T) {
	x := &Executor{checkouts: make(map[*Checkout]struct{})}
	var all []*Checkout
	for range 10 {
		all = append(all, x.NewCheckout())
	}
	if len(x.checkouts) != 10 {
		t.Fatalf("%d of 10 are known", len(x.checkouts))
	}
	for _, c := range all {
		c.Forget()
	}
	if len(x.checkouts) != 0 {
		t.Errorf("%d are known after they were closed", len(x.checkouts))
	}
}
