package picodata

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/lib/pq/oid"

	"github.com/picodata/go-picodata/internal/exec"
)

// Batch is a list of statements that travel together: those that run on the same node go there in one flight, and
// nodes work in parallel. Each statement is planned, judged and answered as if it had come alone: an error of one
// neither skips nor undoes another, what is proved not to have run is run again, and a write of unknown outcome says
// so while its neighbours don't suffer. A batch is not atomic, and its statements must not depend on each other: the
// order in which they run is not told (Block is atomic; its statements are ordered).
//
//	b := picodata.NewBatch()
//	for _, id := range ids {
//		b.Queue(`SELECT name FROM cities WHERE id = $1`, id)
//	}
//	err := b.Run(ctx, db)
//
// Answers are kept in memory, to the last row: a batch is for many small statements. It may be used by one goroutine
// at a time, and run once.
type Batch struct {
	items []*BatchItem
	ran   bool
}

// BatchItem is one statement of a Batch and, after Run, its answer.
type BatchItem struct {
	query string
	args  []any
	it    exec.Item
}

// ErrBatchNotRun is the error of an item whose batch hasn't run.
var ErrBatchNotRun = errors.New("picodata: the batch hasn't run yet: call Run first")

// NewBatch makes an empty batch.
func NewBatch() *Batch { return &Batch{} }

// Queue adds a statement. The handle holds its answer once Run has returned.
func (b *Batch) Queue(query string, args ...any) *BatchItem {
	it := &BatchItem{query: query, args: args}
	it.it.Err = ErrBatchNotRun
	b.items = append(b.items, it)
	return it
}

// Len is the number of statements.
func (b *Batch) Len() int { return len(b.items) }

// Items are the statements in the order in which they were queued.
func (b *Batch) Items() []*BatchItem { return slices.Clone(b.items) }

// Run sends the statements and waits for all answers. Its error is a *BatchError if some of them failed; each item
// has its own. The context bounds the whole; its hints hold for every statement. db must have been opened by this
// driver, see Unwrap.
func (b *Batch) Run(ctx context.Context, db *sql.DB) error {
	c, err := Unwrap(db)
	if err != nil {
		return err
	}
	if b.ran {
		return errors.New("picodata: a batch runs once: make a new one")
	}
	b.ran = true
	var run []*exec.Item
	for _, it := range b.items {
		it.it.Query, it.it.Err = it.query, nil
		if it.it.Args, it.it.Err = c.checkedArgs(it.args); it.it.Err == nil {
			run = append(run, &it.it)
		}
	}
	c.exec.Batch(ctx, run)
	failed := &BatchError{Statements: len(b.items)}
	for i, it := range b.items {
		if it.it.Err != nil {
			if failed.Err == nil {
				failed.First, failed.Err = i, it.it.Err
			}
			failed.Failed++
		}
	}
	if failed.Err != nil {
		return failed
	}
	return nil
}

func (c *Connector) checkedArgs(args []any) ([]driver.NamedValue, error) {
	named := make([]driver.NamedValue, len(args))
	for i, v := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
		if n, ok := v.(sql.NamedArg); ok {
			named[i].Name, named[i].Value = n.Name, n.Value
		}
		if err := c.checkArgument(&named[i]); err != nil {
			return nil, err
		}
	}
	return named, nil
}

// BatchError says that statements of a Batch failed. It unwraps to the first one's error.
type BatchError struct {
	Statements int
	Failed     int
	First      int   // the first that failed, counted from 0
	Err        error // its error
}

// Error gives the count and the first error.
func (e *BatchError) Error() string {
	return fmt.Sprintf("picodata: %d of %d statements of the batch failed; the first, statement %d: %v", e.Failed, e.Statements, e.First, e.Err)
}

// Unwrap gives the first error.
func (e *BatchError) Unwrap() error { return e.Err }

// Err is the statement's error: what the same statement would have got alone.
func (it *BatchItem) Err() error { return it.it.Err }

// RowsAffected is the number of rows that a write touched.
func (it *BatchItem) RowsAffected() int64 { return it.it.Affected }

// Node is the node that ran it last; zero if none did.
func (it *BatchItem) Node() Node { return nodeOf(it.it.Node) }

// Rows are the rows of the answer, from the first on at every call, or the statement's error.
func (it *BatchItem) Rows() (*sql.Rows, error) {
	if it.it.Err != nil {
		return nil, it.it.Err
	}
	types := make([]string, len(it.it.Types))
	for i, t := range it.it.Types {
		types[i] = oid.TypeName[oid.Oid(t)]
	}
	// Closing the handle ends its goroutine; rows that are open stay readable.
	db := sql.OpenDB(memory{})
	defer db.Close()
	return db.Query("", &buffered{columns: it.it.Columns, types: types, rows: it.it.Rows})
}

// Scan reads the first row, as (*sql.Row).Scan does: without a row the error is sql.ErrNoRows.
func (it *BatchItem) Scan(dest ...any) error {
	rows, err := it.Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	return rows.Scan(dest...)
}
