package picodata

import (
	"log/slog"
	"sync"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/schema"
)

// levels says at which level an event of the gate is logged. What happens with every
// connection is for debugging only.
var levels = map[pool.EventKind]slog.Level{
	pool.NodeJoined:     slog.LevelInfo,
	pool.NodeChanged:    slog.LevelInfo,
	pool.NodeDraining:   slog.LevelInfo,
	pool.NodeGone:       slog.LevelInfo,
	pool.NodeEjected:    slog.LevelWarn,
	pool.ProbeFailed:    slog.LevelWarn,
	pool.NodeReadmitted: slog.LevelInfo,
	pool.NodeFull:       slog.LevelWarn,
	pool.DialFailed:     slog.LevelInfo,
	pool.LoginRefused:   slog.LevelError,
	pool.ConnOpened:     slog.LevelDebug,
	pool.ConnClosed:     slog.LevelDebug,
	pool.AllEjected:     slog.LevelWarn,
	pool.OverflowBegan:  slog.LevelInfo,
	pool.CapRaised:      slog.LevelWarn,
	pool.BalancerFailed: slog.LevelError,
}

// poolEvent logs what happens in the gate, and has the topology read again where that may explain it.
func (c *Connector) poolEvent(e pool.Event) {
	switch e.Kind {
	case pool.DialFailed, pool.NodeEjected:
		c.watcher.Hint(schema.HintConnectionLost)
	}
	c.routing.ejections.note(e)
	level := levels[e.Kind]
	if !c.log.Enabled(c.done, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 12)
	if n := e.Node; n != nil {
		attrs = append(attrs, slog.String("node", n.Name), slog.String("address", n.Address))
		switch e.Kind {
		case pool.NodeJoined, pool.NodeChanged, pool.NodeDraining, pool.NodeGone: // what the node is
			attrs = append(attrs, slog.String("replicaset", n.ReplicasetName), slog.String("tier", n.Tier), slog.String("role", n.Role.String()), slog.Bool("used", n.Eligible))
		}
	}
	if e.Reason != "" {
		attrs = append(attrs, slog.String("reason", e.Reason))
	}
	if e.For > 0 {
		attrs = append(attrs, slog.Duration("for", e.For))
	}
	if e.InUse > 0 {
		attrs = append(attrs, slog.Int("in_use", e.InUse))
	}
	if e.Max > 0 {
		attrs = append(attrs, slog.Int("max", e.Max))
	}
	if e.Kind == pool.AllEjected {
		attrs = append(attrs, slog.Bool("on", e.On))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	c.log.LogAttrs(c.done, level, "picodata: "+e.Kind.String(), attrs...)
}

// ejections knows the nodes that are ejected, as the gate's events tell. Routing asks it to
// name the reason why a leader wasn't used.
type ejections struct{ ids sync.Map }

func (x *ejections) note(e pool.Event) {
	switch e.Kind {
	case pool.NodeEjected, pool.ProbeFailed:
		x.ids.Store(e.Node.ID, true)
	case pool.NodeReadmitted, pool.NodeGone, pool.NodeJoined:
		x.ids.Delete(e.Node.ID)
	}
}

func (r *routing) ejected(id string) bool {
	_, ok := r.ejections.ids.Load(id)
	return ok
}
