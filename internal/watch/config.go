package watch

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// Config configures a Watcher.
type Config struct {
	Config *options.Config // required; not changed
	// Dial opens a control connection, login included. It must heed its context, which
	// bounds it by connect_timeout.
	Dial func(ctx context.Context, t Target) (Conn, error)
	// Fatal tells a Dial error that every other node would give too, such as a wrong
	// password: then the others aren't tried, Start returns it, and the next attempt waits. nil = none is.
	Fatal func(error) bool
	// OnTopology hears of every change. old is nil at first. It runs on the Watcher's
	// goroutine: refreshes wait for it, statements don't.
	OnTopology func(old, new *metadata.Topology)
	// OnBuckets hears of every change of the bucket map, on the same goroutine.
	OnBuckets func(*metadata.BucketMap)
	// OnTables hears of every new reading of _pico_table, on the same goroutine; of nil when the user
	// may not read it any more.
	OnTables func(map[string]schema.Table)

	// Urgent, if set, is asked after every reading: true has the next leader looked for at once and at short
	// intervals, because statements wait for one that is known to be dead.
	Urgent func() bool

	Logger *slog.Logger  // nil = Config.Logger, or none
	Clock  options.Clock // nil = Config.Clock, or the system's

	QueryTimeout time.Duration // of each query; 0 = 3s
	BucketFloor  time.Duration // bucket map and tables are read anew after this, less often while the map stays as it is; 0 = 5m
	Stagger      time.Duration // a node may be silent for this before another is dialled beside it, a fifth of it at first; 0 = 250ms
	Rand         *rand.Rand    // for jitter, the random start and the node that is asked; nil = a fresh one
	Stay         bool          // stay at the node that answered first
	Source       Source        // nil = the SQL on system tables
}
