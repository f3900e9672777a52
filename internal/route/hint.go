package route

import (
	"github.com/picodata/go-picodata/internal/bucket"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// hinted obeys the caller's hint. What it names and the cluster has is binding: the statement
// never moves elsewhere. A bucket or key whose owner can't be told is left to the policy with a
// reason, for then nobody knows where it belongs.
func hinted(in *Input) Plan {
	v, h := in.View, in.Hint
	p := Plan{Kind: Filter, Strict: true, Hinted: true, Role: h.Role, Tier: h.Tier}
	known := v.topology != nil && !v.topology.Static
	if h.BucketSet || h.KeySet {
		if !v.hintBucket(in, &p) {
			return p
		}
	} else if h.Tier != "" && known {
		if _, ok := v.topology.Tier(h.Tier); !ok && len(v.topology.Tiers) > 0 {
			return invalid(p, &UnknownNameError{What: "tier", Name: h.Tier})
		}
	}
	if h.Replicaset != "" {
		s, ok := v.replicaset(h.Replicaset)
		switch {
		case ok && p.ReplicasetUUID != "" && p.ReplicasetUUID != s.UUID:
			// A key and a replicaset that doesn't own it: the replicaset was named, it counts.
			p.BucketKnown = false
			p.ReplicasetUUID, p.Replicaset = s.UUID, s.Name
		case ok:
			p.ReplicasetUUID, p.Replicaset = s.UUID, s.Name
		case known:
			return invalid(p, &UnknownNameError{What: "replicaset", Name: h.Replicaset})
		default:
			p.ReplicasetUUID = h.Replicaset
		}
	}
	if h.Instance != "" {
		instance, ok := v.instance(h.Instance)
		switch {
		case ok:
			p.InstanceUUID, p.Instance = instance.UUID, instance.Name
		case known:
			return invalid(p, &UnknownNameError{What: "instance", Name: h.Instance})
		default:
			p.InstanceUUID = h.Instance
		}
	}
	if p.InstanceUUID == "" && p.ReplicasetUUID == "" && p.Tier == "" && p.Role == options.RoleAny {
		p.Kind, p.Strict = Balance, false // only an undecided bucket was asked for
	}
	return p
}

// hintBucket turns a bucket or key into a replicaset. false: the plan is final.
func (v *View) hintBucket(in *Input, p *Plan) bool {
	h := in.Hint
	if p.Tier == "" {
		p.Tier = v.defaultTier
	}
	count, ok := v.buckets.Count(p.Tier)
	if !ok {
		reason, detail := v.noBuckets(p.Tier)
		p.Refresh = schema.HintBuckets // where nobody else needs the map it is read when a hint asks
		return v.undecided(p, reason, detail)
	}
	p.Bucket = h.Bucket
	if h.KeySet {
		var key bucket.Key
		for _, value := range h.Key {
			bound, oid, why := bucket.FromGo(value)
			if why == "" {
				why = key.Add(bound, oid, v.double)
			}
			if why != "" {
				return v.undecided(p, NoBucket, why)
			}
		}
		p.Bucket = key.Bucket(count)
	}
	if p.Bucket < 1 || p.Bucket > count {
		*p = invalid(*p, &BucketRangeError{Tier: p.Tier, Bucket: p.Bucket, Count: count})
		return false
	}
	p.BucketKnown = true
	uuid, ok := v.buckets.Lookup(p.Tier, p.Bucket)
	if !ok {
		p.BucketKnown, p.Refresh = false, schema.HintBuckets
		return v.undecided(p, NoBucket, "no replicaset owns it by the current map")
	}
	p.ReplicasetUUID = uuid
	if s, ok := v.replicaset(uuid); ok {
		p.Replicaset = s.Name
	}
	// Where roles aren't known, any node of the replicaset is the nearest to it.
	if p.Role == options.RoleAny && h.Instance == "" && v.topology != nil && v.topology.RolesKnown {
		p.Role = options.RoleLeader
	}
	return true
}

// undecided leaves the bucket out of the plan, with the reason.
func (v *View) undecided(p *Plan, reason Reason, detail string) bool {
	p.Reason, p.Detail, p.Tier, p.Bucket = reason, detail, "", 0
	return true
}

func invalid(p Plan, err error) Plan {
	p.Kind, p.Err = Invalid, err
	return p
}

// replicaset finds a replicaset by uuid or name.
func (v *View) replicaset(nameOrUUID string) (Shard, bool) {
	if v.topology == nil {
		return Shard{}, false
	}
	if r, ok := v.topology.Replicaset(nameOrUUID); ok {
		return Shard{UUID: r.UUID, Name: r.Name, Tier: r.Tier}, true
	}
	for i := range v.topology.Replicasets {
		if r := &v.topology.Replicasets[i]; r.Name == nameOrUUID && r.State != "expelled" {
			return Shard{UUID: r.UUID, Name: r.Name, Tier: r.Tier}, true
		}
	}
	for i := range v.topology.Instances { // where _pico_replicaset can't be read
		in := &v.topology.Instances[i]
		if in.State != metadata.Expelled && (in.ReplicasetUUID == nameOrUUID || in.ReplicasetName == nameOrUUID) {
			return Shard{UUID: in.ReplicasetUUID, Name: in.ReplicasetName, Tier: in.Tier}, true
		}
	}
	return Shard{}, false
}

// instance finds an instance by name or uuid.
func (v *View) instance(nameOrUUID string) (*metadata.Instance, bool) {
	if in, ok := v.topology.ByName(nameOrUUID); ok {
		return in, true
	}
	return v.topology.Instance(nameOrUUID)
}
