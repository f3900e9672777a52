package picodata

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

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
	if it.it.Err == nil && len(it.it.Rows) > 0 && scanAsIs(dest, it.it.Rows[0]) {
		return nil
	}
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

// scanAsIs does what (*sql.Row).Scan does where each value has its destination's type: a batch is scanned once a statement, and
// database/sql takes a handle and a goroutine for its rows. It is false where any value has to be converted.
func scanAsIs(dest []any, row []driver.Value) bool {
	if len(dest) != len(row) {
		return false
	}
	for i, v := range row {
		done := false
		switch v := v.(type) {
		case int64:
			done = set(dest[i], v)
			if d, ok := dest[i].(*int); ok && d != nil && int64(int(v)) == v {
				*d, done = int(v), true
			}
		case float64:
			done = set(dest[i], v)
		case bool:
			done = set(dest[i], v)
		case string:
			done = set(dest[i], v)
		case time.Time:
			done = set(dest[i], v)
		case []byte:
			if d, ok := dest[i].(*string); ok && d != nil {
				*d, done = string(v), true
			} else {
				done = set(dest[i], slices.Clone(v))
			}
		}
		if !done {
			return false
		}
	}
	return true
}

// set sets a destination of just that type.
func set[T any](dest any, v T) bool {
	d, ok := dest.(*T)
	if ok = ok && d != nil; ok {
		*d = v
	}
	return ok
}

// buffered is an answer in memory. It is its own driver, so that what reads it is an ordinary *sql.Rows, with the
// conversions of database/sql and whatever reads that type.
type buffered struct {
	columns []string
	types   []string
	rows    [][]driver.Value
	at      int
}

var (
	_ driver.Rows                           = (*buffered)(nil)
	_ driver.RowsColumnTypeDatabaseTypeName = (*buffered)(nil)
	_ driver.QueryerContext                 = memory{}
	_ driver.NamedValueChecker              = memory{}
)

func (b *buffered) Columns() []string                       { return b.columns }
func (b *buffered) ColumnTypeDatabaseTypeName(i int) string { return b.types[i] }
func (b *buffered) Close() error                            { return nil }
func (b *buffered) Next(dest []driver.Value) error {
	if b.at == len(b.rows) {
		return io.EOF
	}
	copy(dest, b.rows[b.at])
	b.at++
	return nil
}

// memory is a driver whose one statement is "give back the argument".
type memory struct{}

var errMemory = errors.New("picodata: only buffered rows are read here")

func (memory) Connect(context.Context) (driver.Conn, error) { return memory{}, nil }
func (memory) Driver() driver.Driver                        { return memory{} }
func (memory) Open(string) (driver.Conn, error)             { return memory{}, nil }
func (memory) Prepare(string) (driver.Stmt, error)          { return nil, errMemory }
func (memory) Begin() (driver.Tx, error)                    { return nil, errMemory }
func (memory) Close() error                                 { return nil }
func (memory) CheckNamedValue(*driver.NamedValue) error     { return nil }
func (memory) QueryContext(_ context.Context, _ string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 1 {
		if b, ok := args[0].Value.(*buffered); ok {
			return b, nil
		}
	}
	return nil, errMemory
}

// Collect reads all rows of an answer into a slice: each row's one column into a T, or its columns, in their order,
// into the exported fields of a struct T that is neither a sql.Scanner nor a time.Time. It closes the rows.
//
//	names, err := picodata.Collect[string](item.Rows())
//	cities, err := picodata.Collect[City](db.Query(`SELECT id, name FROM cities`))
func Collect[T any](rows *sql.Rows, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	fields, err := fieldsOf(reflect.TypeFor[T](), columns)
	if err != nil {
		return nil, err
	}
	var all []T
	into := make([]any, len(columns))
	for rows.Next() {
		var row T
		if fields == nil {
			into[0] = &row
		} else {
			v := reflect.ValueOf(&row).Elem()
			for i, f := range fields {
				into[i] = v.Field(f).Addr().Interface()
			}
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// fieldsOf are the fields of a struct that take the columns; nil: the type takes one column as a whole.
func fieldsOf(t reflect.Type, columns []string) ([]int, error) {
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[sql.Scanner]()) || t == reflect.TypeFor[time.Time]() {
		if len(columns) != 1 {
			return nil, fmt.Errorf("picodata: Collect[%v] takes one column a row, the answer has %d: use a struct", t, len(columns))
		}
		return nil, nil
	}
	var fields []int
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			fields = append(fields, i)
		}
	}
	if len(fields) != len(columns) {
		return nil, fmt.Errorf("picodata: Collect[%v]: %d exported fields, the answer has %d columns", t, len(fields), len(columns))
	}
	return fields, nil
}
