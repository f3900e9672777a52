package picodata

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/picodata/go-picodata/internal/bulk"
	"github.com/picodata/go-picodata/internal/exec"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/sqltext"
)

// Conflict says what Insert does about a row whose key exists.
type Conflict uint8

// Conflicts.
const (
	ConflictFail    Conflict = iota // the row fails; the default
	ConflictSkip                    // ON CONFLICT DO NOTHING: the old row stays
	ConflictReplace                 // ON CONFLICT DO REPLACE: the new row takes its place
)

// Defaults and bounds of Insert. Servers parse a text in time that grows with the square of its parameters, and
// refuse more than sql_motion_row_max rows (5,000 by default) in one statement.
const (
	defaultChunkRows = 500
	maxChunkRows     = 1000
	maxChunkParams   = 4000
	chunkBytes       = 256 << 10
	defaultInFlight  = 2
)

// InsertOption changes what Insert does.
type InsertOption func(*insertOptions)

type insertOptions struct {
	conflict  Conflict
	chunkRows int
	inFlight  int
	maxErrors int
	progress  func(InsertProgress)
}

// OnConflict says what happens to rows whose key exists.
func OnConflict(c Conflict) InsertOption { return func(o *insertOptions) { o.conflict = c } }

// ChunkRows bounds the rows of one statement: 1 to 1,000, 500 by default, and never more than 4,000 parameters.
func ChunkRows(n int) InsertOption { return func(o *insertOptions) { o.chunkRows = n } }

// InFlight bounds the statements that are under way per owner at a time: 1 to 64, 2 by default.
func InFlight(n int) InsertOption { return func(o *insertOptions) { o.inFlight = n } }

// MaxErrors lets Insert go on until more than n errors were met, instead of stopping at the first: a refused
// statement is halved until the rows at fault are found, and they are named in the result.
func MaxErrors(n int) InsertOption { return func(o *insertOptions) { o.maxErrors = n } }

// OnProgress has f called after every statement that was acknowledged, one call at a time. It must not block.
func OnProgress(f func(InsertProgress)) InsertOption {
	return func(o *insertOptions) { o.progress = f }
}

// InsertProgress is how far an Insert is.
type InsertProgress struct {
	Rows     int64            // taken from the sequence
	Inserted int64            // acknowledged by a server
	Bytes    int64            // of their values, about
	Elapsed  time.Duration    // since the beginning
	Owners   map[string]int64 // acknowledged rows by their replicaset's name
}

// InsertResult is the account of an Insert: each row that was taken from the sequence is in exactly one of
// Inserted, Skipped, Failed, Unknown and Unsent. Row numbers count from 0.
type InsertResult struct {
	Rows     int64
	Inserted int64
	Skipped  int64 // with ConflictSkip: their keys existed
	Failed   int64 // refused: not in the table
	Unknown  int64 // sent, and nobody knows whether they are in the table
	Unsent   int64 // never sent, for it stopped before

	FailedRows, UnknownRows, UnsentRows []int64
	Errors                              []InsertRowsError

	// Plain are the rows of Inserted and Skipped whose owner wasn't known: of a global table, of one that is
	// distributed in another way than by a hashed key, or of one that the user may not read about (GRANT READ ON TABLE
	// _pico_table). They went as plain statements of several rows to any node.
	Plain      int64
	Statements int64 // that were acknowledged
}

// InsertRowsError is an error and the rows it is of.
type InsertRowsError struct {
	Rows []int64
	Err  error
}

// Insert loads rows into a table, each straight to the leader of the replicaset that owns it, many to a statement:
// rows are sorted by their bucket's owner, chunks of one owner become one INSERT each, and a bounded number of them is
// under way per owner, so that memory doesn't grow with the number of rows. table and columns are names as the server
// keeps them: in lower case unless they were quoted when they were made.
//
// Each statement is one replicaset's transaction: all of its rows are in the table or none is. On servers from 26.2 on
// the server itself holds this (OPTION (forward = off)); before, a rebalancing at the same moment can split a
// statement, and a refusal is counted as Unknown then. The whole is not atomic: what was inserted before an error stays.
//
// Rows that their owner refused because another leads, or because buckets moved, and rows whose owner nobody leads are
// sorted anew until they find one, for dead_leader_timeout at most (under dead_leader=fail: switchover_timeout, and not
// at all if nobody leads). The error
// is the first one that stopped the load, the result tells of every row: feed the rows of FailedRows, UnsentRows and,
// after a look or with ConflictSkip, UnknownRows into another Insert to resume.
//
// The context bounds the whole and isn't to be used up for a long load; its hints are ignored.
func Insert(ctx context.Context, db *sql.DB, table string, columns []string, rows iter.Seq[[]any], opts ...InsertOption) (InsertResult, error) {
	c, err := Unwrap(db)
	if err != nil {
		return InsertResult{}, err
	}
	o := insertOptions{inFlight: defaultInFlight, chunkRows: defaultChunkRows}
	for _, opt := range opts {
		opt(&o)
	}
	switch {
	case table == "" || len(columns) == 0:
		return InsertResult{}, errors.New("picodata: Insert: a table and at least one column must be named")
	case len(columns) > maxChunkParams:
		return InsertResult{}, fmt.Errorf("picodata: Insert: %d columns, at most %d fit a statement", len(columns), maxChunkParams)
	case o.chunkRows < 1 || o.chunkRows > maxChunkRows:
		return InsertResult{}, fmt.Errorf("picodata: Insert: ChunkRows(%d): 1 to %d", o.chunkRows, maxChunkRows)
	case o.inFlight < 1 || o.inFlight > 64:
		return InsertResult{}, fmt.Errorf("picodata: Insert: InFlight(%d): 1 to 64", o.inFlight)
	case o.maxErrors < 0:
		return InsertResult{}, fmt.Errorf("picodata: Insert: MaxErrors(%d): 0 or more", o.maxErrors)
	case o.conflict > ConflictReplace:
		return InsertResult{}, fmt.Errorf("picodata: Insert: OnConflict(%d): ConflictFail, ConflictSkip or ConflictReplace", o.conflict)
	}
	ctx = exec.WithHint(ctx, func(h *exec.Hint) { *h = exec.Hint{} })
	into, err := c.exec.LoadInto(ctx, table, columns)
	if err != nil {
		return InsertResult{}, err
	}
	text := insertText(table, columns, o.conflict, into.ForwardOff())
	cfg := bulk.Config{
		Text: text, Columns: len(columns),
		ChunkRows: min(o.chunkRows, maxChunkParams/len(columns)), ChunkSize: chunkBytes,
		InFlight: o.inFlight, MaxErrors: o.maxErrors, Skips: o.conflict == ConflictSkip,
		Convert: c.checkedValue, Now: c.exec.Clock.Now, Pause: into.Pause,
	}
	if o.progress != nil {
		cfg.Progress = func(p bulk.Progress) {
			named := make(map[string]int64, len(p.Owners))
			for owner, n := range p.Owners {
				named[into.Name(owner)] += n
			}
			o.progress(InsertProgress{Rows: p.Rows, Inserted: p.Inserted, Bytes: p.Bytes, Elapsed: p.Elapsed, Owners: named})
		}
	}
	res, err := bulk.Run(ctx, cfg, insertTarget{into}, rows)
	out := resultOf(&res)
	if err != nil {
		return out, &InsertError{Result: out, Err: err}
	}
	return out, nil
}

func resultOf(res *bulk.Result) InsertResult {
	out := InsertResult{
		Rows: res.Rows, Inserted: res.Inserted, Skipped: res.Skipped, Failed: res.Failed, Unknown: res.Unknown, Unsent: res.Unsent,
		FailedRows: res.FailedRows, UnknownRows: res.UnknownRows, UnsentRows: res.UnsentRows, Plain: res.Plain, Statements: res.Statements,
	}
	for _, e := range res.Errors {
		out.Errors = append(out.Errors, InsertRowsError(e))
	}
	return out
}

// InsertError says that an Insert, or an INSERT under split_inserts, stopped before all rows were in. It unwraps to what stopped it.
type InsertError struct {
	Result InsertResult
	Err    error
}

// Error gives the account and the cause.
func (e *InsertError) Error() string {
	r := &e.Result
	return fmt.Sprintf("picodata: Insert: %d of %d rows inserted, %d skipped, %d failed, %d of unknown outcome, %d not sent: %v",
		r.Inserted, r.Rows, r.Skipped, r.Failed, r.Unknown, r.Unsent, e.Err)
}

// Unwrap gives the cause.
func (e *InsertError) Unwrap() error { return e.Err }

// insertTarget reads errors as programs see them.
type insertTarget struct{ *exec.Load }

// Fate implements bulk.Target.
func (insertTarget) Fate(err error, whole bool) bulk.Fate {
	var server *Error
	switch {
	case IsOutcomeUnknown(err), errors.As(err, new(*DecodeError)): // it ran, and what it answered can't be read
		return bulk.Unknown
	case errors.As(err, &server) && !whole:
		return bulk.Unknown
	case errors.As(err, &server):
		return bulk.Refused
	}
	return bulk.Unsent
}

// checkedValue makes a value fit to be sent.
func (c *Connector) checkedValue(v any) (driver.Value, error) {
	nv := driver.NamedValue{Ordinal: 1, Value: v}
	err := c.checkArgument(&nv)
	return nv.Value, err
}

// insertText gives the INSERT of so many rows. Rows of one owner must not be forwarded where the server can hold that.
func insertText(table string, columns []string, conflict Conflict, forwardOff bool) func(owned bool, rows int) string {
	var head strings.Builder
	head.WriteString("INSERT INTO " + quoted(table) + " (")
	for i, c := range columns {
		if i > 0 {
			head.WriteString(", ")
		}
		head.WriteString(quoted(c))
	}
	head.WriteString(") VALUES")
	tail := ""
	switch conflict {
	case ConflictFail:
	case ConflictSkip:
		tail = " ON CONFLICT DO NOTHING"
	case ConflictReplace:
		tail = " ON CONFLICT DO REPLACE"
	}
	return rowsText(head.String(), tail, len(columns), forwardOff)
}

// quoted is a name as SQL writes it whatever is in it.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// splitInsert runs an INSERT of rows of several owners as statements of one owner each, under split_inserts. split: it
// did; otherwise the statement goes as it is.
func (s *session) splitInsert(ctx context.Context, query string, args []driver.NamedValue) (affected int64, split bool, err error) {
	c := s.c
	info := &s.checkout.Text(query).Info
	if info.Class != sqltext.Insert || info.Rows < 2 || info.RowValues == nil || s.checkout.Tx != nil {
		return 0, false, nil
	}
	if h := exec.HintOf(ctx); h != nil && (h.Placed || h.NoRetry || h.Limits != (exec.Limits{})) {
		return 0, false, nil
	}
	for _, ref := range info.RowValues {
		if ref.Param < 0 || ref.Param >= len(args) || ref.Cast != "" {
			return 0, false, nil
		}
	}
	head, tail, ok := sqltext.SplitValues(query)
	if !ok || sqltext.HasOption(tail) {
		return 0, false, nil
	}
	if p, err := c.exec.Plan(ctx, query, args); err != nil || p.Reason != route.SeveralOwners {
		return 0, false, nil // whatever is wrong will show where the statement runs
	}
	columns := info.Columns
	if columns == nil {
		columns = c.exec.Columns(info.Table)
	}
	width := len(info.RowValues) / info.Rows
	if len(columns) != width || width > maxChunkParams {
		return 0, false, nil
	}
	into, err := c.exec.LoadInto(ctx, info.Table, columns)
	if err != nil {
		return 0, true, err
	}
	res, err := bulk.Run(ctx, bulk.Config{
		Text: rowsText(head, tail, width, into.ForwardOff()), Columns: width,
		ChunkRows: min(info.Rows, maxChunkRows, maxChunkParams/width), ChunkSize: chunkBytes, InFlight: defaultInFlight,
		Skips: true, Now: c.exec.Clock.Now, Pause: into.Pause,
		Convert: func(v any) (driver.Value, error) { return v, nil }, // database/sql has
	}, insertTarget{into}, func(yield func([]any) bool) {
		for row := range info.Rows {
			values := make([]any, width)
			for i, ref := range info.RowValues[row*width : (row+1)*width] {
				values[i] = args[ref.Param].Value
			}
			if !yield(values) {
				return
			}
		}
	})
	if err != nil {
		// All rows are there, so the account is of all of them: what wasn't looked at any more wasn't sent.
		for row := res.Rows; row < int64(info.Rows); row++ {
			res.Unsent++
			res.UnsentRows = append(res.UnsentRows, row)
		}
		res.Rows = int64(info.Rows)
		return 0, true, &InsertError{Result: resultOf(&res), Err: err}
	}
	return res.Inserted, true, nil
}

// rowsText gives the INSERT of so many rows between a head and a tail. Rows of one owner must not be forwarded where the
// server can hold that.
func rowsText(head, tail string, columns int, forwardOff bool) func(owned bool, rows int) string {
	return func(owned bool, rows int) string {
		var b strings.Builder
		b.Grow(len(head) + rows*columns*6 + len(tail) + 32)
		b.WriteString(head)
		b.WriteByte(' ')
		n := 0
		for r := range rows {
			if r > 0 {
				b.WriteByte(',')
			}
			for i := range columns {
				n++
				b.WriteByte("(,"[min(i, 1)])
				b.WriteByte('$')
				b.WriteString(strconv.Itoa(n))
			}
			b.WriteByte(')')
		}
		b.WriteString(tail)
		if owned && forwardOff {
			b.WriteString(" OPTION (forward = off)")
		}
		return b.String()
	}
}
