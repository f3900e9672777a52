// Package exec is the way of one statement: its text is read, a node is chosen, a connection leased, the server
// asked, and what comes back judged: handed to the caller, or run again where that is proved to be safe.
//
// A Checkout is what one database/sql connection holds between its first statement and its return to the pool. It
// leases a physical connection for its first statement and keeps it for those that follow.
package exec

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picodata/go-picodata/internal/mirror"
	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/pool/nodeset"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// Parts are what an Executor works with. All but Tracer are required.
type Parts struct {
	Options *options.Config // read only
	Clock   options.Clock
	Logger  *slog.Logger
	Pool    Pool
	Cluster Cluster
	Faults  Faults
	Tracer  Tracer // nil: nobody listens
}

// Pool leases connections.
type Pool interface {
	Lease(ctx context.Context, req pool.Request) (pool.Lease, error)
	Apply(nodes []pool.NodeSpec)
	// Ejected reports whether a node isn't used at present because its connections failed.
	Ejected(id string) bool
}

// Cluster knows what the cluster looks like.
type Cluster interface {
	// Start waits until the nodes are known. Its error is the caller's.
	Start(ctx context.Context) error
	Topology() *metadata.Topology // nil: not known yet
	Buckets() *metadata.BucketMap
	// Probe asks a node over a connection of its own whether it answers.
	Probe(ctx context.Context, n *pool.NodeInfo) error
	// Hint has the topology read again soon.
	Hint(why schema.Reason)
}

// Faults makes the errors that programs see.
type Faults interface {
	// Server is what a server answered with.
	Server(r *Refused) error
	// Undecodable is an answer that the client can't decode; err wraps a *wire.DecodeError.
	Undecodable(err error, n *pool.NodeInfo) error
	// Unknown says that nobody can tell whether the statement took effect.
	Unknown(u *Unknown) error
	// Pool is the public form of an error of Pool.Lease.
	Pool(err error) error
	// Plan is the public form of the error of a plan that can't be met.
	Plan(err error) error
	// Hazard is the public form of a refusal of what a server would take and spoil.
	Hazard(err error) error
	// Leaderless says that a statement waited for a leader, and was not sent.
	Leaderless(l *Leaderless) error
	// RolesUnknown says which grants would tell who leads.
	RolesUnknown(grants []string, cause error) error
}

// Refused describes a server's refusal.
type Refused struct {
	Err    error // it wraps the server's
	Node   *pool.NodeInfo
	Partly bool   // others may have applied their part of the statement
	Help   string // what of the text the server doesn't know; "" = nothing is known about that
}

// Unknown describes an attempt of which nobody can tell whether it took effect.
type Unknown struct {
	Node        *pool.NodeInfo
	Fingerprint string
	Partly      bool // some replicasets may have applied their part
	Cause       error
}

// Tracer hears of statements on their way. It is told on the caller's goroutine and must not block.
type Tracer interface {
	// Statement hears of one that begins. The context goes with it; end, unless nil, is called when it is over.
	Statement(ctx context.Context, s *Started) (_ context.Context, end func(*Ended))
	// Lease hears of a wait for a connection; end, unless nil, is called when it is over.
	Lease(ctx context.Context, reason string) (_ context.Context, end func(*pool.NodeInfo, error))
	// Routed hears where a statement is to run.
	Routed(ctx context.Context, p *route.Plan)
}

// Started describes a statement that begins.
type Started struct {
	Operation string // query, exec, ping or prepare
	Text      *Text
	Args      int
}

// Ended describes a statement that is over.
type Ended struct {
	Node     *pool.NodeInfo // the one that ran it last; nil: none
	Reason   string         // why there; "" on a checkout that was tied to its node before
	Attempts int
	Rows     int64 // delivered, or touched
	Err      error
}

// broadcast wakes all who wait for something.
type broadcast struct {
	mu sync.Mutex
	c  chan struct{}
}

// wait gives a channel that the next send closes.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}

// Executor runs the statements of one connector. It is safe for concurrent use.
type Executor struct {
	Parts
	texts   *textCache
	routing routing
	roles   roles
	rules   *nodeset.Rules
	stuck   stuck
	dead    dead
	budget  budget
	mirror  *mirror.Mirror // nil: none

	// eager: some middleware hides driver.Validator, through which database/sql says that a checkout
	// is over. Then a lease ends with its operation.
	eager atomic.Bool

	mu        sync.Mutex
	checkouts map[*Checkout]struct{}
	changed   broadcast   // a snapshot is in force that differs from the one before
	started   atomic.Bool // the pool knows nodes
	reached   atomic.Bool // a node has been connected to
	closed    atomic.Bool
	done      context.Context // ends with Close
	end       context.CancelFunc
}

// New makes an executor. Nothing runs yet.
func New(parts Parts) *Executor {
	o := parts.Options
	x := &Executor{
		Parts:     parts,
		texts:     newTextCache(o.QueryMetadataCacheSize, o.StripComments),
		checkouts: make(map[*Checkout]struct{}),
		rules:     nodeset.NewRules(o),
	}
	x.routing.x = x
	x.done, x.end = context.WithCancel(context.Background())
	return x
}

// Close ends waits and timers. Statements that are under way go on until their connections are closed.
func (x *Executor) Close() {
	if x.closed.Swap(true) {
		return
	}
	x.end()
	x.roles.stop()
	x.stuck.stop()
	x.dead.stop()
	if x.mirror != nil {
		x.mirror.Close()
	}
}

// Errors that programs know by the names that package picodata gives them.
var (
	ErrClosed  = pool.ErrClosed
	ErrNoShard = errors.New("picodata: the statement names no shard: give its sharding key as parameters, use picodata.ShardKey or picodata.ToBucket, or set no_shard_specified_behavior to something else than fail")
)

// NotSentError says that a connection was lost before a byte of the statement was written, as
// often as the driver was willing to try.
type NotSentError struct {
	node  *pool.NodeInfo
	cause error
}

// Error names the node.
func (e *NotSentError) Error() string {
	return "picodata: connection to " + e.node.String() + " lost before the statement was sent: " + e.cause.Error()
}

// Unwrap gives the cause.
func (e *NotSentError) Unwrap() error { return e.cause }

// NotRunError is a context's error that came before a server had run anything of the statement.
type NotRunError struct{ cause error }

// Error is the context's error and what it means for the statement, unless the error says that itself.
func (e *NotRunError) Error() string {
	if contextCause(e.cause) == e.cause {
		return e.cause.Error() + "; nothing of the statement ran"
	}
	return e.cause.Error()
}

// Unwrap gives the context's error.
func (e *NotRunError) Unwrap() error { return e.cause }

// Stats are an executor's counters.
type Stats struct {
	Statements StatementStats
	Routing    map[string]uint64 // decisions by name
	Mirror     mirror.Stats      // zero without mirror
	Texts      int               // SQL texts remembered
	Eager      bool              // leases are per statement
}

// Stats is a snapshot. It takes no lock that a statement holds for long.
func (x *Executor) Stats() Stats {
	s := Stats{Statements: x.budget.stats(), Routing: x.routing.snapshot(), Texts: x.texts.len(), Eager: x.eager.Load()}
	if x.mirror != nil {
		s.Mirror = x.mirror.Stats()
	}
	return s
}

// goEager switches to a lease per operation, and takes back the leases that checkouts hold idly.
func (x *Executor) goEager() {
	if x.eager.Swap(true) {
		return
	}
	x.Logger.Info("picodata: connections are leased per statement from here on", "reason", "a wrapper of the driver hides driver.Validator", "help", "a sql.Conn is no longer tied to one of them")
	for _, c := range x.all() {
		c.releaseIfIdle()
	}
}

// all are the open checkouts.
func (x *Executor) all() []*Checkout {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make([]*Checkout, 0, len(x.checkouts))
	for c := range x.checkouts {
		all = append(all, c)
	}
	return all
}

// sleep waits for d of the clock, or until ctx or the executor ends.
func (x *Executor) sleep(ctx context.Context, d time.Duration) error { return x.pause(ctx, d, nil) }

// pause is sleep that wake ends, too.
func (x *Executor) pause(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	over := make(chan struct{})
	t := x.Clock.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	select {
	case <-over:
		return nil
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-x.done.Done():
		return ErrClosed
	}
}
