package picotest

import (
	"sync"
	"time"
)

// Statement is a statement that a client sent, as hooks see it while it lasts and
// Cluster.Statements remembers it.
type Statement struct {
	// ID counts the cluster's statements from 1, in the order in which they were about to run.
	ID uint64
	// Node is the instance the client is connected to, Conn the id of the connection there.
	Node string
	Conn uint64
	// User and Options are those of the startup message.
	User, Options string
	SQL           string
	// Args are the parameters in text form, nil for NULL.
	Args []any
	// Extended tells that it came as Parse, Bind and Execute; Prepared is the statement's name, "" for the unnamed one.
	Extended bool
	Prepared string
	// Kind is DQL, DML, DDL, ACL, Block, Explain, NoOp or Empty.
	Kind string

	// Ran names the instances that did the work: whose copies were read or written, the raft leader for DDL and
	// global tables, else the connected one. Hops counts the calls to other
	// instances, Forwarded tells that there were any.
	Ran  []string
	Hops int
	// Hung tells that it waited for an instance that didn't answer.
	Hung bool
	// Tag is the command tag, Rows the number of rows; ErrCode and ErrText are set if it failed.
	Tag              string
	Rows             int
	ErrCode, ErrText string
	// Began is when it was about to run, by the cluster's clock.
	Began time.Time
}

// Forwarded tells whether another instance than the connected one had to be asked.
func (s *Statement) Forwarded() bool { return s.Hops > 0 }

// recorder remembers statements.
type recorder struct {
	mu    sync.Mutex
	max   int
	next  uint64
	list  []Statement
	first int // where the oldest is, once list is full
}

func (r *recorder) init(max int) { r.max = max }

// number gives a statement its ID.
func (r *recorder) number() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	return r.next
}

func (r *recorder) add(s Statement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.max <= 0:
	case len(r.list) < r.max:
		r.list = append(r.list, s)
	default:
		r.list[r.first] = s
		r.first = (r.first + 1) % r.max
	}
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.first = nil, 0
}

// Statements returns the statements that ended, in the order in which they did and with those that match. The
// newest Config.Statements of all are remembered.
func (c *Cluster) Statements(matches ...Match) []Statement {
	r := &c.record
	r.mu.Lock()
	all := make([]Statement, 0, len(r.list))
	all = append(all, r.list[r.first:]...)
	all = append(all, r.list[:r.first]...)
	r.mu.Unlock()
	if len(matches) == 0 {
		return all
	}
	k := hook{matches: matches}
	var list []Statement
	for i := range all {
		if k.wants(&all[i]) {
			list = append(list, all[i])
		}
	}
	return list
}
