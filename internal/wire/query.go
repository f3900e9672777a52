package wire

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"io"
)

// answer is what lib/pq gave back: rows of a query or the result of an execution.
type answer struct {
	rows driver.Rows
	res  driver.Result
}

// Query runs a statement and gives its rows, which must be closed. The arguments are values
// that CheckValue gave. The context ends the whole of it, to the last row.
func (c *Conn) Query(ctx context.Context, sql string, args []driver.NamedValue) (*Rows, error) {
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	a, s, err := c.run(true, sql, args)
	if err != nil {
		return nil, c.end(ctx, err)
	}
	return c.newRows(ctx, a.rows, s), nil
}

// Exec runs a statement and gives the number of rows that it touched.
func (c *Conn) Exec(ctx context.Context, sql string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	a, _, err := c.run(false, sql, args)
	if err := c.end(ctx, err); err != nil {
		return nil, err
	}
	if err := c.undecodable(); err != nil {
		return nil, err
	}
	if n, ok := a.res.(driver.RowsAffected); ok {
		return n, nil
	}
	return driver.RowsAffected(0), nil // the empty statement
}

// Ping makes one flight: an empty statement, which needs no rights.
func (c *Conn) Ping(ctx context.Context) error {
	_, err := c.Exec(ctx, ";", nil)
	return err
}

// Prepare names a statement at once, in one flight of its own, so that the server's opinion
// of it is known now.
func (c *Conn) Prepare(ctx context.Context, sql string) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	return c.end(ctx, c.prepare(sql))
}

// run executes a statement. s is the statement's entry in the cache, if it is a named one.
func (c *Conn) run(query bool, sql string, args []driver.NamedValue) (a answer, s *stmt, err error) {
	defer c.recovered(&err)
	if err := checkText(sql); err != nil {
		return a, nil, err
	}
	if len(args) == 0 {
		a, err = c.unnamed(query, sql, nil)
		return a, nil, err
	}
	if len(args) > maxParamArgs {
		return a, nil, callerError{fmt.Errorf("%d arguments: the protocol's limit is %d", len(args), maxParamArgs)}
	}
	if s = c.stmts.lookup(sql); s != nil {
		if len(args) != s.params {
			return a, nil, callerError{fmt.Errorf("the statement has %d parameters, %d arguments were given", s.params, len(args))}
		}
		a, err = c.named(query, s, args)
	} else if c.stmts.due(sql) {
		s = newStmt(sql)
		a, err = c.naming(query, s, args)
	} else {
		a, err = c.unnamed(query, sql, args)
		if err == nil || !c.forget(nil, err) {
			return a, nil, err
		}
	}
	if err == nil {
		return a, s, nil
	}
	if s != nil && !c.forget(s, err) {
		return a, nil, err
	}
	a, err = c.unnamed(query, sql, args)
	return a, nil, err
}

// unnamed runs a statement in one flight that leaves nothing on the server: Query if there
// are no arguments, else Parse, Bind, Describe, Execute, Sync.
func (c *Conn) unnamed(query bool, text string, args []driver.NamedValue) (a answer, err error) {
	if query {
		c.g.hold = true
		a.rows, err = c.pq.QueryContext(background, text, args)
	} else {
		a.res, err = c.pq.ExecContext(background, text, args)
	}
	return a, err
}

// named runs a named statement: Bind, Execute, Sync.
func (c *Conn) named(query bool, s *stmt, args []driver.NamedValue) (a answer, err error) {
	c.g.columns = columnCount(s.oids)
	if query {
		c.g.hold = true
		if s.reads == nil {
			c.g.bind = []byte{}
		}
		a.rows, err = s.st.QueryContext(background, args)
		if s.reads == nil {
			s.learnFormats(c.g.bind)
			c.g.bind = nil
		}
	} else {
		a.res, err = s.st.ExecContext(background, args)
	}
	return a, err
}

// learnFormats notes which formats lib/pq asks for when it runs the statement by name.
func (s *stmt) learnFormats(bind []byte) {
	s.reads = decodersOf(make([]decoder, 0, len(s.oids)), s.oids, resultFormats(bind, len(s.oids)))
}

// columnCount is the number of columns of a statement's rows; -1 = it has none.
func columnCount(oids []uint32) int {
	if len(oids) == 0 {
		return -1
	}
	return len(oids)
}

// Description is what the server says about a statement.
type Description struct {
	Params  []uint32 // type OIDs of $1, $2, …
	Columns []uint32 // type OIDs of the rows' columns; none = no rows
}

// Describe has a statement parsed and described, not run: one flight that leaves nothing on
// the server. A server that was asked for query metadata sends its notice on the way.
func (c *Conn) Describe(ctx context.Context, sql string) (Description, error) {
	if err := c.begin(ctx); err != nil {
		return Description{}, err
	}
	d, err := Description{}, checkText(sql)
	if err == nil {
		d, err = c.describe(sql)
	}
	return d, c.end(ctx, err)
}

// describe talks beneath lib/pq, which is idle.
func (c *Conn) describe(text string) (d Description, err error) {
	b := make([]byte, 0, len(text)+32)
	b = append(b, 'P')
	b = binary.BigEndian.AppendUint32(b, uint32(4+1+len(text)+1+2))
	b = append(b, 0)
	b = append(b, text...)
	b = append(b, 0, 0, 0)
	b = append(b, 'D', 0, 0, 0, 6, 'S', 0)
	b = append(b, 'S', 0, 0, 0, 4)
	if _, err := c.g.Write(b); err != nil {
		return d, err
	}
	for {
		var header [frameHeader]byte
		if _, err := io.ReadFull(c.g, header[:]); err != nil {
			return d, err
		}
		body := make([]byte, be32(header[1:])-4)
		if _, rerr := io.ReadFull(c.g, body); rerr != nil {
			return d, rerr
		}
		switch header[0] {
		case 'E':
			err = parseError(body)
		case 't':
			d.Params, _ = parameterDescription(body, nil)
		case 'T':
			d.Columns, _, _ = rowDescription(body, nil, nil)
		case 'Z':
			return d, err
		}
	}
}
