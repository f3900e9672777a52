package watch

import (
	"context"
	"log/slog"
	"strings"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// reporter writes what happens to the cluster to the log.
type reporter struct {
	log     *slog.Logger
	options *options.Config
	grants  *grants
	hanging string // replicasets without a replica already told of
}

// changes writes a line for everything that happened between two snapshots.
func (r *reporter) changes(ctx context.Context, old, new *metadata.Topology) {
	for _, e := range metadata.Diff(old, new) {
		level := slog.LevelInfo
		switch {
		case old == nil && (e.Kind == metadata.Joined || e.Kind == metadata.ReplicasetAdded):
			level = slog.LevelDebug // the first snapshot isn't news
		case e.Kind == metadata.StateChanged && e.To != string(metadata.Online), e.Kind == metadata.SwitchStarted:
			level = slog.LevelWarn
		}
		r.log.LogAttrs(ctx, level, "picodata: topology: "+e.Kind.String(), attrs(e)...)
	}
	if old == nil {
		r.log.LogAttrs(ctx, slog.LevelInfo, "picodata: topology known", slog.String("node", new.ReadFrom), slog.Int("instances", len(new.Instances)),
			slog.Int("replicasets", len(new.Replicasets)), slog.Int("tiers", len(new.Tiers)), slog.String("rights", new.Rights()))
	}
	for _, table := range new.Denied {
		r.grants.note(table)
	}
	if r.options.ReadPreference == options.ReadPreferenceReplica {
		without := metadata.ReplicasetsWithoutReplica(new)
		if all := strings.Join(without, ","); all != r.hanging {
			r.hanging = all
			if all != "" {
				r.log.Warn("picodata: reads hang, no replica is Online", "replicasets", without, "help", "prefer read_preference=any to replica")
			}
		}
	}
}

// grants says once for each table what is missing and which statement would help.
type grants struct {
	log  *slog.Logger
	user string
	told map[string]bool
}

func (g *grants) note(table string) {
	if g.told[table] {
		return
	}
	g.told[table] = true
	g.log.Warn("picodata: degraded: the user may not read a system table", "table", table, "lost", lost(table), "grant", metadata.GrantFor(table, g.user))
}

// lost tells what the driver can't do without the right to read the table.
func lost(table string) string {
	switch table {
	case tableInstance, tablePeerAddress:
		return "the cluster's instances are unknown, only the nodes of the DSN are used"
	case tableReplicaset:
		return "leaders are unknown: no routing to leaders, instance_role=leader and replica can't be met"
	case tableTier:
		return "tiers without buckets can't be told from others until their buckets are asked for"
	case tableTable:
		return "sharding keys are learnt from the server's notices only"
	default:
		return ""
	}
}

// logBuckets warns of a map that isn't whole.
func logBuckets(log *slog.Logger, m *metadata.BucketMap, tier string) {
	for _, t := range m.Tiers() {
		if t.Tier != tier {
			continue
		}
		level := slog.LevelDebug
		if t.Missing > 0 || t.Overlapped > 0 {
			level = slog.LevelWarn
		}
		log.Log(context.Background(), level, "picodata: bucket map", "tier", tier, "buckets", t.Count, "ranges", t.Ranges,
			"missing", t.Missing, "overlapped", t.Overlapped, "inactive", t.Inactive)
	}
}

// attrs are the event's attributes in a log line. What the name is the name of, the key says.
func attrs(e metadata.Event) []slog.Attr {
	name := "node"
	switch e.Kind {
	case metadata.ReplicasetAdded, metadata.ReplicasetGone, metadata.SwitchStarted, metadata.SwitchEnded:
		name = "replicaset"
	case metadata.SeedIdentified:
		name = "address"
	}
	attrs := make([]slog.Attr, 0, 5)
	for _, a := range []struct{ key, value string }{{name, e.Name}, {"uuid", e.UUID}, {"tier", e.Tier}, {"from", e.From}, {"to", e.To}} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.key, a.value))
		}
	}
	return attrs
}
