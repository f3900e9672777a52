package wire

import (
	"container/list"
	"strings"

	"github.com/lib/pq"
)

const (
	// maxTracked is the length of a text beyond which no use of it is counted: such texts
	// carry their values inside and don't come back.
	maxTracked = 16 << 10
	// namingPause is how many statements run unnamed after the server had no room for a
	// name. The storage is shared by all clients of an instance.
	namingPause = 1000
)

// stmt is a text that this connection has run.
type stmt struct {
	sql  string // as the caller wrote it
	text string // as it is sent
	uses int

	// Once named:
	st     pqStmt
	name   string
	params int
	oids   []uint32
	reads  []decoder // of the columns; nil until the first execution by name
}

// stmtCache knows the texts of one connection: counted ones and, of them, named ones.
type stmtCache struct {
	size      int // named statements; 0 = none is ever named
	threshold int // uses before a text is named
	texts     map[string]*list.Element
	order     list.List // of *stmt, most recently used first
	last      *list.Element
	named     int
	pause     int
	counter   int // lib/pq's own: its next name is counter+1
}

func newStmtCache(size, threshold int) stmtCache {
	return stmtCache{size: size, threshold: threshold}
}

// tracked is how many texts are counted.
func (c *stmtCache) tracked() int { return max(4*c.size, 64) }

// use counts a use of sql. Nil: it isn't tracked.
func (c *stmtCache) use(sql string, text func(string) string) *stmt {
	if c.size <= 0 || len(sql) > maxTracked {
		return nil
	}
	if c.pause > 0 {
		c.pause--
	}
	if e := c.last; e != nil {
		if s := e.Value.(*stmt); s.sql == sql {
			s.uses++
			return s
		}
	}
	if e, ok := c.texts[sql]; ok {
		c.order.MoveToFront(e)
		c.last = e
		s := e.Value.(*stmt)
		s.uses++
		return s
	}
	if c.texts == nil {
		c.texts = make(map[string]*list.Element)
	}
	if c.order.Len() >= c.tracked() {
		c.dropOldest(func(s *stmt) bool { return s.st == nil })
	}
	// The caller's string may be a slice of something large.
	s := &stmt{sql: strings.Clone(sql), uses: 1}
	if s.text = text(s.sql); len(s.text) == len(s.sql) {
		s.text = s.sql
	}
	e := c.order.PushFront(s)
	c.texts[s.sql] = e
	c.last = e
	return s
}

// dropOldest forgets the least recently used text that match accepts.
func (c *stmtCache) dropOldest(match func(*stmt) bool) *stmt {
	for e := c.order.Back(); e != nil; e = e.Prev() {
		s := e.Value.(*stmt)
		if !match(s) {
			continue
		}
		c.order.Remove(e)
		delete(c.texts, s.sql)
		if c.last == e {
			c.last = nil
		}
		return s
	}
	return nil
}

// due says whether the next execution of s should name it.
func (c *stmtCache) due(s *stmt) bool {
	return s != nil && s.st == nil && s.uses > c.threshold && c.pause == 0
}

// makeRoom gives up the least recently used name if a new one would be too many.
func (c *Conn) makeRoom() {
	for c.stmts.named >= c.stmts.size {
		s := c.stmts.dropOldest(func(s *stmt) bool { return s.st != nil })
		if s == nil {
			return
		}
		c.unname(s, true)
	}
}

// unname makes s an unnamed statement again. onServer: the server still knows the name.
func (c *Conn) unname(s *stmt, onServer bool) {
	if s.st == nil {
		return
	}
	if onServer {
		c.g.closeLater(s.name)
	}
	s.st, s.name, s.oids, s.reads, s.uses = nil, "", nil, nil, 0
	c.stmts.named--
}

// shed gives up all names: the server has no room for statements.
func (c *Conn) shed() {
	for e := c.stmts.order.Front(); e != nil; e = e.Next() {
		c.unname(e.Value.(*stmt), true)
	}
	c.stmts.pause = namingPause
}

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
	pe, ok := err.(*pq.Error)
	if !ok {
		return refusalNone
	}
	switch pe.Code {
	case "42999":
		return refusalStale
	case "0A000": // PostgreSQL's words for the same
		if pe.Message == "cached plan must not change result type" {
			return refusalStale
		}
	case "26000":
		return refusalLost
	case "42P05":
		return refusalDuplicate
	case "XX000":
		switch {
		case strings.HasPrefix(pe.Message, "Couldn't find statement"):
			return refusalLost
		case strings.Contains(pe.Message, "Statement storage is full"):
			return refusalFull
		}
	}
	return refusalNone
}

// outdated says that a statement failed because its plan is of an older schema: servers
// without invalidation say so while they execute. Whether it ran in part isn't known, but
// its name is of no use any more.
func outdated(err error) bool {
	pe, ok := err.(*pq.Error)
	return ok && pe.Code == "XX000" &&
		(strings.Contains(pe.Message, "schema version different") || strings.Contains(pe.Message, "NoSuchSpace"))
}
