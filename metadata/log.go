package metadata

import (
	"log/slog"
	"strings"

	"github.com/picodata/go-picodata/options"
)

// logChanges writes a line for everything that happened between two snapshots.
func (w *Watcher) logChanges(old, new *Topology) {
	for _, e := range Diff(old, new) {
		level := slog.LevelInfo
		switch {
		case old == nil && (e.Kind == Joined || e.Kind == ReplicasetAdded):
			level = slog.LevelDebug // the first snapshot isn't news
		case e.Kind == StateChanged && e.To != string(Online), e.Kind == SwitchStarted:
			level = slog.LevelWarn
		}
		w.log.LogAttrs(w.ctx, level, "picodata: topology: "+e.Kind.String(), e.attrs()...)
	}
	if old == nil {
		w.log.LogAttrs(w.ctx, slog.LevelInfo, "picodata: topology known", slog.String("node", new.ReadFrom), slog.Int("instances", len(new.Instances)),
			slog.Int("replicasets", len(new.Replicasets)), slog.Int("tiers", len(new.Tiers)), slog.String("rights", rights(new)))
	}
	for _, table := range new.Denied {
		w.noteDenied(table)
	}
	if w.options.ReadPreference == options.ReadPreferenceReplica {
		without := ReplicasetsWithoutReplica(new)
		if all := strings.Join(without, ","); all != w.loop.hanging {
			w.loop.hanging = all
			if all != "" {
				w.log.Warn("picodata: reads hang, no replica is Online", "replicasets", without, "help", "prefer read_preference=any to replica")
			}
		}
	}
}

// noteDenied says once for each table what is missing and which statement would help.
func (w *Watcher) noteDenied(table string) {
	if w.loop.grants[table] {
		return
	}
	if w.loop.grants == nil {
		w.loop.grants = map[string]bool{}
	}
	w.loop.grants[table] = true
	w.log.Warn("picodata: degraded: the user may not read a system table", "table", table, "lost", lost(table), "grant", GrantFor(table, w.options.User))
}

// logBuckets warns of a map that isn't whole.
func (w *Watcher) logBuckets(tier string) {
	for _, t := range w.Buckets().Tiers() {
		if t.Tier != tier {
			continue
		}
		level := slog.LevelDebug
		if t.Missing > 0 || t.Overlapped > 0 {
			level = slog.LevelWarn
		}
		w.log.Log(w.ctx, level, "picodata: bucket map", "tier", tier, "buckets", t.Count, "ranges", t.Ranges,
			"missing", t.Missing, "overlapped", t.Overlapped, "inactive", t.Inactive)
	}
}
