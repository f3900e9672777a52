package picotest

import (
	"strings"
	"sync"
	"sync/atomic"
)

// Point is a moment in the life of a statement (or a login) at which a fault happens, a
// hold stops it or a message is put in.
type Point struct {
	kind pointKind
	n    int
}

type pointKind int

const (
	pointLogin pointKind = iota
	pointBytes
	pointParse
	pointBind
	pointExecute
	pointAnswer
	pointRow
	pointInside
	pointReady
)

// OnLogin is when a startup message was read, before the server asks for a password.
// A Match sees the user and the options.
func OnLogin() Point { return Point{kind: pointLogin} }

// AfterBytes is when the node has read n bytes of a flight, which begins with the first byte that
// a client sends after it was answered; nothing of the flight is executed. What the SQL is isn't known
// yet: a Match sees the user only.
func AfterBytes(n int) Point { return Point{kind: pointBytes, n: n} }

// OnParse is when a Parse message was read, before it is looked at.
func OnParse() Point { return Point{kind: pointParse} }

// OnBind is when a Bind message of a statement that the node knows was read, before its values are looked at. A server that
// refuses a prepared statement does it here.
func OnBind() Point { return Point{kind: pointBind} }

// OnExecute is when a statement is about to run: nothing of it has happened.
func OnExecute() Point { return Point{kind: pointExecute} }

// BeforeAnswer is when a statement has run and nothing of its answer was sent.
func BeforeAnswer() Point { return Point{kind: pointAnswer} }

// AfterRows is when n rows of an answer were sent.
func AfterRows(n int) Point { return Point{kind: pointRow, n: n} }

// InsideRow is in the middle of the message that carries row n+1; n rows before it were sent.
func InsideRow(n int) Point { return Point{kind: pointInside, n: n} }

// BeforeReady is when an answer was sent up to CommandComplete, but not ReadyForQuery.
func BeforeReady() Point { return Point{kind: pointReady} }

// Match chooses statements. Several have to agree.
type Match func(*Statement) bool

// SQL matches statements whose text contains part, in any case of letters.
func SQL(part string) Match {
	part = strings.ToLower(part)
	return func(s *Statement) bool { return strings.Contains(strings.ToLower(s.SQL), part) }
}

// ByUser matches what a user does.
func ByUser(name string) Match { return func(s *Statement) bool { return s.User == name } }

// OfConn matches what comes over one connection of a node.
func OfConn(id uint64) Match { return func(s *Statement) bool { return s.Conn == id } }

// UserTables matches statements that aren't about the system's tables, functions and version: what a driver asks
// for its own sake is left alone.
func UserTables() Match {
	return func(s *Statement) bool {
		text := strings.ToLower(s.SQL)
		return !strings.Contains(text, "pico_") && !strings.Contains(text, "version()")
	}
}

// hook is something that happens at a point.
type hook struct {
	node    *Node // nil: every node
	point   Point
	matches []Match
	once    int // how often it still happens; negative: always
	hits    int
	hold    *Hold // for Node.Release
	act     func(*session, *Statement) outcome
}

// outcome is what a hook does to a statement.
type outcome struct {
	cut     bool
	how     cutKind
	answer  *injected // instead of running (OnExecute, OnParse, OnBind, OnLogin)
	insert  []injected
	blocked bool // the connection or the cluster ended while the hook held it
}

// hooks are those of a cluster. A cluster without any costs a statement one atomic load.
type hooks struct {
	mu     sync.Mutex
	list   []*hook
	armed  atomic.Int32
	kinds  [pointReady + 1]atomic.Int32
	ended  bool
	closer []func()
}

func (h *hooks) add(k *hook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, k)
	h.armed.Add(1)
	h.kinds[k.point.kind].Add(1)
}

func (h *hooks) remove(k *hook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, have := range h.list {
		if have == k {
			h.list = append(h.list[:i:i], h.list[i+1:]...)
			h.armed.Add(-1)
			h.kinds[k.point.kind].Add(-1)
			return
		}
	}
}

func (h *hooks) count(k *hook) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return k.hits
}

// any tells whether something waits at points of a kind.
func (h *hooks) any(kind pointKind) bool { return h.kinds[kind].Load() > 0 }

// at returns what happens to a statement at a point, in order of registration; it ends with a
// cut or an answer.
func (h *hooks) at(s *session, kind pointKind, n int, st *Statement) outcome {
	var all outcome
	if !h.any(kind) {
		return all
	}
	h.mu.Lock()
	list := h.list
	h.mu.Unlock()
	for _, k := range list {
		if k.point.kind != kind || k.point.n != n || k.node != nil && k.node != s.c.node || !k.wants(st) {
			continue
		}
		h.mu.Lock()
		spent := k.once == 0
		if !spent {
			k.hits++
			if k.once > 0 {
				k.once--
			}
		}
		h.mu.Unlock()
		if spent {
			continue
		}
		o := k.act(s, st)
		all.insert = append(all.insert, o.insert...)
		if o.cut || o.answer != nil || o.blocked {
			o.insert = all.insert
			return o
		}
	}
	return all
}

func (k *hook) wants(st *Statement) bool {
	for _, m := range k.matches {
		if !m(st) {
			return false
		}
	}
	return true
}

// bytesLimit is how many bytes of a flight a node reads before a fault, or -1.
func (h *hooks) bytesLimit(s *session) (int, *hook) {
	if !h.any(pointBytes) {
		return -1, nil
	}
	st := s.login()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.list {
		if k.point.kind == pointBytes && k.once != 0 && (k.node == nil || k.node == s.c.node) && k.wants(st) {
			return k.point.n, k
		}
	}
	return -1, nil
}

// spend uses a hook up once; false if it was used up meanwhile.
func (h *hooks) spend(k *hook) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.once == 0 {
		return false
	}
	k.hits++
	if k.once > 0 {
		k.once--
	}
	return true
}

// onClose has f called when the cluster closes.
func (h *hooks) onClose(f func()) {
	h.mu.Lock()
	ended := h.ended
	if !ended {
		h.closer = append(h.closer, f)
	}
	h.mu.Unlock()
	if ended {
		f()
	}
}

func (h *hooks) close() {
	h.mu.Lock()
	h.ended = true
	list := h.closer
	h.closer = nil
	h.mu.Unlock()
	for _, f := range list {
		f()
	}
}
