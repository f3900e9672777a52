package watch

import (
	"log/slog"
	"strings"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// logChanges writes a line for everything that happened between two snapshots.
func (w *Watcher) logChanges(old, new *metadata.Topology) {
	for _, e := range metadata.Diff(old, new) {
		level := slog.LevelInfo
		switch {
		case old == nil && (e.Kind == metadata.Joined || e.Kind == metadata.ReplicasetAdded):
			level = slog.LevelDebug // the first snapshot isn't news
		case e.Kind == metadata.StateChanged && e.To != string(metadata.Online), e.Kind == metadata.SwitchStarted:
			level = slog.LevelWarn
		}
		w.log.LogAttrs(w.ctx, level, "picodata: topology: "+e.Kind.String(), attrs(e)...)
	}
	if old == nil {
		w.log.LogAttrs(w.ctx, slog.LevelInfo, "picodata: topology known", slog.String("node", new.ReadFrom), slog.Int("instances", len(new.Instances)),
			slog.Int("replicasets", len(new.Replicasets)), slog.Int("tiers", len(new.Tiers)), slog.String("rights", new.Rights()))
	}
	for _, table := range new.Denied {
		w.noteDenied(table)
	}
	if w.options.ReadPreference == options.ReadPreferenceReplica {
		without := metadata.ReplicasetsWithoutReplica(new)
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
	w.log.Warn("picodata: degraded: the user may not read a system table", "table", table, "lost", lost(table), "grant", metadata.GrantFor(table, w.options.User))
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

// attempts are the errors of several tries, one after another on one line: errors.Join would
// break the log's lines.
type attempts []error

func (a attempts) Error() string {
	texts := make([]string, len(a))
	for i, err := range a {
		texts[i] = bare{err}.Error()
	}
	return "picodata: " + strings.Join(texts, "; ")
}

func (a attempts) Unwrap() []error { return a }

// bare is an error inside a text that says already whose it is.
type bare struct{ err error }

func (b bare) Error() string { return strings.TrimPrefix(b.err.Error(), "picodata: ") }
func (b bare) Unwrap() error { return b.err }
