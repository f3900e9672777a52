package engine

import (
	"errors"
	"fmt"
	"strings"

	sqlite3 "github.com/ncruces/go-sqlite3"
)

// runState is what functions of a running statement see of the world.
type runState struct {
	sys  *System
	self InstanceRow // where the client is connected
	now  Datetime
	lets map[string]cell // LET variables of a block
}

func (r *runState) instance(uuid string) (InstanceRow, bool) {
	if r == nil || r.sys == nil {
		return InstanceRow{}, false
	}
	for _, i := range r.sys.Instances {
		if i.UUID == uuid {
			return i, true
		}
	}
	return InstanceRow{}, false
}

// versionText is what version() says: with a word before it since 26.2.
func versionText(build string) string {
	var major, minor int
	if _, err := fmt.Sscanf(build, "%d.%d", &major, &minor); err == nil && (major > 26 || major == 26 && minor >= 2) {
		return "picodata " + build
	}
	return build
}

// defineLiveFunctions defines the functions that look at the cluster. They aren't deterministic: the state changes between runs.
func (d *db) defineLiveFunctions() error {
	var errs []error
	def := func(name string, args int, f func(a []cell) (cell, string)) {
		errs = append(errs, d.conn.CreateFunction(name, args, 0, func(ctx sqlite3.Context, arg ...sqlite3.Value) {
			a := make([]cell, len(arg))
			for i, v := range arg {
				a[i] = argCell(v)
			}
			r, text := f(a)
			if text != "" {
				d.fail(ctx, text)
				return
			}
			resultCell(ctx, r)
		}))
	}
	about := func(name string, f func(i InstanceRow) string) {
		def(name, 1, func(a []cell) (cell, string) {
			uuid, ok := a[0].(string)
			if !ok {
				return nil, ""
			}
			i, ok := d.run.instance(uuid)
			if !ok {
				return nil, ""
			}
			return f(i), ""
		})
	}
	about("p_name", func(i InstanceRow) string { return i.Name })
	about("p_replicaset", func(i InstanceRow) string { return i.ReplicasetName })
	about("p_tier", func(i InstanceRow) string { return i.Tier })
	about("p_dir", func(i InstanceRow) string { return i.Dir })
	about("p_config", func(i InstanceRow) string { return i.ConfigFile })
	about("p_version", func(i InstanceRow) string { return versionText(i.Version) })
	about("p_health", healthJSON)
	def("p_self", 0, func([]cell) (cell, string) { return d.run.self.UUID, "" })
	def("p_let", 1, func(a []cell) (cell, string) { return d.run.lets[cellText(a[0])], "" })
	def("p_raft_id", 0, func([]cell) (cell, string) { return int64(d.run.sys.RaftLeaderID), "" })
	def("p_raft_uuid", 0, func([]cell) (cell, string) {
		if d.run.sys.RaftLeader == "" {
			return nil, ""
		}
		return d.run.sys.RaftLeader, ""
	})
	def("p_now", 1, func(a []cell) (cell, string) {
		now := d.run.now
		if a[0] == cell(int64(0)) {
			now.Sec -= ((now.Sec % 86400) + 86400) % 86400
			now.Nsec = 0
		}
		return now.cell(), ""
	})
	def("p_buckets", 1, func(a []cell) (cell, string) {
		tier, ok := a[0].(string)
		if !ok {
			return nil, "_pico_bucket: tier name is null"
		}
		ranges, ok := d.run.sys.Buckets[tier]
		if !ok || len(ranges) == 0 {
			return nil, fmt.Sprintf("_pico_bucket: tier '%s' doesn't exist", tier)
		}
		return bucketsJSON(tier, ranges), ""
	})
	return errors.Join(errs...)
}

// bucketsJSON writes the answer of _pico_bucket(), its keys in the server's order.
func bucketsJSON(tier string, ranges []BucketRange) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, r := range ranges {
		if i > 0 {
			b.WriteByte(',')
		}
		target, state := r.Target, r.State
		if target == "" {
			target = r.Replicaset
		}
		if state == "" {
			state = "active"
		}
		fmt.Fprintf(&b, `{"bucket_id_start":%d,"target_replicaset_uuid":%s,"tier_name":%s,"state":%s,"current_replicaset_uuid":%s,"bucket_id_end":%d}`,
			r.First, quoteJSON(target), quoteJSON(tier), quoteJSON(state), quoteJSON(r.Replicaset), r.Last)
	}
	b.WriteByte(']')
	return b.String()
}

func healthJSON(i InstanceRow) string {
	return fmt.Sprintf(`{"name":%s,"uuid":%s,"version":%s,"raft_id":%d,"tier":%s,"replicaset":%s,"current_state":%s,"target_state":%s}`,
		quoteJSON(i.Name), quoteJSON(i.UUID), quoteJSON(i.Version), i.RaftID, quoteJSON(i.Tier), quoteJSON(i.ReplicasetName),
		i.CurrentState, i.TargetState)
}
