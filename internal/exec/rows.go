package exec

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/internal/wire"
)

// Rows is the result of a query, a driver.Rows. Its lease is busy until Close. If the connection is lost
// before the first row of a plain read, the statement runs again elsewhere, unseen by the caller.
type Rows struct {
	run
	delivered int64
	columns   int
	complete  bool // the answer was read to its end
	closed    bool
	err       error
	nullable  []nullability // nil: nobody has asked
}

// errAbandoned is the cause when the rest of a write's answer was too slow or too long to be waited for in Close.
var errAbandoned = errors.New("its rows were closed before the end of the answer came")

var (
	_ driver.RowsColumnTypeDatabaseTypeName = (*Rows)(nil)
	_ driver.RowsColumnTypeNullable         = (*Rows)(nil)
	_ driver.RowsColumnTypeScanType         = (*Rows)(nil)
)

// Columns gives the names of the columns.
func (r *Rows) Columns() []string { return r.answer.Columns() }

// ColumnTypeDatabaseTypeName is PostgreSQL's name of the column's type.
func (r *Rows) ColumnTypeDatabaseTypeName(i int) string {
	return r.answer.ColumnTypeDatabaseTypeName(i)
}

// ColumnTypeScanType is the Go type of the column's values.
func (r *Rows) ColumnTypeScanType(i int) reflect.Type { return r.answer.ColumnTypeScanType(i) }

// Next reads the next row.
func (r *Rows) Next(dest []driver.Value) error {
	for {
		if r.err != nil {
			return r.err
		}
		err := r.answer.Next(dest)
		if r.flight != nil {
			r.arrive()
		}
		if err == nil {
			r.delivered++
			if r.shadow != nil {
				r.shadow.Row(dest)
			}
			return nil
		}
		if err == io.EOF {
			r.complete = true
			return err
		}
		if err = r.rerun(err); err != nil {
			r.err = err
			return err
		}
	}
}

// rerun runs the statement anew if that is safe.
func (r *Rows) rerun(err error) error {
	_ = r.answer.Close() // the connection is judged by what Next said
	if err := r.failed(err, r.delivered > 0); err != nil {
		r.gone(err) // the lease is gone already
		return err
	}
	if err := r.do(); err != nil {
		r.gone(err)
		return err
	}
	if n := len(r.answer.Columns()); n != r.columns {
		return r.fail(fmt.Errorf("picodata: the table changed while the statement was run again: %d columns became %d", r.columns, n))
	}
	return nil
}

// gone notes that the query ended without an answer.
func (r *Rows) gone(err error) {
	r.closed = true
	if r.shadow != nil {
		r.compare(err)
	}
	if r.end != nil {
		r.over(r.delivered, err)
	}
}

// Close ends the query and gives its connection back, or up if too much of the result is left.
func (r *Rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if r.flight != nil {
		r.arrive()
	}
	err := r.answer.Close()
	if r.lease.Conn().Usable() {
		r.c.release(r.lease, r.extra)
	} else {
		err = r.giveUp(err)
	}
	if r.err != nil {
		err = nil // the caller knows
	}
	switch {
	case err != nil:
		err = r.failedLate(err)
	case r.err == nil:
		r.x.budget.succeeded()
	}
	if r.shadow != nil {
		r.compare(err)
	}
	if r.end != nil {
		r.over(r.delivered, cmp.Or(err, r.err))
	}
	return err
}

// giveUp drops a connection that can't be used any more, and finds what that means for the statement.
func (r *Rows) giveUp(err error) error {
	if tx := r.c.Tx; tx != nil && err == nil {
		tx.tied = tx.tied && r.extra // it was the caller who didn't want the rest: the Tx goes on, on another connection
	}
	r.c.drop(r.extra)
	r.lease.Release()
	switch {
	case !r.text.Writes:
		return nil // the caller has what it wanted of a read
	case err == nil && !r.complete:
		return &wire.Error{Stage: wire.StageQuery, Sent: true, Answered: true, Cause: errAbandoned}
	}
	return err
}

// failedLate is the error of a failure after the last row that was read: the caller must hear of it.
func (r *Rows) failedLate(err error) error {
	v := judge(err, r.attempted(true))
	cause := r.x.callersError(&v, r.text, r.lease.Node())
	if v.ending == unknown && r.doubt == nil {
		r.doubt, r.doubtErr = r.x.unknownOf(&v, r.text, r.lease.Node()), cause
	}
	return r.fail(cause)
}

// ColumnTypeNullable reports whether a column may be NULL. A result doesn't say from where its columns are; known is what the
// text of a SELECT from one table says beyond doubt, where the driver has read the tables anyway: with routing=keys, and the right to.
func (r *Rows) ColumnTypeNullable(i int) (nullable, known bool) {
	if r.nullable == nil {
		r.nullable = nullables(r.text.SQL, r.Columns(), r.x.routing.known.Load())
	}
	if i >= len(r.nullable) || r.nullable[i] == unsaid {
		return false, false
	}
	return r.nullable[i] == mayBeNull, true
}

// nullability is what is known of a column.
type nullability uint8

const (
	unsaid nullability = iota
	notNull
	mayBeNull
)

// nullables are the nullabilities of a result's columns. tables may be nil.
func nullables(sql string, columns []string, tables *map[string]schema.Table) []nullability {
	all := make([]nullability, len(columns))
	if tables == nil {
		return all
	}
	name, list, ok := sqltext.Projection(sql)
	if !ok {
		return all
	}
	table, ok := (*tables)[name]
	if !ok || !table.Operable {
		return all
	}
	at := 0
	say := func(c *schema.Column, as string) {
		if at < len(columns) && c != nil && columns[at] == as {
			if all[at] = notNull; c.Nullable {
				all[at] = mayBeNull
			}
		}
		at++
	}
	for _, p := range list {
		if p.Column != "*" {
			say(columnOf(&table, p.Column), p.Name)
			continue
		}
		for i := range table.Columns {
			if c := &table.Columns[i]; c.Name != "bucket_id" || table.Distribution != schema.ShardedByKey {
				say(c, c.Name)
			}
		}
	}
	if at != len(columns) {
		clear(all) // the table is another one by now
	}
	return all
}

func columnOf(t *schema.Table, name string) *schema.Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}
