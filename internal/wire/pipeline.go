package wire

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/lib/pq/oid"

	"github.com/picodata/go-picodata/internal/servererr"
)

// pipelineWindow bounds the bytes of statements that were written and aren't answered yet. It is below what
// the sockets' buffers hold, so that writing never waits for a server that itself waits until its answers
// are read. A longer statement goes alone.
const pipelineWindow = 32 << 10

// Piece is one statement of a pipeline: the first part is the caller's, the second what became of it.
type Piece struct {
	SQL  string
	Args []driver.NamedValue // as CheckValue gives them
	Anew bool                // to be parsed again though it has a name, see ParseAnew

	Columns  []string
	Types    []uint32         // the columns' type OIDs
	Rows     [][]driver.Value // memory of their own
	Affected int64
	Err      error // nil or *Error

	stmt   *stmt // its name's, nil: unnamed
	parse  bool  // this piece brings the name to the server
	desc   []byte
	parsed bool
	bound  bool
	size   int
}

// Pipeline runs statements in as few flights as the window allows: each is bound, executed and synced by itself, so
// that an error of one neither skips nor undoes its neighbours, and what each answered, or its error, stands in its
// Piece. The error returned says that nothing was begun. A server's refusal of a name, which has run nothing, is met
// by a second flight without names, unseen by the caller; such a piece runs after the others.
//
// It goes beneath lib/pq, which is idle, as Describe does (PostgreSQL's protocol, "Pipelining").
func (c *Conn) Pipeline(ctx context.Context, pieces []*Piece) error {
	return c.pipeline(ctx, pieces, true)
}

// Ask is Pipeline for texts that don't come back: none of them gets a name.
func (c *Conn) Ask(ctx context.Context, pieces []*Piece) error { return c.pipeline(ctx, pieces, false) }

func (c *Conn) pipeline(ctx context.Context, pieces []*Piece, names bool) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	var todo []*Piece
	for _, p := range pieces {
		if err := c.checkPiece(p); err != nil {
			p.Err = c.pieceError(p, err, 0)
			continue
		}
		todo = append(todo, p)
	}
	if names {
		c.nameAll(todo)
	}
	c.g.columns, c.g.raw = -1, true
	err := c.flow(todo)
	if err == nil {
		c.settleNames(todo)
		var again []*Piece
		for _, p := range todo {
			if p.Err != nil && c.refusedName(p) {
				*p = Piece{SQL: p.SQL, Args: p.Args}
				again = append(again, p)
			}
		}
		if len(again) > 0 {
			todo = again
			err = c.flow(again)
		}
	}
	err = c.end(ctx, err)
	if err != nil {
		var e *Error
		errors.As(err, &e)
		for _, p := range todo {
			if p.Err == nil && p.size >= 0 {
				own := *e
				own.Sent, own.Answered = p.size > 0, p.parsed || p.bound
				own.Saw = servererr.Evidence{Bound: p.bound, Row: len(p.Rows) > 0}
				p.Err = &own
			}
		}
	}
	return nil
}

func (c *Conn) checkPiece(p *Piece) error {
	if err := checkText(p.SQL); err != nil {
		return err
	}
	if len(p.Args) > maxParamArgs {
		return callerError{fmt.Errorf("%d arguments: the protocol's limit is %d", len(p.Args), maxParamArgs)}
	}
	if s := c.stmts.lookup(p.SQL); s != nil && len(p.Args) != s.params {
		return callerError{fmt.Errorf("the statement has %d parameters, %d arguments were given", s.params, len(p.Args))}
	}
	return nil
}

// pieceError is the error of one piece, whose neighbours go on.
func (c *Conn) pieceError(p *Piece, err error, written int) error {
	e := &Error{Stage: StageQuery, Node: c.target.node(), Address: c.target.Address, Sent: written > 0, Answered: written > 0,
		Saw: servererr.Evidence{Bound: p.bound, Row: len(p.Rows) > 0}, Cause: err}
	if mistake, ok := err.(callerError); ok {
		e.Local, e.Cause = true, mistake.error
	}
	return e
}

// nameAll gives a name to the texts that have one, that come back in this pipeline, or that are due for one.
func (c *Conn) nameAll(pieces []*Piece) {
	uses := make(map[string]int, 4)
	for _, p := range pieces {
		uses[p.SQL]++
	}
	named, room := map[string]*stmt{}, c.stmts.size
	for _, p := range pieces {
		if p.stmt = named[p.SQL]; p.stmt != nil {
			continue
		}
		if s := c.stmts.lookup(p.SQL); s != nil {
			if p.Anew {
				c.unname(s, true)
			} else {
				p.stmt = s
				named[p.SQL] = s
				continue
			}
		}
		due := c.stmts.due(p.SQL) || uses[p.SQL] > 1 && c.stmts.pause == 0 && len(p.SQL) <= maxNamed
		if !due || len(p.Args) == 0 || len(named) >= room {
			continue
		}
		s := newStmt(p.SQL)
		s.params = len(p.Args)
		p.stmt, p.parse = s, true
		named[p.SQL] = s
	}
	next := c.stmts.counter
	for _, p := range pieces {
		if p.parse {
			next++
			p.stmt.name = strconv.Itoa(next)
		}
	}
}

// settleNames makes lib/pq know the names that the server knows now, in the order in which it counts them, and pass over those that were taken.
func (c *Conn) settleNames(pieces []*Piece) {
	last := -1
	for i, p := range pieces {
		var e *Error
		if p.parse && (p.parsed || errors.As(p.Err, &e) && refused(e.Cause) == refusalDuplicate) {
			last = i
		}
	}
	for _, p := range pieces[:last+1] {
		if !p.parse || c.g.err != nil {
			continue
		}
		if p.parsed && p.desc != nil {
			c.makeRoom()
			p.stmt.oids = append([]uint32(nil), p.Types...)
			c.g.desc = p.desc
			c.adopt(p.stmt)
			continue
		}
		if p.parsed {
			c.g.closeLater(p.stmt.name)
		}
		c.passName()
	}
}

// refusedName reports whether the server refused a piece's name, or had no room for one, and ran nothing.
func (c *Conn) refusedName(p *Piece) bool {
	var e *Error
	if p.bound || !errors.As(p.Err, &e) {
		return false
	}
	switch refused(e.Cause) {
	case refusalNone:
		return false
	case refusalFull:
		c.shed()
		return p.stmt != nil
	case refusalDuplicate: // the next try counts past the name
	case refusalLost:
		if p.stmt != nil && !p.parse {
			c.unname(p.stmt, false)
		}
	case refusalStale:
		if p.stmt != nil && !p.parse {
			c.unname(p.stmt, true)
		}
	}
	return p.stmt != nil
}

// flow writes the pieces, a window ahead of their answers, and reads these in step.
func (c *Conn) flow(pieces []*Piece) error {
	var (
		out            []byte
		written, asked int // pieces that were written, and answered
		open           int // bytes that were written and aren't answered
		next           int // size of the piece that didn't fit any more
	)
	for _, p := range pieces {
		p.size = 0
	}
	for asked < len(pieces) {
		if c.g.err != nil { // out of step: what is written now would run, and nobody could read its answer
			return c.g.err
		}
		out = c.g.appendCloses(out[:0])
		from := written
		for written < len(pieces) && (open == 0 || open+next <= pipelineWindow) {
			p := pieces[written]
			before := len(out)
			out = c.appendPiece(out, p)
			if next = len(out) - before; open > 0 && open+next > pipelineWindow {
				out = out[:before]
				break
			}
			p.size, next = next, 0
			open += p.size
			written++
		}
		if written > from {
			c.g.outstanding += written - from
			n, err := c.g.nc.Write(out)
			c.g.written += int64(n)
			if err != nil {
				// Whole pieces behind the break were not sent.
				for at, i := len(out), written-1; i >= from; i-- {
					if at -= pieces[i].size; at >= n {
						pieces[i].size = 0
					}
				}
				return c.g.fail(err)
			}
		}
		// At least half of the window must be free before the next write is worth a system call.
		for ok := true; ok; ok = asked < written && (written == len(pieces) || open > pipelineWindow/2) {
			p := pieces[asked]
			if err := c.readPiece(p); err != nil {
				return err
			}
			open -= p.size
			p.size = -1
			asked++
		}
	}
	return nil
}

// appendPiece appends [Parse,] Bind, Describe, Execute, Sync.
func (c *Conn) appendPiece(b []byte, p *Piece) []byte {
	name := ""
	if p.stmt != nil {
		name = p.stmt.name
	}
	if p.stmt == nil || p.parse {
		b = framed(b, 'P', func(b []byte) []byte {
			b = append(append(b, name...), 0)
			b = append(append(b, p.SQL...), 0)
			return append(b, 0, 0)
		})
	}
	b = framed(b, 'B', func(b []byte) []byte {
		b = append(b, 0)
		b = append(append(b, name...), 0)
		b = append(b, 0, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(len(p.Args)))
		for i := range p.Args {
			b = appendArg(b, p.Args[i].Value)
		}
		return append(b, 0, 0)
	})
	b = append(b, 'D', 0, 0, 0, 6, 'P', 0)
	b = append(b, 'E', 0, 0, 0, 9, 0, 0, 0, 0, 0)
	return append(b, 'S', 0, 0, 0, 4)
}

// framed appends a frame whose body is what f appends.
func framed(b []byte, typ byte, f func([]byte) []byte) []byte {
	at := len(b)
	b = f(append(b, typ, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(b[at+1:], uint32(len(b)-at-1))
	return b
}

// appendArg appends an argument as text, as lib/pq writes it.
func appendArg(b []byte, v driver.Value) []byte {
	if v == nil {
		return append(b, 0xff, 0xff, 0xff, 0xff)
	}
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	switch v := v.(type) {
	case int64:
		b = strconv.AppendInt(b, v, 10)
	case float64:
		b = strconv.AppendFloat(b, v, 'f', -1, 64)
	case bool:
		b = strconv.AppendBool(b, v)
	case string:
		b = append(b, v...)
	case []byte:
		b = append(b, v...)
	default:
		b = fmt.Append(b, v)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// message gives the next checked frame, in the guard's memory until the next call.
func (g *guard) message() (typ byte, body []byte, err error) {
	for {
		if len(g.inject) > 0 {
			size := int(be32(g.inject[1:])) + 1
			typ, body = g.inject[0], g.inject[frameHeader:size]
			g.inject = g.inject[size:]
			return typ, body, nil
		}
		if g.r < g.v {
			b := g.buf[g.r:g.v]
			size := int(be32(b[1:])) + 1
			g.r += size
			return b[0], b[frameHeader:size], nil
		}
		if g.err != nil {
			return 0, nil, g.err
		}
		need, err := g.scan()
		if g.r < g.v {
			continue
		}
		if err != nil {
			return 0, nil, g.fail(err)
		}
		if need == 0 {
			continue
		}
		if err := g.fill(need); err != nil {
			return 0, nil, err
		}
	}
}

// readPiece reads what the server says of a piece, to its ReadyForQuery.
func (c *Conn) readPiece(p *Piece) error {
	var (
		reads []decoder
		texts arena
	)
	for {
		typ, body, err := c.g.message()
		if err != nil {
			return err
		}
		switch typ {
		case '1':
			p.parsed = true
		case '2':
			p.bound = true
		case 'T':
			if p.parse && p.desc == nil {
				p.desc = appendFrame(nil, typ, body)
			}
			var formats []bool
			p.Types, formats, _ = rowDescription(body, nil, nil)
			p.Columns = columnNames(body)
			for i, t := range p.Types {
				reads = append(reads, decoderOf(t, formats[i]))
			}
		case 'n':
			if p.parse && p.desc == nil {
				p.desc = appendFrame(nil, typ, nil)
			}
		case 'D':
			row, err := p.decode(body, reads, &texts)
			if err != nil && p.Err == nil {
				p.Err = c.pieceError(p, err, p.size)
			}
			p.Rows = append(p.Rows, row)
		case 'C':
			p.Affected = affectedRows(body)
			if spoilt := c.g.spoilt; spoilt != nil {
				c.g.spoilt = nil
				p.Err = c.pieceError(p, spoilt, p.size)
			}
		case 'E':
			p.Err = c.pieceError(p, parseError(body), p.size)
			if c.g.fatal != nil {
				return c.g.fatal
			}
		case 'Z':
			if p.Err == nil {
				p.Columns = p.Columns[:len(p.Columns):len(p.Columns)]
			}
			return nil
		}
	}
}

// columnNames reads the names of a RowDescription that rowDescription accepted.
func columnNames(b []byte) []string {
	names := make([]string, be16(b))
	b = b[2:]
	for i := range names {
		end := bytes.IndexByte(b, 0)
		names[i] = string(b[:end])
		b = b[end+1+18:]
	}
	return names
}

// affectedRows is the last number of a CommandComplete's tag, for the verbs for which lib/pq takes it so.
func affectedRows(body []byte) int64 {
	tag := strings.TrimRight(string(body), "\x00")
	switch verb, _, _ := strings.Cut(tag, " "); verb {
	case "INSERT", "UPDATE", "DELETE", "SELECT":
		n, _ := strconv.ParseInt(tag[strings.LastIndexByte(tag, ' ')+1:], 10, 64)
		return n
	}
	return 0
}

// decode reads a row into memory of its own.
func (p *Piece) decode(body []byte, reads []decoder, texts *arena) ([]driver.Value, error) {
	row := make([]driver.Value, len(reads))
	column, length, err := decodeRow(body, reads, row, texts)
	if err != nil {
		e := &DecodeError{Type: "row", Length: length, Cause: err}
		if column >= 0 {
			e.Column, e.Name, e.Type = column+1, p.Columns[column], oid.TypeName[oid.Oid(p.Types[column])]
		}
		return row, e
	}
	for i, v := range row {
		if raw, is := v.([]byte); is {
			row[i] = bytes.Clone(raw)
		}
	}
	return row, nil
}
