package exec

import (
	"math/rand/v2"
	"slices"

	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/options"
)

// degrade has a read of one owner that would wait for a leader answered by a living replica, where stale_reads allows it.
// The statement itself says so to the server: OPTION (read_preference = any) makes an instance of the owner answer by
// what it has.
func (r *run) degrade(dead *deadLeader) bool {
	x, p := r.x, &r.plan
	if x.Options.StaleReads != options.StaleReadsDegraded || r.op != opQuery || !r.text.Info.PlainRead || !p.BucketKnown || sqltext.HasOption(r.text.SQL) {
		return false
	}
	all := x.routing.view.Load().Standbys(p.ReplicasetUUID)
	for _, i := range rand.Perm(len(all)) {
		in := all[i]
		if dead != nil && in.UUID == dead.node.ID || x.Pool.Ejected(in.UUID) || slices.Contains(r.avoid[:], in.UUID) {
			continue
		}
		p.Kind, p.Role, p.Strict, p.Reason, p.Detail = route.Filter, options.RoleAny, true, route.StaleRead, ""
		p.InstanceUUID, p.Instance = in.UUID, in.Name
		if x.dead.degraded(p.ReplicasetUUID) {
			x.Logger.Warn("picodata: leader doesn't answer, a replica that may be behind answers reads", "replicaset", p.Replicaset, "tier", p.Tier, "node", in.Name, "address", in.Address)
		}
		return true
	}
	return false
}

// degraded notes that replicas answer for a replicaset. It reports whether that is new.
func (d *dead) degraded(replicaset string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.behind[replicaset] {
		return false
	}
	if d.behind == nil {
		d.behind = map[string]bool{}
	}
	d.behind[replicaset] = true
	return true
}

// staleText is what a replica is sent.
func (r *run) staleText() string {
	blanks := r.sql[len(r.text.SQL):] // that its arguments need, see variant
	return withOption(r.text.SQL, "read_preference = any") + blanks
}
