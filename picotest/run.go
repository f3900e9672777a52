package picotest

import (
	"context"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// alreadyAnswered is the code of an error whose message a hook has put into the answer.
const alreadyAnswered = "answered"

func kindName(k engine.Kind) string {
	names := map[engine.Kind]string{
		engine.Empty: "Empty", engine.DQL: "DQL", engine.DML: "DML", engine.DDL: "DDL", engine.ACL: "ACL", engine.Block: "Block",
		engine.Explain: "Explain", engine.Deallocate: "Deallocate", engine.NoOp: "NoOp", engine.SystemSet: "System",
	}
	return names[k]
}

// begin makes the record of a statement that is about to run.
func (s *session) begin(sql string, p *portal) *Statement {
	st := s.login()
	st.ID = s.c.node.c.record.number()
	st.SQL, st.Began = sql, s.c.node.c.clock.Now()
	if p != nil {
		st.Extended, st.Prepared = true, p.st.name
		st.Kind = kindName(p.st.stmt.Kind())
		oids := p.st.stmt.Params()
		for i, v := range p.args {
			st.Args = append(st.Args, argText(v, oids[i]))
		}
	}
	return st
}

func argText(v engine.Value, oid uint32) any {
	if v == nil {
		return nil
	}
	text, err := engine.Encode(v, oid, 0)
	if err != nil {
		return nil
	}
	return string(text)
}

// finish counts a statement and remembers it.
func (s *session) finish(st *Statement, r *engine.Result, bad *engine.Error) {
	n := s.c.node
	if r != nil {
		st.Tag, st.Rows = r.Tag, len(r.Rows)
	}
	if bad != nil {
		st.ErrCode, st.ErrText = bad.Code, bad.Message
	}
	n.counters.statements.Add(1)
	s.c.counters.statements.Add(1)
	n.counters.hops.Add(int64(st.Hops))
	s.c.counters.hops.Add(int64(st.Hops))
	n.c.record.add(*st)
}

// perform runs a statement where it belongs. Without a result and an error the connection is over.
func (s *session) perform(stmt engine.StmtAPI, args []engine.Value, st *Statement) (*engine.Result, *engine.Error) {
	h := &s.c.node.c.hooks
	if h.any(pointExecute) {
		o := h.at(s, pointExecute, 0, st)
		if !s.obey(o, false) {
			return nil, nil
		}
		if o.answer != nil {
			s.c.out = o.answer.encode(s.c.out)
			bad := &engine.Error{Code: alreadyAnswered, Message: "injected"}
			s.finish(st, nil, bad)
			return nil, bad
		}
	}
	if !s.c.node.frozen.pass(s.c.done) {
		return nil, nil
	}
	result, bad := s.runOnce(stmt, args, st)
	s.finish(st, result, bad)
	if result == nil && bad == nil {
		return nil, nil
	}
	if h.any(pointAnswer) && !s.obey(h.at(s, pointAnswer, 0, st), false) {
		return nil, nil
	}
	return result, bad
}

// runOnce decides where a statement runs and runs it there.
func (s *session) runOnce(stmt engine.StmtAPI, args []engine.Value, st *Statement) (*engine.Result, *engine.Error) {
	node := s.c.node
	switch stmt.Kind() {
	case engine.Deallocate:
		if bad := s.deallocate(stmt.Name()); bad != nil {
			return nil, bad
		}
	case engine.ACL:
		defer node.c.unlockAfter(stmt.SQL())
	}
	for {
		p, result, bad := s.attempt(stmt, args, st)
		if p == nil || p.wait == nil {
			return result, bad
		}
		st.Hung = true
		over, bad := s.hang(p)
		if over {
			return nil, bad
		}
		if p.woken != nil {
			return nil, p.woken
		}
		// Whom it waited for answers again.
	}
}

// attempt plans a statement and runs it, unless the plan says to wait.
func (s *session) attempt(stmt engine.StmtAPI, args []engine.Value, st *Statement) (*plan, *engine.Result, *engine.Error) {
	node := s.c.node
	node.c.moving.RLock()
	defer node.c.moving.RUnlock()
	p, bad := node.c.plan(node, stmt, args)
	if bad != nil || p.wait != nil {
		return p, nil, bad
	}
	st.Hops = p.hops
	st.Ran = st.Ran[:0]
	for _, n := range p.served {
		st.Ran = append(st.Ran, n.name)
		n.counters.served.Add(1)
		if n != node {
			n.counters.forwardedTo.Add(1)
		}
	}
	result, bad := stmt.Run(context.Background(), args, p.view)
	if bad != nil && p.catalog && p.hops > 0 {
		// The raft leader's storage refused: the instance in between says that it only passes it on.
		if text, ok := strings.CutPrefix(bad.Message, "box error: "); ok {
			bad = &engine.Error{Code: bad.Code, Message: "server responded with error: " + text}
		}
	}
	return p, result, bad
}

// hang waits as a statement waits whose answer doesn't come. over tells that it is the end of it: the server's
// own limit passed (with an error), or the client or the node is gone (without).
func (s *session) hang(p *plan) (over bool, bad *engine.Error) {
	c := s.c.node.c
	s.c.flushDue()
	c.hanging.change(1)
	defer c.hanging.change(-1)
	limit := make(chan struct{})
	t := c.clock.AfterFunc(c.scaled(statementLimit), func() { close(limit) })
	defer t.Stop()
	select {
	case <-p.wait:
		return false, nil
	case <-limit:
		return true, &engine.Error{Code: "XX000", Message: "sbroad: box error: ProcLua: " + p.limitText}
	case <-s.c.in.over:
		return true, nil
	case <-s.c.done:
		return true, nil
	}
}

// hangCounter counts the statements that hang.
type hangCounter struct {
	mu   chan struct{} // a lock of one token, so that waiting for news is a select
	now  int
	news chan struct{}
}

func (h *hangCounter) init() {
	h.mu = make(chan struct{}, 1)
	h.news = make(chan struct{})
}

func (h *hangCounter) change(by int) {
	h.mu <- struct{}{}
	h.now += by
	close(h.news)
	h.news = make(chan struct{})
	<-h.mu
}

func (h *hangCounter) read() (int, <-chan struct{}) {
	h.mu <- struct{}{}
	defer func() { <-h.mu }()
	return h.now, h.news
}

// Hanging returns how many statements hang now: they wait for an instance that doesn't answer.
func (c *Cluster) Hanging() int {
	n, _ := c.hanging.read()
	return n
}

// WaitHanging returns when at least n statements hang at the same time.
func (c *Cluster) WaitHanging(ctx context.Context, n int) error {
	for {
		now, news := c.hanging.read()
		if now >= n {
			return nil
		}
		if err := c.wait(ctx, news, "statements hang"); err != nil {
			return err
		}
	}
}
