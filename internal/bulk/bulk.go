// Package bulk loads many rows into one table: it sorts rows by their owner, makes chunks of them that are one
// replicaset's transaction each, keeps a bounded number of chunks under way per owner, and keeps account of every
// row. It knows no connection: a Target runs the statements.
package bulk

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"sync"
	"time"
)

// ErrMoved is what a Target's Exec returns, with nothing sent, when the rows of a chunk don't belong to one
// owner any more: buckets have moved since the chunk was made.
var ErrMoved = errors.New("the rows of the chunk belong to several replicasets now")

// Global is the owner of rows of a global table: any node takes them, all or none of a statement.
const Global = "*"

// Fate is what an error of Exec says of the chunk's rows.
type Fate uint8

// Fates.
const (
	// Refused: none of the rows is in the table.
	Refused Fate = iota
	// Unknown: some or all of them may be.
	Unknown
	// Unsent: none of them was sent.
	Unsent
)

// Target is where the rows go.
type Target interface {
	// Owner names the replicaset that a row belongs to by the current map, or Global; "" = not known, any node takes it.
	Owner(row []driver.Value) string
	// Exec runs an INSERT of rows of one owner, or of "".
	Exec(ctx context.Context, owner, sql string, args []driver.Value) (affected int64, err error)
	// Fate reads an error of Exec. whole: the chunk had an owner, and so is all or nothing.
	Fate(err error, whole bool) Fate
}

// Config says how to load. Zero values of the numbers are the caller's to replace.
type Config struct {
	Text      func(owned bool, rows int) string // the INSERT of so many rows, of one owner or of any
	Columns   int
	ChunkRows int // rows a statement, at most
	ChunkSize int // bytes of texts a statement, about
	InFlight  int // statements under way per owner
	MaxErrors int // chunks, then rows, that may fail before it stops; 0 = stop at the first
	Skips     bool
	Convert   func(any) (driver.Value, error)
	Progress  func(Progress)
	Now       func() time.Time
	Pause     func(ctx context.Context, m Moved) error // before rows that moved are sorted anew
}

// Moved describes rows that their owner didn't take, for it isn't theirs any more or nobody leads it.
type Moved struct {
	Owner    string        // the last one
	Attempts int           // to send them
	Waited   time.Duration // since the first
}

// Progress is how far a load is.
type Progress struct {
	Rows     int64            // taken from the sequence
	Inserted int64            // acknowledged
	Bytes    int64            // of their values
	Elapsed  time.Duration    // since the start
	Owners   map[string]int64 // acknowledged rows by owner; the map is the callee's
}

// Result is the account of a load. The row numbers count from 0 in the order of the sequence.
type Result struct {
	Rows                                       int64
	Inserted, Skipped, Failed, Unknown, Unsent int64
	Plain                                      int64 // of Inserted and Skipped: rows whose owner wasn't known
	FailedRows, UnknownRows, UnsentRows        []int64
	Errors                                     []RowsError
	Statements                                 int64
}

// RowsError is an error and the rows that it is of.
type RowsError struct {
	Rows []int64
	Err  error
}

type row struct {
	number int64
	values []driver.Value
	size   int
}

// part is what an owner's next chunk has so far.
type part struct {
	rows   []row
	values []driver.Value // of all rows
	size   int
}

func (p *part) add(r row, values []driver.Value, most int) {
	if p.rows == nil {
		p.rows, p.values = make([]row, 0, most), make([]driver.Value, 0, most*len(values))
	}
	from := len(p.values)
	p.values = append(p.values, values...)
	r.values = p.values[from:len(p.values):len(p.values)]
	p.rows = append(p.rows, r)
	p.size += r.size
}

// take gives the chunk and begins the next.
func (p *part) take() []row {
	rows := p.rows
	*p = part{}
	return rows
}

type load struct {
	Config
	t     Target
	ctx   context.Context
	begun time.Time

	mu      sync.Mutex
	res     Result
	bytes   int64
	owners  map[string]int64
	failure error // that stopped it
	texts   map[shape]string

	queues  map[string]chan []row
	workers sync.WaitGroup
}

// Run loads rows until the sequence ends, ctx is done, or too many rows have failed. The error is the first
// one that stopped it; nil if every row is accounted for as inserted, skipped, or failed within MaxErrors.
func Run(ctx context.Context, cfg Config, t Target, rows iter.Seq[[]any]) (Result, error) {
	l := &load{Config: cfg, t: t, ctx: ctx, owners: map[string]int64{}, texts: map[shape]string{}, queues: map[string]chan []row{}, begun: cfg.Now()}
	defer l.finish() // where the sequence panics
	pending := map[string]*part{}
	scratch := make([]driver.Value, cfg.Columns)
	for values := range rows {
		r := row{number: l.res.Rows}
		if l.counted() {
			l.account([]row{r}, nil, Unsent)
			break
		}
		if err := l.convert(&r, scratch, values); err != nil {
			if !l.account([]row{r}, err, Refused) {
				break
			}
			continue
		}
		owner := t.Owner(scratch)
		p := pending[owner]
		if p == nil {
			p = &part{}
			pending[owner] = p
		}
		if p.size+r.size > cfg.ChunkSize && len(p.rows) > 0 {
			l.hand(owner, p.take())
		}
		p.add(r, scratch, cfg.ChunkRows)
		if len(p.rows) == cfg.ChunkRows {
			l.hand(owner, p.take())
		}
	}
	for owner, p := range pending {
		for rest := p.rows; len(rest) > 0; { // the steps of the ladder, so that an owner's workers share them
			n := l.step(len(rest))
			l.hand(owner, rest[:n])
			rest = rest[n:]
		}
	}
	l.finish()
	slices.Sort(l.res.FailedRows)
	slices.Sort(l.res.UnknownRows)
	slices.Sort(l.res.UnsentRows)
	if l.failure == nil && l.res.Inserted+l.res.Skipped+l.res.Failed < l.res.Rows {
		l.failure = ctx.Err() // not where it ended after the last row was acknowledged
	}
	return l.res, l.failure
}

// finish ends the workers once they have done what they were handed.
func (l *load) finish() {
	for _, q := range l.queues {
		close(q)
	}
	l.queues = nil
	l.workers.Wait()
}

// counted counts a row that was taken, and reports whether the load is over.
func (l *load) counted() (over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.res.Rows++
	return l.over()
}

// over reports that nothing more may be sent. What is under way ends by itself: cutting it off would leave rows of
// unknown outcome. mu is held.
func (l *load) over() bool { return l.failure != nil || l.ctx.Err() != nil }

func (l *load) convert(r *row, into []driver.Value, values []any) error {
	if len(values) != l.Columns {
		return fmt.Errorf("row %d has %d values for %d columns", r.number, len(values), l.Columns)
	}
	for i, v := range values {
		x, err := l.Convert(v)
		if err != nil {
			return fmt.Errorf("row %d, value %d: %w", r.number, i+1, err)
		}
		into[i] = x
		r.size += 8
		if s, ok := x.(string); ok {
			r.size += len(s)
		}
	}
	return nil
}

// hand gives a chunk to its owner's workers and waits while they have enough: one each under way, and one to follow.
func (l *load) hand(owner string, chunk []row) {
	q := l.queues[owner]
	if q == nil {
		q = make(chan []row, l.InFlight) // so that rows for the other owners aren't held up by this one's next chunk
		l.queues[owner] = q
		for range l.InFlight {
			l.workers.Go(func() {
				for chunk := range q {
					l.insert(owner, chunk, moves{})
				}
			})
		}
	}
	q <- chunk
}

// insert runs a chunk as statements of sizes from a small ladder, so that a connection parses few texts.
func (l *load) insert(owner string, chunk []row, m moves) {
	for len(chunk) > 0 {
		n := l.step(len(chunk))
		l.statement(owner, chunk[:n], m)
		chunk = chunk[n:]
	}
}

// step is how many of so many rows make the next statement.
func (l *load) step(rows int) int {
	if rows < l.ChunkRows {
		return 1 << (bits.Len(uint(rows)) - 1)
	}
	return rows
}

// moves tells how often, and since when, rows have found no owner.
type moves struct {
	attempts int
	since    time.Time
}

// shape is what a statement's text depends on.
type shape struct {
	owned bool
	rows  int
}

func (l *load) text(owner string, rows int) string {
	k := shape{owned: owner != "" && owner != Global, rows: rows}
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.texts[k]
	if text == "" {
		text = l.Text(k.owned, rows)
		l.texts[k] = text
	}
	return text
}

func (l *load) statement(owner string, chunk []row, m moves) {
	l.mu.Lock()
	over := l.over()
	l.mu.Unlock()
	if over {
		l.account(chunk, nil, Unsent)
		return
	}
	args := make([]driver.Value, 0, len(chunk)*l.Columns)
	for i := range chunk {
		args = append(args, chunk[i].values...)
	}
	n, err := l.t.Exec(l.ctx, owner, l.text(owner, len(chunk)), args)
	switch {
	case err == nil:
		l.inserted(owner, chunk, n)
	case errors.Is(err, ErrMoved):
		l.sortAnew(owner, chunk, m)
	default:
		fate := l.t.Fate(err, owner != "" || len(chunk) == 1)
		if fate == Refused && len(chunk) > 1 && l.MaxErrors > 0 {
			// All or nothing: the halves say which rows are at fault.
			half := len(chunk) / 2
			l.insert(owner, chunk[:half], m)
			l.insert(owner, chunk[half:], m)
			return
		}
		l.account(chunk, err, fate)
	}
}

// sortAnew finds the owners of rows whose buckets have moved.
func (l *load) sortAnew(owner string, chunk []row, m moves) {
	now := l.Now()
	if m.attempts++; m.attempts == 1 {
		m.since = now
	}
	if err := l.Pause(l.ctx, Moved{Owner: owner, Attempts: m.attempts, Waited: now.Sub(m.since)}); err != nil {
		l.account(chunk, err, Unsent)
		return
	}
	var owners []string
	parts := map[string][]row{}
	for _, r := range chunk {
		o := l.t.Owner(r.values)
		if parts[o] == nil {
			owners = append(owners, o)
		}
		parts[o] = append(parts[o], r)
	}
	for _, o := range owners {
		l.insert(o, parts[o], m)
	}
}

func (l *load) inserted(owner string, chunk []row, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.res.Statements++
	if l.Skips {
		l.res.Inserted += n
		l.res.Skipped += int64(len(chunk)) - n
	} else {
		l.res.Inserted += int64(len(chunk))
	}
	if owner == "" || owner == Global {
		l.res.Plain += int64(len(chunk))
	}
	l.owners[owner] += int64(len(chunk))
	for i := range chunk {
		l.bytes += int64(chunk[i].size)
	}
	if l.Progress != nil {
		p := Progress{Rows: l.res.Rows, Inserted: l.res.Inserted, Bytes: l.bytes, Elapsed: l.Now().Sub(l.begun), Owners: make(map[string]int64, len(l.owners))}
		for o, n := range l.owners {
			p.Owners[o] = n
		}
		l.Progress(p)
	}
}

// account notes rows that aren't known to be in the table. It reports whether the load goes on.
func (l *load) account(chunk []row, err error, fate Fate) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	numbers := make([]int64, len(chunk))
	for i := range chunk {
		numbers[i] = chunk[i].number
	}
	count, list := &l.res.Unsent, &l.res.UnsentRows
	switch fate {
	case Unsent:
	case Refused:
		count, list = &l.res.Failed, &l.res.FailedRows
	case Unknown:
		count, list = &l.res.Unknown, &l.res.UnknownRows
	}
	*count += int64(len(chunk))
	*list = append(*list, numbers...)
	if err == nil {
		return l.failure == nil
	}
	l.res.Errors = append(l.res.Errors, RowsError{Rows: numbers, Err: err})
	if len(l.res.Errors) > l.MaxErrors && l.failure == nil {
		l.failure = err
	}
	return l.failure == nil
}
