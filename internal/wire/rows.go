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
	reads  []decoder
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
		c.rowTypes = append(c.rowTypes[:0], s.oids...)
		r.reads = s.reads
		return r
	}
	r.adopt = s
	r.described()
	return r
}

// described takes the columns from the RowDescription that came last.
func (r *Rows) described() {
	g := r.c.g
	r.c.rowTypes = append(r.c.rowTypes[:0], g.oids...)
	r.c.reads = decodersOf(r.c.reads[:0], g.oids, g.formats)
	r.reads = r.c.reads
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
	if err == nil {
		return nil
	}
	if err == io.EOF && r.c.g.err == nil {
		if r.err = r.c.undecodable(); r.err != nil {
			return r.err
		}
		return err
	}
	if d, ok := err.(*DecodeError); ok {
		r.err = r.c.error(d) // the rest of the answer is read in Close
		return r.err
	}
	return r.fail(err)
}

// next reads a row. lib/pq, which has the say over the protocol, gets a row of NULLs in place of the first one, and
// of each that doesn't follow another row at once; these are decoded from where they lie.
func (r *Rows) next(dest []driver.Value) (err error) {
	g := r.c.g
	if r.begun {
		if body := g.row(); body != nil {
			if r.texts.boxes == nil {
				r.texts.boxes = new(boxes)
			}
			err := r.decode(body, dest)
			g.skipRow(body)
			return err
		}
	}
	r.begun = true
	defer r.c.recovered(&err)
	if err := r.rows.Next(dest); err != nil {
		return err
	}
	body := g.held
	g.held = nil
	return r.decode(body, dest)
}

func (r *Rows) decode(body []byte, dest []driver.Value) error {
	column, length, err := decodeRow(body, r.reads, dest, &r.texts)
	if err == nil {
		return nil
	}
	if column < 0 {
		return &DecodeError{Type: "row", Length: length, Cause: err}
	}
	return &DecodeError{
		Column: column + 1, Name: r.Columns()[column], Type: r.ColumnTypeDatabaseTypeName(column), Length: length, Cause: err,
	}
}

// row gives the body of the next message if that is a row; nil if it isn't.
func (g *guard) row() []byte {
	for {
		if !g.hold || g.err != nil || g.outstanding == 0 || len(g.inject) > 0 || g.r < g.v {
			return nil
		}
		b := g.buf[g.v:g.w]
		need := frameHeader
		if len(b) >= frameHeader {
			length := be32(b[1:])
			if b[0] != 'D' || length < 4 || length-4 > maxRow {
				return nil
			}
			if need = int(length) + 1; len(b) >= need {
				return b[frameHeader:need]
			}
		}
		if g.fill(need) != nil {
			return nil
		}
	}
}

// skipRow passes over the row that row gave.
func (g *guard) skipRow(body []byte) {
	g.v += frameHeader + len(body)
	g.r = g.v
	g.saw.Row = true
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
	var undecodable *DecodeError
	if r.err == nil || errors.As(r.err, &undecodable) {
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
	r.begun = false
	r.described()
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
