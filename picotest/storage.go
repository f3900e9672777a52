package picotest

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// statement is a prepared statement of a session.
type statement struct {
	name string
	stmt engine.StmtAPI
	sql  string
}

// portal is a bound statement. Its rows are all there before the first is sent.
type portal struct {
	st      *statement
	args    []engine.Value
	formats []int16 // one per result column
	started bool
	done    bool
	result  *engine.Result
	sent    int
}

// storage counts the prepared statements and portals of an instance: its limits hold for all clients together.
type storage struct {
	mu      sync.Mutex
	used    int
	phantom int // statements nobody has, of Node.FillStatements
	portals int
}

// reserve takes a place; the server's limit when there is none left.
func (t *storage) reserve(max int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if max > 0 && int64(t.used+t.phantom) >= max {
		return false
	}
	t.used++
	return true
}

func (t *storage) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used--
}

// clear is the end of the process: nothing is stored any more.
func (t *storage) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phantom = 0
}

// reservePortal takes a place for a portal; false when there is none left.
func (t *storage) reservePortal(max int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if max > 0 && int64(t.portals) >= max {
		return false
	}
	t.portals++
	return true
}

func (t *storage) releasePortals(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.portals -= n
}

// FillStatements makes the instance's statement storage look as if others held all but free of
// the pg_statement_max places. A negative number takes that back.
func (n *Node) FillStatements(free int) {
	max := n.c.number("pg_statement_max", 100000)
	n.storage.mu.Lock()
	defer n.storage.mu.Unlock()
	if free < 0 {
		n.storage.phantom = 0
		return
	}
	n.storage.phantom = int(max) - n.storage.used - free
}

// number reads a parameter of ALTER SYSTEM.
func (c *Cluster) number(name string, otherwise int64) int64 {
	v, ok := c.eng.Setting(name, "")
	if !ok {
		return otherwise
	}
	switch n := v.(type) {
	case int64:
		return n
	case uint64:
		return int64(n)
	}
	return otherwise
}

// seconds reads a parameter of ALTER SYSTEM that is a number of seconds.
func (c *Cluster) seconds(name string, otherwise time.Duration) time.Duration {
	v, ok := c.eng.Setting(name, "")
	if !ok {
		return otherwise
	}
	text, err := engine.Encode(v, engine.OIDFloat8, 0)
	if err != nil {
		return otherwise
	}
	s, err := strconv.ParseFloat(string(text), 64)
	if err != nil || s <= 0 {
		return otherwise
	}
	return time.Duration(s * float64(time.Second))
}

// keep stores a statement under its name.
func (s *session) keep(st *statement) *engine.Error {
	if st.name != "" && s.statements[st.name] != nil {
		return &engine.Error{Code: "42P05", Message: fmt.Sprintf("Statement '%s' for client %d already exists", st.name, s.c.id)}
	}
	s.drop(st.name)
	max := s.c.node.c.number("pg_statement_max", 100000)
	if !s.c.node.storage.reserve(max) {
		return storageFull("Statement", "pg_statement_max", max)
	}
	s.statements[st.name] = st
	n := &s.c.node.counters
	n.preparedEver.Add(1)
	n.preparedNow.Add(1)
	s.c.counters.preparedEver.Add(1)
	s.c.counters.preparedNow.Add(1)
	return nil
}

func storageFull(what, parameter string, max int64) *engine.Error {
	return &engine.Error{Code: "XX000", Message: fmt.Sprintf("%s storage is full. Current size limit: %d. "+
		`Please, increase storage limit using: ALTER SYSTEM SET "%s" TO <new-limit>`, what, max, parameter)}
}

// openPortal stores a portal under its name; the unnamed one replaces the one before.
func (s *session) openPortal(name string, p *portal) *engine.Error {
	if name != "" && s.portals[name] != nil {
		return &engine.Error{Code: "42P03", Message: fmt.Sprintf("Portal '%s' for client %d already exists", name, s.c.id)}
	}
	s.closePortal(name)
	max := s.c.node.c.number("pg_portal_max", 100000)
	if !s.c.node.storage.reservePortal(max) {
		return storageFull("Portal", "pg_portal_max", max)
	}
	s.portals[name] = p
	return nil
}

// closePortal forgets a portal, if there is one of that name.
func (s *session) closePortal(name string) {
	if s.portals[name] != nil {
		delete(s.portals, name)
		s.c.node.storage.releasePortals(1)
	}
}

// closePortals forgets all portals, suspended ones too.
func (s *session) closePortals() {
	s.c.node.storage.releasePortals(len(s.portals))
	clear(s.portals)
}

// drop forgets a statement, if there is one of that name.
func (s *session) drop(name string) {
	if s.statements[name] == nil {
		return
	}
	delete(s.statements, name)
	s.c.node.storage.release()
	s.c.node.counters.preparedNow.Add(-1)
	s.c.counters.preparedNow.Add(-1)
}

// deallocate is DEALLOCATE name or ALL.
func (s *session) deallocate(name string) *engine.Error {
	if name == "" {
		for have := range s.statements {
			if have != "" {
				s.drop(have)
			}
		}
		return nil
	}
	if s.statements[name] == nil {
		return &engine.Error{Code: "XX000", Message: fmt.Sprintf("prepared statement %s does not exist.", name)}
	}
	s.drop(name)
	return nil
}
