package wire

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"time"
)

// What of an abandoned result is read to keep its connection. A new connection costs a few
// milliseconds, about what this much takes.
const (
	drainLimit = 1 << 20 // bytes
	drainTime  = 500 * time.Millisecond
)

// Rows is the result of a query. The connection is busy until Close.
type Rows struct {
	c      *Conn
	ctx    context.Context
	rows   driver.Rows
	kinds  []kind
	reads  []decoder // how rows after the first are read
	fix    bool      // some column needs a change by its kind
	texts  arena
	adopt  *stmt // to be named once the rows are closed
	begun  bool
	closed bool
	whole  bool
	err    error
}

func (c *Conn) newRows(ctx context.Context, rows driver.Rows, s *stmt) *Rows {
	r := &Rows{c: c, ctx: ctx, rows: rows}
	c.busy = true
	if s != nil && s.st != nil {
		r.describe(s.oids)
		r.reads = s.reads
		return r
	}
	r.adopt = s
	r.describe(c.g.oids)
	c.reads = c.reads[:0]
	for i, oid := range c.g.oids {
		c.reads = append(c.reads, decoderOf(oid, c.g.formats[i]))
	}
	r.reads = c.reads
	return r
}

// describe notes the types of the columns in buffers that the connection keeps.
func (r *Rows) describe(oids []uint32) {
	r.c.kinds = r.c.kinds[:0]
	r.c.rowTypes = append(r.c.rowTypes[:0], oids...)
	r.fix = false
	for _, oid := range oids {
		k := kindOf(oid)
		r.fix = r.fix || k != asIs
		r.c.kinds = append(r.c.kinds, k)
	}
	r.kinds = r.c.kinds
}

// Columns gives the names of the columns.
func (r *Rows) Columns() []string { return r.rows.Columns() }

// Next reads a row. Values are int64, float64, bool, string, []byte (JSON and BYTEA),
// time.Time in UTC, or nil; a []byte is valid until the next call.
func (r *Rows) Next(dest []driver.Value) error {
	if r.closed {
		return io.EOF
	}
	if r.err != nil {
		return r.err
	}
	if r.c.watch.fired.Load() && r.c.watch.stop != nil {
		return r.fail(r.ctx.Err())
	}
	err := r.next(dest)
	if err == nil || err == io.EOF && r.c.g.err == nil {
		return err
	}
	return r.fail(err)
}

func (r *Rows) next(dest []driver.Value) (err error) {
	if r.begun { // the first row is in lib/pq's hands
		if body := r.c.g.row(); body != nil && decodeRow(body, r.reads, dest, &r.texts) {
			r.c.g.skipRow(body)
			return nil
		}
	}
	r.begun = true
	defer r.c.recovered(&err)
	if err := r.rows.Next(dest); err != nil {
		return err
	}
	if r.fix {
		for i, k := range r.kinds[:min(len(r.kinds), len(dest))] {
			if k != asIs {
				dest[i] = k.fix(dest[i])
			}
		}
	}
	return nil
}

// fail ends the rows with an error.
func (r *Rows) fail(err error) error {
	fired := r.c.watch.disarm()
	r.err = r.c.failed(r.ctx, err, fired)
	return r.err
}

// Close ends the query. What is left of its result is read, up to a bound; beyond, and on
// every failure, the connection is given up.
func (r *Rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	c := r.c
	c.g.hold = false
	if r.err == nil {
		c.g.draining, c.g.drain = true, drainLimit
		err := r.drain()
		fired := c.watch.disarm()
		c.g.endDrain()
		switch {
		case err == nil && fired:
			c.revive()
		case errors.Is(err, errDrained):
			c.g.sock.hangUp()
		case err != nil:
			r.err = c.failed(r.ctx, err, fired)
		}
		r.whole = err == nil && r.begun && !c.g.left
	}
	c.busy = false
	defer c.active.Store(false)
	if r.adopt != nil && c.g.desc != nil && c.g.ready() {
		c.adopt(r.adopt)
	}
	return r.err
}

// Complete says, once the rows are closed, that Next gave all of them and the result ended well.
func (r *Rows) Complete() bool { return r.whole }

func (r *Rows) drain() (err error) {
	defer r.c.recovered(&err)
	if err = r.rows.Close(); err == nil && r.c.g.err != nil {
		err = r.c.g.err
	}
	return err
}

// HasNextResultSet is for servers that take several statements in one text; Picodata
// doesn't.
func (r *Rows) HasNextResultSet() bool {
	next, ok := r.rows.(driver.RowsNextResultSet)
	return ok && next.HasNextResultSet()
}

// NextResultSet goes on to the next statement's rows.
func (r *Rows) NextResultSet() error {
	next, ok := r.rows.(driver.RowsNextResultSet)
	if !ok {
		return io.EOF
	}
	if err := next.NextResultSet(); err != nil {
		return err
	}
	oids := make([]uint32, len(r.rows.Columns()))
	for i := range oids {
		oids[i] = oidOf(r.databaseTypeName(i))
	}
	r.describe(oids)
	r.c.g.hold = false // not worth the trouble
	return nil
}

// ColumnTypeDatabaseTypeName is PostgreSQL's name of the type as the server reports it, in
// upper case: INT8, TEXT, NUMERIC, FLOAT8, BOOL, UUID, TIMESTAMPTZ, JSON; _INT8 is an array.
// Picodata reports INT8 for all its integers and TEXT for VARCHAR.
func (r *Rows) ColumnTypeDatabaseTypeName(index int) string { return r.databaseTypeName(index) }

func (r *Rows) databaseTypeName(index int) string {
	if t, ok := r.rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return t.ColumnTypeDatabaseTypeName(index)
	}
	return ""
}

// ColumnTypeScanType is the type of the column's values, NULLs aside. Lengths, precisions
// and nullability aren't offered: the server doesn't report them.
func (r *Rows) ColumnTypeScanType(index int) reflect.Type {
	return scanType(r.c.rowTypes[index])
}
