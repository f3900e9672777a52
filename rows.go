package picodata

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/picodata/go-picodata/internal/wire"
)

// rows is the result of a query. Its lease is busy until Close. If the connection is lost
// before the first row of a plain read, the statement runs again elsewhere, unseen by the caller.
type rows struct {
	run
	span      span
	delivered int64
	columns   int
	complete  bool // the answer was read to its end
	closed    bool
	err       error
}

// errAbandoned is the cause when the rest of a write's answer was too slow or too long to be waited for in Close.
var errAbandoned = errors.New("its rows were closed before the end of the answer came")

var (
	_ driver.RowsColumnTypeDatabaseTypeName = (*rows)(nil)
	_ driver.RowsColumnTypeScanType         = (*rows)(nil)
)

func (r *rows) start() error {
	if err := r.do(); err != nil {
		return err
	}
	r.columns = len(r.answer.Columns())
	return nil
}

// Columns gives the names of the columns.
func (r *rows) Columns() []string { return r.answer.Columns() }

// ColumnTypeDatabaseTypeName is PostgreSQL's name of the column's type.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	return r.answer.ColumnTypeDatabaseTypeName(i)
}

// ColumnTypeScanType is the Go type of the column's values.
func (r *rows) ColumnTypeScanType(i int) reflect.Type { return r.answer.ColumnTypeScanType(i) }

// Next reads the next row.
func (r *rows) Next(dest []driver.Value) error {
	for {
		if r.err != nil {
			return r.err
		}
		err := r.answer.Next(dest)
		r.arrive()
		if err == nil {
			r.delivered++
			r.shadow.Row(dest)
			return nil
		}
		if err == io.EOF {
			r.complete = true
			return err
		}
		if err = r.again(err); err != nil {
			r.err = err
			return err
		}
	}
}

// again runs the statement anew if that is safe.
func (r *rows) again(err error) error {
	_ = r.answer.Close() // the connection is judged by what Next said
	h := hintOf(r.ctx)
	if err := r.failed(err, h, r.delivered > 0); err != nil {
		r.gone(err) // the lease is gone already
		return err
	}
	if err := r.do(); err != nil {
		r.gone(err)
		return err
	}
	if n := len(r.answer.Columns()); n != r.columns {
		return r.over(fmt.Errorf("picodata: the table changed while the statement was run again: %d columns became %d", r.columns, n))
	}
	return nil
}

// gone notes that the query ended without an answer.
func (r *rows) gone(err error) {
	r.closed = true
	r.compare(err)
	r.endSpan(r.span, r.delivered, err)
}

// Close ends the query and gives its connection back, or up if too much of the result is left.
func (r *rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.close()
	switch {
	case err != nil:
		err = r.over(err)
	case r.err == nil:
		r.s.c.count.succeeded()
	}
	r.compare(err)
	if err == nil {
		r.endSpan(r.span, r.delivered, r.err)
	} else {
		r.endSpan(r.span, r.delivered, err)
	}
	return err
}

func (r *rows) close() error {
	r.arrive()
	err := r.answer.Close()
	if !r.lease.Conn().Usable() {
		r.s.drop(r.extra)
		r.lease.Release()
		if !r.text.writes() {
			return nil // the caller has what it wanted of a read
		}
		if err == nil && !r.complete {
			err = &wire.Error{Stage: wire.StageQuery, Sent: true, Answered: true, Cause: errAbandoned}
		}
	} else {
		r.s.release(r.lease, r.extra)
	}
	if err == nil || r.err != nil {
		return nil
	}
	// A failure after the last row that was read: the caller must hear of it.
	a := attempt{op: r.op, node: nodeOf(r.lease.Node()), text: r.text, oneBucket: r.oneBucket(), delivered: true}
	return judge(err, &a).err
}
