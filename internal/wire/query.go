package wire

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
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

// naming runs a statement unnamed as lib/pq sees it and named as the server does: the guard
// puts the name in on the way. The description that this very execution brings makes the
// statement that lib/pq uses from then on, without another flight.
func (c *Conn) naming(query bool, s *stmt, args []driver.NamedValue) (a answer, err error) {
	c.makeRoom()
	s.name = strconv.Itoa(c.stmts.counter + 1)
	s.params = len(args)
	c.g.desc = nil
	c.g.rename, c.g.capture = s.name, true
	a, err = c.unnamed(query, s.sql, args)
	if err != nil && !c.g.ready() {
		return a, err
	}
	switch {
	case c.g.parsed && c.g.desc != nil:
		// An error after that is the execution's; the name is good.
		s.oids = append([]uint32(nil), c.g.oids...)
		if err != nil || !query {
			c.adopt(s)
		}
	case c.g.parsed:
		c.g.closeLater(s.name)
	}
	return a, err
}

// adopt makes lib/pq know a statement that the server already knows. lib/pq must be idle.
func (c *Conn) adopt(s *stmt) {
	st, err := c.preparedLocally(s)
	if err != nil {
		c.g.fail(err)
		return
	}
	s.st = st
	c.stmts.add(s)
}

// preparedLocally lets lib/pq prepare s with the guard as the server.
func (c *Conn) preparedLocally(s *stmt) (pqStmt, error) {
	desc := c.g.desc
	if desc == nil {
		desc = []byte{'n', 0, 0, 0, 4}
	}
	c.g.prepared = &synthetic{name: s.name, desc: desc, params: s.params}
	c.g.desc = nil
	c.stmts.counter++
	st, err := c.pq.PrepareContext(background, s.sql)
	if err != nil {
		return nil, err
	}
	ps, ok := st.(pqStmt)
	if !ok {
		return nil, errors.New("lib/pq's statement lacks QueryContext or ExecContext")
	}
	return ps, nil
}

// prepare names a statement with a flight of its own.
func (c *Conn) prepare(sql string) (err error) {
	defer c.recovered(&err)
	if err := checkText(sql); err != nil {
		return err
	}
	if c.stmts.size <= 0 || len(sql) > maxNamed { // nowhere to keep it: ask for the server's opinion alone
		_, err := c.describe(sql)
		return err
	}
	if c.stmts.lookup(sql) != nil {
		return nil
	}
	c.makeRoom()
	s := newStmt(sql)
	err = c.prepareNow(s)
	if err != nil && c.forget(nil, err) {
		err = c.prepareNow(s)
	}
	return err
}

func (c *Conn) prepareNow(s *stmt) error {
	c.stmts.counter++
	st, err := c.pq.PrepareContext(background, s.sql)
	if err != nil {
		return err
	}
	ps, ok := st.(pqStmt)
	if !ok {
		return errors.New("lib/pq's statement lacks QueryContext or ExecContext")
	}
	s.st, s.name, s.params = ps, strconv.Itoa(c.stmts.counter), st.NumInput()
	s.oids = append([]uint32(nil), c.g.oids...)
	c.stmts.add(s)
	return nil
}

// forget reacts to a server error of a statement that ran by name or was to get one; nil: of
// one that ran without. True: the server refused the name, or had no room, and ran nothing,
// and another try may fare better.
func (c *Conn) forget(s *stmt, err error) bool {
	if !c.g.ready() {
		return false
	}
	if c.g.saw.Bound { // a refusal comes before BindComplete, whatever an error quotes
		if s != nil && outdated(err) {
			c.unname(s, true)
		}
		return false
	}
	r := refused(err)
	if r == refusalFull {
		had := len(c.stmts.named) > 0 || s != nil
		c.shed()
		return had
	}
	if s == nil {
		return r == refusalDuplicate // lib/pq has counted on already
	}
	switch r {
	case refusalStale:
		c.unname(s, true)
	case refusalLost:
		c.unname(s, false)
	case refusalDuplicate:
		return c.passName()
	default:
		return false
	}
	return true
}

// passName lets lib/pq count past a name that the server knows already.
func (c *Conn) passName() bool {
	c.g.desc = nil
	s := &stmt{name: strconv.Itoa(c.stmts.counter + 1)}
	if _, err := c.preparedLocally(s); err != nil {
		c.g.fail(err)
		return false
	}
	return true
}

// rewrite puts the waiting Close messages in front of a write and gives the statement that
// it parses a name. The result is one buffer, so it stays one write.
func (g *guard) rewrite(p []byte) ([]byte, error) {
	out := g.wbuf[:0]
	out = g.appendCloses(out)
	if g.rename != "" {
		name := g.rename
		g.rename = ""
		var ok bool
		if out, p, ok = renameFrame(out, p, 'P', 0, name); !ok {
			return nil, errors.New("lib/pq wrote no unnamed Parse where one was expected")
		}
		// Bind names its portal first, which stays unnamed.
		if out, p, ok = renameFrame(out, p, 'B', 1, name); !ok {
			return nil, errors.New("lib/pq wrote no unnamed Bind where one was expected")
		}
	}
	out = append(out, p...)
	if cap(out) <= keepBuffer {
		g.wbuf = out[:0]
	}
	return out, nil
}

// renameFrame moves the first frame of src to dst, with name in place of the empty string
// at offset skip of its body.
func renameFrame(dst, src []byte, typ byte, skip int, name string) (_, rest []byte, ok bool) {
	if len(src) < frameHeader || src[0] != typ {
		return dst, src, false
	}
	size := int(be32(src[1:])) + 1
	at := frameHeader + skip
	if size <= at || len(src) < size || src[at] != 0 {
		return dst, src, false
	}
	dst = append(dst, typ)
	dst = binary.BigEndian.AppendUint32(dst, uint32(size-1+len(name)))
	dst = append(dst, src[frameHeader:at]...)
	dst = append(dst, name...)
	dst = append(dst, src[at:size]...)
	return dst, src[size:], true
}

// answerPrepare takes the Parse, Describe, Sync of a lib/pq Prepare and answers it from
// what the naming execution brought. Nothing is written.
func (g *guard) answerPrepare(p []byte) (int, error) {
	s := g.prepared
	g.prepared = nil
	if len(p) < frameHeader || p[0] != 'P' || !bytes.HasPrefix(p[frameHeader:], append([]byte(s.name), 0)) {
		return 0, g.fail(errors.New("lib/pq named a statement otherwise than expected"))
	}
	params := make([]byte, 2+4*s.params)
	binary.BigEndian.PutUint16(params, uint16(s.params))
	in := appendFrame(nil, '1', nil)
	in = appendFrame(in, 't', params)
	in = append(in, s.desc...)
	g.inject = appendFrame(in, 'Z', []byte{'I'})
	return len(p), nil
}

// closeLater queues a Close for a named statement.
func (g *guard) closeLater(name string) {
	g.closes = appendClose(g.closes, name)
	g.closing++
}

// appendCloses appends the waiting Close messages; their answers are taken out.
func (g *guard) appendCloses(out []byte) []byte {
	if g.closing > 0 {
		out = append(out, g.closes...)
		g.swallow += g.closing
		g.closes, g.closing = g.closes[:0], 0
	}
	return out
}
