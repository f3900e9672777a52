package watch

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/metadata"
)

// Source tells what a cluster looks like. SQL is the one there is. A server that pushes its changes becomes
// another (docs/scale.md): the Watcher asks it in the same way, and at once whenever News rings.
type Source interface {
	// Identity asks who is at the other end of q: the instance's uuid.
	Identity(ctx context.Context, q Querier) (instanceUUID string, err error)
	// Read tells what the node at the other end of q knows of the cluster. have is what is known already, nil for
	// nothing: what hasn't changed since is taken from it. It isn't changed itself.
	Read(ctx context.Context, q Querier, from Target, have *Reading) (*Reading, error)
	// Buckets reads where the buckets of a tier are. If the answer is the one whose Print is have, it has no Ranges.
	// ErrNoBuckets says that there is nothing to be asked for.
	Buckets(ctx context.Context, q Querier, tier string, have uint64) (Buckets, error)
	// Tables reads what is known of tables; a *deniedError says that the user may not.
	Tables(ctx context.Context, q Querier) (map[string]schema.Table, error)
	// First are the texts that Identity and a Read without have begin with, in this order; nil: they can't be told.
	First() []string
	// News rings when something has changed; nil for a source that has to be asked.
	News() <-chan struct{}
}

// Querier runs one statement without arguments on a control connection.
type Querier interface {
	Query(ctx context.Context, sql string) (*Result, error)
}

// Result is the answer to one query of a Source: values as lib/pq gives them in text form,
// that is int64, float64, bool, string, []byte, time.Time or nil.
type Result struct {
	Columns []string
	Rows    [][]any
}

// Asker is a Conn that can ask several questions in one flight. What each was answered is what Query would give; the error is
// the connection's.
type Asker interface {
	Ask(ctx context.Context, texts []string) ([]Answer, error)
}

// Answer is what Query gives.
type Answer struct {
	Result *Result
	Err    error
}

// Conn is a connection that only the Watcher uses, by one goroutine at a time; a Query whose context
// ends must return soon after.
type Conn interface {
	Querier
	Close() error
}

// Target is a node to open a control connection to.
type Target struct {
	Address      string // host:port
	InstanceUUID string // who should be there; "" = unknown
}

// Reading is what a Source has told. It is immutable.
type Reading struct {
	Topology *metadata.Topology
	Whole    time.Time     // when all of it was read, not only what had changed
	Rows     bool          // rows were read for it; false: nothing had changed
	again    time.Duration // when all of it is read again

	tiers   []metadata.Tier // as _pico_tier says
	skipped [3]int          // rows that couldn't be used, of the three tables
	mark    mark            // equal marks: nothing has changed
}

// mark is what one small question tells of each system table: as long as it stays, so does the table. 0 = not known.
type mark struct{ instances, replicasets, tiers, tables uint64 }

// SameTables tells whether no table has been made, altered or dropped between two readings. It is false
// where that isn't known.
func (r *Reading) SameTables(other *Reading) bool {
	return r != nil && other != nil && r.mark.tables != 0 && r.mark.tables == other.mark.tables
}

// Buckets are the ranges of one tier.
type Buckets struct {
	Ranges []metadata.Range
	Print  uint64 // tells this answer from others
}

// ErrNoBuckets: the tier holds no buckets, or the server has no _pico_bucket() (it came with 25.5.1).
var ErrNoBuckets = errors.New("picodata: no bucket map of this tier")

// deniedError says that the user may not read a system table.
type deniedError struct{ table string }

func (e *deniedError) Error() string { return "picodata: no right to read " + e.table }

// isServerError tells an answer of the server from a failure of the connection.
func isServerError(err error) bool {
	_, ok := servererr.Of(err)
	return ok
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

// clip shortens what a server sent for an error text.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// ahead is a connection whose first questions were asked together, in one flight: what a process reads before its first
// statement. As soon as anything else is asked, what is left of the answers is out of date.
type ahead struct {
	Conn
	texts   []string
	answers []Answer
}

// askAhead asks them. A connection that can't is as good as before.
func askAhead(ctx context.Context, conn Conn, texts []string) (Conn, error) {
	a, ok := conn.(Asker)
	if !ok || len(texts) == 0 {
		return conn, nil
	}
	answers, err := a.Ask(ctx, texts)
	if err != nil {
		return conn, err
	}
	return &ahead{Conn: conn, texts: texts, answers: answers}, nil
}

// Query gives what is known already.
func (a *ahead) Query(ctx context.Context, sql string) (*Result, error) {
	if len(a.texts) > 0 && a.texts[0] == sql {
		answer := a.answers[0]
		a.texts, a.answers = a.texts[1:], a.answers[1:]
		return answer.Result, answer.Err
	}
	a.texts, a.answers = nil, nil
	return a.Conn.Query(ctx, sql)
}
