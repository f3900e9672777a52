package wire

import (
	"bytes"
	"container/list"
	"hash/maphash"
	"math"
	"strings"

	"github.com/picodata/go-picodata/internal/servererr"
)

const (
	// maxNamed is the length of a text beyond which it is never named: such texts carry
	// their values inside and don't come back, and the server keeps what is named.
	maxNamed = 32 << 10
	// namingPause is how many statements run unnamed after the server had no room for a
	// name. The storage is shared by all clients of an instance.
	namingPause = 1000
	// sightings is how many texts are counted before they are named; a power of two.
	sightings = 256
)

// stmt is a text that the server knows by name on this connection, or is about to.
type stmt struct {
	sql    string
	st     pqStmt // nil while the execution that names it is under way
	name   string
	params int
	oids   []uint32  // of the columns
	reads  []decoder // of the columns; nil until the first execution by name
}

// stmtCache knows the statements of one connection.
type stmtCache struct {
	size      int // named statements; 0 = none is ever named
	threshold int // uses before a text is named
	named     map[string]*list.Element
	order     list.List // of *stmt, most recently used first
	last      *stmt     // used last, if it is still named
	pause     int
	counter   int // lib/pq's own: its next name is counter+1

	// Texts that aren't named are known by their hash alone: a stream of texts that never
	// come back costs no memory, and two texts with one hash only mean a name too early.
	seed maphash.Seed
	seen *[sightings]sighting
}

// sighting counts the uses of a text.
type sighting struct {
	hash uint64
	uses int
}

func newStmtCache(size, threshold int) stmtCache {
	c := stmtCache{size: size, threshold: threshold, seed: maphash.MakeSeed()}
	if size > 0 {
		c.named, c.seen = map[string]*list.Element{}, new([sightings]sighting)
	}
	return c
}

// lookup gives the named statement of a text; nil if it has no name.
func (c *stmtCache) lookup(sql string) *stmt {
	if c.last != nil && c.last.sql == sql {
		return c.last
	}
	e, ok := c.named[sql]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	c.last = e.Value.(*stmt)
	return c.last
}

// due counts a use of a text without a name and says whether this use should name it.
func (c *stmtCache) due(sql string) bool {
	if c.size <= 0 || len(sql) > maxNamed {
		return false
	}
	if c.pause > 0 {
		c.pause--
		return false
	}
	hash := maphash.String(c.seed, sql)
	s := &c.seen[hash%sightings]
	if s.hash != hash {
		// The place is another text's, whose count falls until it is free.
		if s.uses--; s.uses >= 0 {
			return c.threshold == 0
		}
		s.hash, s.uses = hash, 0
	}
	s.uses++
	if s.uses <= c.threshold {
		return false
	}
	s.uses = 0
	return true
}

// add makes s, which the server knows now, the most recently used.
func (c *stmtCache) add(s *stmt) {
	c.named[s.sql] = c.order.PushFront(s)
	c.last = s
}

// remove forgets a named statement.
func (c *stmtCache) remove(s *stmt) {
	if c.last == s {
		c.last = nil
	}
	if e, ok := c.named[s.sql]; ok {
		c.order.Remove(e)
		delete(c.named, s.sql)
	}
}

// makeRoom gives up the least recently used name if a new one would be too many.
func (c *Conn) makeRoom() {
	for len(c.stmts.named) >= c.stmts.size {
		c.unname(c.stmts.order.Back().Value.(*stmt), true)
	}
}

// unname gives up a name. onServer: the server knows it still.
func (c *Conn) unname(s *stmt, onServer bool) {
	if s.st == nil {
		return
	}
	c.stmts.remove(s)
	if onServer {
		c.g.closeLater(s.name)
	}
}

// ParseAnew has the next execution of the text send it to the server again, though it has a name there: what
// the server says as it parses, of the sharding key for instance, isn't said otherwise.
func (c *Conn) ParseAnew(sql string) {
	if s := c.stmts.lookup(sql); s != nil {
		c.unname(s, true)
	}
}

// shed gives up all names: the server has no room for statements.
func (c *Conn) shed() {
	for len(c.stmts.named) > 0 {
		c.unname(c.stmts.order.Back().Value.(*stmt), true)
	}
	c.stmts.pause = namingPause
}

// newStmt is a text that is about to be named. The caller's string may be a slice of
// something large.
func newStmt(sql string) *stmt { return &stmt{sql: strings.Clone(sql)} }

// What a server error says about a statement's name. In all cases but none, the server has
// run nothing: it refused the Parse or the Bind.
type refusal uint8

const (
	refusalNone      refusal = iota
	refusalStale             // the schema changed since the statement was prepared
	refusalLost              // the server doesn't know the name
	refusalDuplicate         // the server knows the name already
	refusalFull              // no room for one more statement on this instance
)

func refused(err error) refusal {
	r, _ := servererr.Of(err)
	switch r.Cause {
	case servererr.PlanChanged:
		return refusalStale
	case servererr.StatementUnknown:
		return refusalLost
	case servererr.StatementExists:
		return refusalDuplicate
	case servererr.StatementsFull:
		return refusalFull
	}
	return refusalNone
}

// outdated says that a statement failed because its plan is of an older schema: servers
// without invalidation say so while they execute. Whether it ran in part isn't known, but
// its name is of no use any more.
func outdated(err error) bool {
	r, _ := servererr.Of(err)
	switch r.Cause {
	case servererr.SchemaVersion, servererr.NoSpace, servererr.PlanChanged:
		return true
	}
	return false
}

// resultFormats gives the result formats that a Bind asks for, one per column; nil if the
// message is malformed. A statement without columns has none.
func resultFormats(body []byte, columns int) []bool {
	for range 2 { // portal and statement
		i := bytes.IndexByte(body, 0)
		if i < 0 {
			return nil
		}
		body = body[i+1:]
	}
	u16 := func() int {
		if len(body) < 2 {
			body = nil
			return math.MaxUint16
		}
		n := be16(body)
		body = body[2:]
		return n
	}
	n := u16()
	if len(body) < 2*n {
		return nil
	}
	body = body[2*n:]
	for range u16() {
		if len(body) < 4 {
			return nil
		}
		size := int(int32(be32(body)))
		body = body[4:]
		if size > len(body) {
			return nil
		}
		body = body[max(size, 0):]
	}
	formats := make([]bool, columns)
	switch n := u16(); {
	case len(body) != 2*n:
		return nil
	case n == 1:
		for i := range formats {
			formats[i] = be16(body) == 1
		}
	case n == columns:
		for i := range formats {
			formats[i] = be16(body[2*i:]) == 1
		}
	case n != 0:
		return nil
	}
	return formats
}
