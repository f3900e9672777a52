package engine

import (
	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// callPlan runs a procedure's body.
type callPlan struct {
	body *Stmt
	args []grammar.Expr
}

// checkBody reads a procedure's body as it will be run.
func (s *Stmt) checkBody(n *grammar.CreateProc) *Error {
	_, err := s.eng.bodyOf(s, n.Body, n.Proc.Params, n.Body.Pos().Text(s.sql))
	return err
}

// bodyOf plans a procedure's body with typed parameters.
func (e *Engine) bodyOf(s *Stmt, body grammar.Statement, params []grammar.Type, text string) (*Stmt, *Error) {
	a := newAnalyzer(e.cat, s.sess, text, nil)
	for i, t := range params {
		*a.param(i + 1) = param{typ: typeOfName(t).expr(), known: true}
	}
	b := &Stmt{eng: e, sess: s.sess, sql: text, an: a}
	if err := b.build(body); err != nil {
		return nil, err
	}
	b.finish(body, nil)
	return b, nil
}

func (e *Engine) createProc(s *Stmt, n *grammar.CreateProc) *Error {
	name := n.Proc.Name.Name
	if _, exists := e.cat.routine[name]; exists {
		if n.IfNotExists {
			return nil
		}
		return bare("procedure %s already exists", name)
	}
	if !e.cat.may(s.me(), "create", "routine", -1, 0) {
		return denied("Create", "function", name, s.sess.User)
	}
	r := &routine{name: name, body: n.Body.Pos().Text(s.sql), owner: s.myID(), ver: e.cat.bump(), id: 1}
	for _, o := range e.cat.routine {
		r.id = max(r.id, o.id+1)
	}
	for _, t := range n.Proc.Params {
		r.params = append(r.params, typeOfName(t).expr())
	}
	e.cat.routine[name] = r
	return nil
}

func (e *Engine) dropProc(s *Stmt, n *grammar.DropProc) *Error {
	r, ok := e.cat.routine[n.Proc.Name.Name]
	if !ok {
		if n.IfExists {
			return nil
		}
		return bare("procedure %s does not exist", n.Proc.Name.Name)
	}
	if !e.cat.may(s.me(), "drop", "routine", int64(r.id), r.owner) {
		return denied("Drop", "function", r.name, s.sess.User)
	}
	delete(e.cat.routine, r.name)
	e.cat.bump()
	return nil
}

func (e *Engine) renameProc(s *Stmt, n *grammar.RenameProc) *Error {
	r, ok := e.cat.routine[n.Proc.Name.Name]
	if !ok {
		return bare("procedure %s does not exist", n.Proc.Name.Name)
	}
	if _, taken := e.cat.routine[n.To.Name]; taken {
		return bare("procedure %s already exists", n.To.Name)
	}
	if !e.cat.may(s.me(), "alter", "routine", int64(r.id), r.owner) {
		return denied("Alter", "function", r.name, s.sess.User)
	}
	c := *r
	c.name, c.ver = n.To.Name, e.cat.bump()
	delete(e.cat.routine, r.name)
	e.cat.routine[c.name] = &c
	return nil
}

func (s *Stmt) buildCall(n *grammar.Call) *Error {
	s.kind, s.tag, s.counted, s.options = DML, "CALL", s.sess.Version.AtLeast(26, 2), n.Options
	r, ok := s.eng.cat.routine[n.Name.Name]
	if !ok {
		return refuse("invalid routine: routine %s not found", n.Name.Name)
	}
	if len(n.Args) != len(r.params) {
		if s.sess.Version.AtLeast(26, 2) {
			return refuse("invalid routine: expected %d parameter(s), got %d", len(r.params), len(n.Args))
		}
		return refuse("invalid query: expected %d parameter(s) on routine %s, got %d parameter(s)", len(r.params), r.name, len(n.Args))
	}
	body, bad := grammar.Parse(grammar.Version{Major: s.sess.Version.Major, Minor: s.sess.Version.Minor}, r.body)
	if bad != nil {
		return bare("%s", bad.Message)
	}
	a := newAnalyzer(s.eng.cat, s.sess, r.body, nil)
	for i, t := range r.params {
		*a.param(i + 1) = param{typ: t, known: true}
	}
	b := &Stmt{eng: s.eng, sess: s.sess, sql: r.body, an: a}
	if err := b.build(body); err != nil {
		return err
	}
	b.finish(body, nil)
	for i, x := range n.Args {
		want := r.params[i]
		if lit, ok := unparen(x).(*grammar.Literal); ok && lit.Kind == grammar.StringLiteral {
			want = typeText // a procedure's argument isn't read as anything else
		}
		t, err := s.an.typed(x, want, &scope{})
		if err != nil {
			return err
		}
		if t != typeUnknown && !canCoerce(t, r.params[i]) {
			return refuse("invalid routine: expected %s for parameter on position %d, got %s", r.params[i].fieldName(), i, t.fieldName())
		}
	}
	s.tables, s.global = b.tables, b.global
	s.plan = &callPlan{body: b, args: n.Args}
	return nil
}

func (p *callPlan) values(s *Stmt, args []Value) []Value {
	out := make([]Value, len(p.args))
	for i, x := range p.args {
		out[i], _ = s.constant(x, args) // the grammar lets in constants alone
	}
	return out
}

func (p *callPlan) buckets(s *Stmt, r *runState, args []Value) (BucketSet, *Error) {
	return p.body.plan.buckets(p.body, r, p.values(s, args))
}

func (p *callPlan) run(s *Stmt, r *runState, args []Value, v View) (*Result, *Error) {
	res, err := p.body.plan.run(p.body, r, p.values(s, args), v)
	if err != nil {
		return nil, err
	}
	return &Result{Affected: res.Affected}, nil
}
