package route

import (
	"cmp"

	"github.com/picodata/go-picodata/internal/bucket"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// Decide says where the statement may run. The order: the hint, the key, the policy, with
// no_shard_specified_behavior in the policy's place where it applies. It depends on nothing but its
// input, and so never on the statement before.
func Decide(in *Input) Plan {
	if in.Hint != nil && !in.Hint.empty() {
		return hinted(in)
	}
	c := in.Candidate
	if c == nil {
		c = new(Candidate)
		c.find(in)
	}
	if c.key {
		return toOwner(in, c)
	}
	p := Plan{Reason: c.reason, Detail: c.detail, Refresh: c.refresh}
	cfg := in.View.cfg
	switch {
	case in.Info.Class == sqltext.Empty:
		return p
	case cfg.NoShardScope == options.NoShardAll, c.bound:
		if c.unasked && cfg.NoShard.Behavior == options.NoShardFail && !in.KeyAsked {
			p.Kind = Learn
			return p
		}
		// What isn't known to be bound is only refused where it says nothing by itself.
		if c.unasked && cfg.NoShardScope == options.NoShardBound && !in.KeyAsked {
			return p
		}
		return noShard(in, p, c.tier)
	}
	return p
}

// Candidate is what a text offers to route by, whatever its arguments are. It holds for one View, one answer of a server and
// one value of Input.Keys; see Consider.
type Candidate struct {
	// key: the parameters in params or, if that is nil, the own reading of table are the whole key.
	key    bool
	count  uint64 // buckets of tier; 0 = not known
	params []schema.KeyParam
	table  *keyTable
	tier   string
	// bound: the statement belongs to one shard, or, with unasked, may.
	bound bool
	// unasked: a server could still say what the text's key is.
	unasked bool
	reason  Reason
	detail  string
	// refresh: what proved to be behind.
	refresh schema.Reason
}

// Consider looks for the statement's key without looking at its values, so that the next statement with the text needn't.
func Consider(in *Input) (c Candidate) {
	c.find(in)
	if c.table != nil && in.Info.Rows <= 1 { // one row's key is parameters, as in a server's answer
		for i := range c.table.key {
			ref, _ := refOf(in.Info, in.Info.Row(0), c.table, &c.table.key[i])
			c.params = append(c.params, schema.KeyParam{Index: ref.Param, OID: c.table.key[i].oid})
		}
	}
	return c
}

// find looks for the key.
func (c *Candidate) find(in *Input) {
	info, cfg := in.Info, in.View.cfg
	// Servers name the key of INSERTs only, and they read texts better than anybody.
	insert := info.Class == sqltext.Insert || in.KeyKnown && in.Key.Routable
	if !insert {
		switch info.Class {
		case sqltext.Read, sqltext.Update, sqltext.Delete:
			if cfg.Routing != options.RoutingKeys && !(in.Keys && cfg.Routing == options.RoutingInsert) || info.Table == "" {
				if info.Class != sqltext.Read && len(info.Keys) > 0 && in.View.tables == nil {
					c.refresh = schema.HintRows // for OneBucket
				}
				return
			}
		default:
			return
		}
	}
	table, known := in.View.tables.table(info.Table)
	switch {
	case known && table.global, insert && in.KeyKnown && in.Key.Tier == "":
		return // its rows are everywhere: any node is as good as another
	case cfg.Routing == options.RoutingOff:
		c.detail = "routing=off"
		c.bound = insert
		c.unasked = insert && !in.KeyKnown && !known
		c.tier = tierOf(in, table)
		return
	case insert && in.KeyKnown && in.Key.Routable:
		c.key, c.params, c.tier = true, in.Key.Params, in.Key.Tier
		c.count, _ = in.View.buckets.Count(c.tier)
		return
	}
	c.bound, c.tier = insert, tierOf(in, table)
	if info.RowValues != nil && in.View.tables == nil {
		c.refresh = schema.HintRows
	}
	switch {
	case insert && in.KeyKnown && (info.RowValues == nil || !known): // of several rows servers say nothing
		c.reason, c.detail = NotRoutable, info.Reason
	case known && !table.byKey:
		c.reason, c.detail = NotRoutable, "the table's distribution isn't one that is hashed here"
	case known:
		if c.detail = ownKey(info, table); c.detail != "" {
			c.reason = NotRoutable
			break
		}
		c.key, c.table = true, table
		c.count, _ = in.View.buckets.Count(c.tier)
	case info.Reason != "" || insert && !anyParameter(info.Values):
		c.reason, c.detail, c.unasked = NotRoutable, info.Reason, insert
	default:
		c.reason, c.unasked = MetaMiss, insert
		if in.View.tables != nil { // it was made after _pico_table was read
			c.refresh = schema.HintTables
		}
		if !insert {
			c.detail = "the table's distribution isn't known: _pico_table must be readable"
		}
	}
}

// tierOf is the statement's tier, where it is known.
func tierOf(in *Input, table *keyTable) string {
	switch {
	case in.KeyKnown && in.Key.Tier != "":
		return in.Key.Tier
	case table != nil:
		return table.tier
	}
	return ""
}

func anyParameter(values []sqltext.Ref) bool {
	for _, v := range values {
		if v.Param >= 0 {
			return true
		}
	}
	return false
}

// toOwner computes the bucket and sends the statement to its owner.
func toOwner(in *Input, c *Candidate) Plan {
	v := in.View
	p := Plan{Tier: c.tier}
	if c.count == 0 {
		p.Reason, p.Detail = v.noBuckets(c.tier)
		return noShard(in, p, c.tier)
	}
	if c.params != nil {
		var key bucket.Key
		p.Reason, p.Detail = hashParams(&key, in.Args, c.params, v.double)
		v.own(&p, key.Bucket(c.count))
	} else {
		for row := 0; p.Reason == NoReason && row < max(in.Info.Rows, 1); row++ {
			var key bucket.Key
			if reason, detail := hashOwn(&key, in, c.table, row, v.double); reason != NoReason {
				p = Plan{Tier: c.tier, Reason: reason, Detail: detail}
				break
			}
			v.own(&p, key.Bucket(c.count))
		}
		if in.Info.Rows > 1 && p.Reason != NoReason {
			p.BucketKnown = false // nothing is known of the rows behind
		}
	}
	if p.Reason != NoReason {
		return noShard(in, p, c.tier)
	}
	if o, ok := v.owners[p.ReplicasetUUID]; ok {
		p.Replicaset = o.replicaset.Name
		if in.Info.Class == sqltext.Read {
			if role, any := v.readRole(); any || role == options.RoleReplica {
				p.Kind, p.Role = Filter, role
				return p
			}
		}
		o.lead(&p)
		return p
	}
	p.Reason = NoLeader
	if v.topology != nil && v.topology.RolesKnown {
		p.Refresh = schema.HintUnknownReplicaset
	}
	return p
}

// own adds a row's bucket to a plan: its replicaset must be the one of the rows before.
func (v *View) own(p *Plan, b uint64) {
	if p.Reason != NoReason || (p.BucketKnown || p.Shared) && b == p.Bucket {
		return
	}
	owner, ok := v.buckets.Lookup(p.Tier, b)
	switch {
	case !ok:
		p.Reason, p.Detail, p.Refresh = NoBucket, "no replicaset owns it by the current map", schema.HintBuckets
		p.Bucket, p.BucketKnown = b, !p.Shared && !p.BucketKnown
		return
	case p.ReplicasetUUID == "":
		p.ReplicasetUUID, p.BucketKnown = owner, true
	case p.ReplicasetUUID != owner:
		*p = Plan{Tier: p.Tier, Reason: SeveralOwners}
		return
	default:
		p.BucketKnown, p.Shared = false, true
	}
	p.Bucket = b
}

// readRole is where the server would read: any node of the replicaset, or one of that role.
func (v *View) readRole() (role options.InstanceRole, any bool) {
	switch {
	case v.cfg.InstanceRole == options.RoleReplica, v.cfg.ReadPreference == options.ReadPreferenceReplica:
		return options.RoleReplica, false
	case v.cfg.ReadPreference == options.ReadPreferenceAny && v.cfg.InstanceRole == options.RoleAny:
		return options.RoleAny, true
	}
	return options.RoleLeader, false
}

// lead fills in the leader, or why it can't be used.
func (o *owner) lead(p *Plan) {
	if o.leader == nil {
		p.Reason = NoLeader
		if o.replicaset.Switching {
			p.Detail = "the replicaset is switching"
		}
		return
	}
	p.InstanceUUID, p.Instance = o.leader.UUID, o.leader.Name
	switch o.excluded {
	case metadata.Included:
		p.Kind, p.Role = Leader, options.RoleLeader
	case metadata.NotOnline:
		p.Reason, p.Detail = NoLeader, o.excluded.String()
	default:
		p.Reason, p.Detail = RoleExcluded, o.excluded.String()
	}
}

// noBuckets says why the tier's buckets aren't known.
func (v *View) noBuckets(tier string) (Reason, string) {
	if !v.anyBuckets {
		return NoTopology, ""
	}
	return UnknownTier, tier
}

// compareNatural orders names as people count: runs of digits by their value, the rest by
// bytes. Names that differ only in leading zeros are ordered by bytes.
func compareNatural(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if isDigit(a[i]) && isDigit(b[j]) {
			x, y := digits(a, &i), digits(b, &j)
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			continue
		}
		if a[i] != b[j] {
			return cmp.Compare(a[i], b[j])
		}
		i++
		j++
	}
	return cmp.Or(cmp.Compare(len(a)-i, len(b)-j), cmp.Compare(a, b))
}

// digits takes a run of digits and leaves out the zeros before it.
func digits(s string, at *int) string {
	i := *at
	for i < len(s)-1 && s[i] == '0' && isDigit(s[i+1]) {
		i++
	}
	from := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	*at = i
	return s[from:i]
}

func isDigit(c byte) bool { return c-'0' <= 9 }
