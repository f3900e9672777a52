package picodata

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/options"
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
	pool.WeightsAllZero: slog.LevelWarn,
}

// logEvent logs what happens in the gate.
func logEvent(ctx context.Context, log *slog.Logger, e pool.Event) {
	level := levels[e.Kind]
	if !log.Enabled(ctx, level) {
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
	log.LogAttrs(ctx, level, "picodata: "+e.Kind.String(), attrs...)
}

// noticeQueue is how many notices may wait for a slow handler; more are dropped and counted.
const noticeQueue = 1024

// notices hands the servers' notices to the user's handler on a goroutine of its own, which lives as long as
// there are some: a handler that blocks holds up no statement.
type notices struct {
	handler func(options.Notice)
	dropped atomic.Uint64

	mu      sync.Mutex
	waiting []options.Notice
	running bool
}

// put takes a notice. It never blocks.
func (q *notices) put(n options.Notice) {
	if q.handler == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= noticeQueue {
		q.dropped.Add(1)
		return
	}
	q.waiting = append(q.waiting, n)
	if !q.running {
		q.running = true
		go q.deliver()
	}
}

func (q *notices) deliver() {
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.waiting, q.running = nil, false
			q.mu.Unlock()
			return
		}
		n := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		q.handler(n)
	}
}
