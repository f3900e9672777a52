package route

import (
	"strings"
	"testing"

	"github.com/picodata/go-picodata/options"
)

func TestDescribe(t *testing.T) {
	v := newCluster().view(false)
	const sql = "insert into t values ($1, $2)"
	hinted := func(h Hint) Plan {
		in := input(v, sql, int64(1), "a")
		in.Hint = &h
		return Decide(in)
	}
	fail := withNoShard(options.NoShardFail, 0, options.NoShardBound)
	random := withNoShard(options.NoShardRandom, 0, options.NoShardBound)
	third := withNoShard(options.NoShardN, 2, options.NoShardBound)
	c := newCluster()
	c.cfg.Routing = options.RoutingOff
	off := c.view(false)
	switching := newCluster()
	switching.replicaset("default_2").TargetMaster = "i4"
	for _, c := range []struct {
		p    Plan
		want string
	}{
		{Decide(input(v, "select 1")), "any node, by the balancing policy"},
		{Decide(input(v, sql, int64(1), "a").meta("default", one(20))), "i3, the leader of default_2, which owns bucket 1934 of tier default"},
		{Decide(input(v, sql, int64(1), "a")), "any node, by the balancing policy: its sharding key isn't known yet (meta_miss)"},
		{Decide(input(v, sql, "secret", "a").meta("default", one(20))), "any node, by the balancing policy: the owner of its bucket can't be told (no_bucket); not an integer for the server"},
		{Decide(input(switching.view(false), sql, int64(1), "a").meta("default", one(20))),
			"any node, by the balancing policy: the replicaset has no known leader at present (no_leader); bucket 1934 of tier default lies in default_2; the replicaset is switching"},
		{hinted(Hint{Instance: "i4", Role: options.RoleReplica}), "i4 if it is a replica, as the context asks"},
		{hinted(Hint{Bucket: 1934, BucketSet: true}), "the leader of default_2, which owns bucket 1934 of tier default, as the context asks"},
		{hinted(Hint{Replicaset: "default_1", Role: options.RoleReplica}), "a replica of default_1, as the context asks"},
		{hinted(Hint{Replicaset: "default_1"}), "a node of default_1, as the context asks"},
		{hinted(Hint{Tier: "cold", Role: options.RoleReplica}), "a replica of tier cold, as the context asks"},
		{hinted(Hint{Tier: "cold"}), "a node of tier cold, as the context asks"},
		{hinted(Hint{Role: options.RoleLeader}), "a leader, as the context asks"},
		{hinted(Hint{Tier: "hot"}), `nowhere: no tier "hot" in the cluster as it is known at present`},
		{hinted(Hint{Bucket: 3001, BucketSet: true}), `nowhere: bucket 3001: tier "default" has the buckets 1 to 3000`},
		{Decide(shardStatements(fail)["unknown"]), "nowhere before a server was asked for the sharding key: its sharding key isn't known yet (meta_miss)"},
		{Decide(shardStatements(fail)["bound"]), "nowhere: no_shard_specified_behavior=fail: it carries no sharding key to route by (not_routable); INSERT of several rows"},
		{Decide(shardStatements(random)["bound"]), "a node of default_1, chosen by no_shard_specified_behavior=random: it carries no sharding key to route by (not_routable); INSERT of several rows"},
		{Decide(shardStatements(third)["bound"]), "a node of default_3, chosen by no_shard_specified_behavior=shard_N: it carries no sharding key to route by (not_routable); INSERT of several rows"},
		{Decide(shardStatements(withNoShard(options.NoShardN, 9, options.NoShardBound))["bound"]), `nowhere: no_shard_specified_behavior=shard_9: tier "default" has 3 replicasets, shard_0 to shard_2`},
		{Decide(input(off, sql, int64(1), "a")), "any node, by the balancing policy; routing=off"},
		{Decide(input(v, sql, int64(1), "a").meta("new", one(20))), "any node, by the balancing policy: the buckets of its tier aren't known (unknown_tier); new"},
		// Names are told where they are known, else uuids.
		{Plan{Kind: Filter, InstanceUUID: "u"}, `"u"`},
		{Plan{Kind: Filter, InstanceUUID: "u", Role: options.RoleLeader}, `"u" if it is a leader`},
		{Plan{Kind: Filter, ReplicasetUUID: "r"}, `a node of "r"`},
		{Plan{Kind: Filter, ReplicasetUUID: "r", Role: options.RoleLeader}, `the leader of "r"`},
		{Plan{Kind: Filter, ReplicasetUUID: "r", Role: options.RoleReplica}, `a replica of "r"`},
		{Plan{Kind: Leader, InstanceUUID: "u", ReplicasetUUID: "r", BucketKnown: true, Bucket: 5, Tier: "t"}, `"u", the leader of "r", which owns bucket 5 of tier t`},
	} {
		got := Describe(c.p)
		if got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
		if strings.Contains(got, "secret") {
			t.Errorf("a value is in %q", got)
		}
	}
}

func TestCounters(t *testing.T) {
	v := newCluster().view(false)
	if got := (&Plan{}).Counter(); got != "balance" {
		t.Errorf("%s", got)
	}
	p := Decide(input(v, "insert into t values ($1)", int64(1)).meta("default", one(20)))
	if p.Counter() != "routed" {
		t.Errorf("%s", p.Counter())
	}
	// Who leases says the rest.
	p.Reason = LeaderBusy
	if p.Counter() != "leader_busy" {
		t.Errorf("a leader without a free connection is counted as %s", p.Counter())
	}
	all := withNoShard(options.NoShardRandom, 0, options.NoShardAll)
	p = Decide(input(all, "select 1"))
	if p.Counter() != "random" {
		t.Errorf("%s", p.Counter())
	}
}
