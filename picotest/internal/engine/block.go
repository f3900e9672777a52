package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// blockPlan is DO $$ BEGIN … END $$: one transaction on one bucket.
type blockPlan struct{ items []*blockItem }

// blockItem is a statement of a block.
type blockItem struct {
	number int    // of the statement at the top, from 1
	label  string // for errors: DML, RETURN QUERY, LET "v", IF cond, IF body, query 2
	stmt   *Stmt  // nil for IF
	let    string
	ret    bool
	cond   string       // of IF, for SQLite
	node   grammar.Expr // of IF, as written
	then   []*blockItem
	other  []*blockItem
}

func (s *Stmt) buildBlock(n *grammar.Block) *Error {
	s.kind, s.tag, s.counted, s.options = Block, "DO", true, n.Options
	p := &blockPlan{}
	dml := false
	for i, st := range n.Statements {
		item, err := s.blockItem(i+1, st)
		if err != nil {
			return err
		}
		writes := item.stmt == nil || item.stmt.kind == DML
		if dml && !writes {
			return refuse("LET and RETURN QUERY statements must precede all DML statements")
		}
		dml = dml || writes
		p.items = append(p.items, item)
	}
	cols := []sourceColumn{}
	for _, it := range p.items {
		if !it.ret {
			continue
		}
		q := it.stmt.plan.(*selectPlan).q
		if len(cols) == 0 {
			cols = q.columns
			continue
		}
		if !sameTypes(cols, q.columns) {
			return refuse("RETURN QUERY types cannot be matched ([%s] and [%s])", planTypes(cols), planTypes(q.columns))
		}
	}
	s.describe(cols)
	if err := s.an.checkOptions(n.Options, false); err != nil {
		return err
	}
	if err := s.an.oneTier(); err != nil {
		return err
	}
	s.plan = p
	return nil
}

func sameTypes(a, b []sourceColumn) bool {
	return slices.EqualFunc(a, b, func(x, y sourceColumn) bool { return x.typ.expr() == y.typ.expr() })
}

func planTypes(cols []sourceColumn) string {
	parts := make([]string, len(cols))
	for i, c := range cols {
		parts[i] = c.typ.planName()
	}
	return strings.Join(parts, ", ")
}

// part makes the statement of one item; it shares the block's analysis.
func (s *Stmt) part(node grammar.Statement) (*Stmt, *Error) {
	b := &Stmt{eng: s.eng, sess: s.sess, sql: s.sql, an: s.an}
	if err := b.build(node); err != nil {
		return nil, err
	}
	return b, nil
}

func (s *Stmt) blockItem(number int, st grammar.BlockStatement) (*blockItem, *Error) {
	switch n := st.(type) {
	case *grammar.BlockReturn:
		b, err := s.part(n.Stmt)
		if err != nil {
			return nil, err
		}
		if b.kind != DQL {
			return nil, refuse("RETURN QUERY statements must execute DQL queries")
		}
		return &blockItem{number: number, label: "RETURN QUERY", stmt: b, ret: true}, nil
	case *grammar.BlockLet:
		b, err := s.part(&grammar.Select{Span: n.Query.Span, Query: n.Query})
		if err != nil {
			return nil, err
		}
		if len(b.columns) != 1 {
			return nil, refuse("LET RHS must be a single-column query")
		}
		name, typ := n.Name.Name, b.types[0].expr()
		if old, again := s.an.lets[name]; again && old != typ {
			return nil, refuse("LET variable %q cannot be redeclared with a different type", name)
		}
		s.an.lets[name] = typ
		return &blockItem{number: number, label: fmt.Sprintf("LET %q", name), stmt: b, let: name}, nil
	case *grammar.BlockQuery:
		return s.blockDML(number, "DML", n.Stmt, "bare DQL is not allowed, use LET or RETURN QUERY")
	case *grammar.BlockIf:
		return s.blockIf(number, n)
	}
	return nil, broken(fmt.Errorf("no plan for %T", st))
}

func (s *Stmt) blockIf(number int, n *grammar.BlockIf) (*blockItem, *Error) {
	it := &blockItem{number: number, label: "IF cond"}
	cond, err := s.an.filter(n.Cond, &scope{})
	if err != nil {
		return nil, err
	}
	it.cond, it.node = cond, n.Cond
	count := 0
	body := func(list []grammar.BlockStatement) ([]*blockItem, *Error) {
		var out []*blockItem
		for _, st := range list {
			switch x := st.(type) {
			case *grammar.BlockLet:
				return nil, refuse("LET is not allowed inside IF body")
			case *grammar.BlockReturn:
				return nil, refuse("RETURN QUERY is not allowed inside IF body")
			case *grammar.BlockIf:
				return nil, refuse("nested IF is not allowed")
			case *grammar.BlockQuery:
				count++
				item, err := s.blockDML(number, fmt.Sprintf("IF body, query %d", count), x.Stmt, "IF body may only contain DML statements")
				if err != nil {
					return nil, err
				}
				out = append(out, item)
			}
		}
		return out, nil
	}
	if it.then, err = body(n.Then); err != nil {
		return nil, err
	}
	it.other, err = body(n.Else)
	return it, err
}

// blockDML plans a writing statement and refuses what a block can't do.
func (s *Stmt) blockDML(number int, label string, node grammar.Statement, noDML string) (*blockItem, *Error) {
	subqueries := len(s.an.subqueries)
	s.an.inBlock = true
	b, err := s.part(node)
	s.an.inBlock = false
	if err != nil {
		return nil, err
	}
	if b.kind != DML {
		return nil, refuse("%s", noDML)
	}
	var t *table
	verb := ""
	switch p := b.plan.(type) {
	case *insertPlan:
		t = p.table
		if len(s.an.subqueries) > subqueries {
			err = refuse("INSERT in transaction does not support subqueries in VALUES")
		} else if p.q.values == nil {
			err = refuse("statement %d (%s): cannot run in a transactional block because it requires cross-shard data movement; restrict by the sharding key, or move it outside the block", number, label)
		} else if !p.constantKey() {
			err = refuse("INSERT in transaction requires constant or parameter values for sharding-key columns")
		}
	case *changePlan:
		t = p.table
		if verb = "UPDATE"; p.deletes {
			verb = "DELETE"
		}
		if len(s.an.subqueries) > subqueries || p.inner != nil {
			err = refuse("%s in transaction cannot have subqueries", verb)
		}
	default:
		return nil, refuse("%s", noDML)
	}
	switch {
	case t.system:
		return nil, refuse("cannot modify system table %s within transaction", t.name)
	case t.global:
		return nil, refuse("cannot modify global table %s within transaction", t.name)
	}
	return &blockItem{number: number, label: label, stmt: b}, err
}

// constantKey tells whether all rows have literals and parameters for the sharding key.
func (p *insertPlan) constantKey() bool {
	for _, row := range p.q.values {
		for i, c := range p.targets {
			if slices.Contains(p.table.key, c) && !isConstant(row.Items[i]) {
				return false
			}
		}
	}
	return true
}

// each visits the items, bodies included.
func (p *blockPlan) each(f func(it *blockItem) *Error) *Error {
	for _, it := range p.items {
		for _, x := range append(append([]*blockItem{it}, it.then...), it.other...) {
			if x.stmt == nil {
				continue
			}
			if err := f(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// buckets checks that all statements work on one and the same bucket.
func (p *blockPlan) buckets(s *Stmt, r *runState, args []Value) (BucketSet, *Error) {
	var first *blockItem
	var at []uint64
	err := p.each(func(it *blockItem) *Error {
		set, err := it.buckets(s, r, args)
		if err != nil || set == nil {
			return err
		}
		if p, ok := it.stmt.plan.(*selectPlan); ok && set.All && p.q.meets() {
			return refuse("statement %d (%s): cannot run in a transactional block because it requires cross-shard data movement; restrict by the sharding key, or move it outside the block", it.number, it.label)
		}
		if set.All {
			return refuse("statement %d (%s): transaction cannot be executed on all buckets", it.number, it.label)
		}
		if len(set.List) != 1 {
			return refuse("statement %d (%s): transaction can only be executed on a single bucket, got %s", it.number, it.label, bucketText(set.List))
		}
		if first != nil && at[0] != set.List[0] {
			return refuse("statement %d (%s) and statement %d (%s): different buckets: %s and %s", first.number, first.label, it.number, it.label,
				bucketText(at), bucketText(set.List))
		}
		if first == nil {
			first, at = it, set.List
		}
		return nil
	})
	if err != nil {
		return BucketSet{}, err
	}
	return BucketSet{Tier: s.tier, List: at}, nil
}

func bucketText(list []uint64) string {
	parts := make([]string, len(list))
	for i, b := range list {
		parts[i] = fmt.Sprint(b)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// buckets gives the buckets of one item, nil if it reads no sharded table.
func (it *blockItem) buckets(s *Stmt, r *runState, args []Value) (*BucketSet, *Error) {
	if s.tier == "" {
		return nil, nil
	}
	it.stmt.tier = s.tier
	if p, ok := it.stmt.plan.(*insertPlan); ok {
		set, err := p.keyBuckets(it.stmt, r, args)
		return &set, err
	}
	if p, ok := it.stmt.plan.(*selectPlan); ok && !p.q.sharded() {
		return nil, nil
	}
	set, err := it.stmt.plan.buckets(it.stmt, r, args)
	return &set, err
}

// sharded tells whether a query reads a sharded table in FROM.
func (q *query) sharded() bool {
	for _, c := range q.cores {
		for _, src := range c.sources {
			if src.table != nil && !src.table.global || src.inner != nil && src.inner.sharded() {
				return true
			}
		}
	}
	return false
}

// keyBuckets gives the buckets of the rows; only the sharding key has to be constant.
func (p *insertPlan) keyBuckets(s *Stmt, r *runState, args []Value) (BucketSet, *Error) {
	count, err := r.bucketCount(p.table.tier)
	if err != nil {
		return BucketSet{}, err
	}
	set := &bucketList{}
	rule := doubleRuleOf(s.sess.Version)
	for _, row := range p.q.values {
		key := make([]Value, len(p.table.key))
		for i, k := range p.table.key {
			for j, c := range p.targets {
				if c == k {
					v, _ := s.constant(row.Items[j], args) // blockDML saw to it
					key[i] = keyValue(v, rule)
				}
			}
		}
		set.list = append(set.list, bucketOf(count, rule, key...))
	}
	return s.bucketSet(set.union(&bucketList{}), false), nil
}

func (p *blockPlan) run(s *Stmt, r *runState, args []Value, v View) (*Result, *Error) {
	if _, err := p.buckets(s, r, args); err != nil {
		return nil, err
	}
	var here Copy
	if len(v.Copies) > 0 {
		here = v.Copies[0]
		v.Copies = v.Copies[:1]
		if err := s.outside(v, here, false); err != nil {
			return nil, err
		}
		if err := s.recheck(v); err != nil {
			return nil, err
		}
	}
	b := &blockRun{s: s, args: args, v: v, res: &Result{}}
	w := &writer{s: s, block: true, copy: s.eng.store.global}
	if here.Instance != "" {
		w.copy = s.eng.store.at(here)
	}
	s.eng.begin(v.Instance).lets = map[string]cell{}
	_, err := w.transaction(func(w *writer) (int64, *Error) {
		for _, it := range p.items {
			if err := b.item(w, it); err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
	if err != nil {
		if s.tier != "" && !v.Local {
			err = remote(err, here.Replicaset)
		}
		return nil, err
	}
	if here.Instance != "" {
		if err := s.outside(v, here, true); err != nil {
			return nil, err
		}
	}
	b.res.Affected = int64(len(b.res.Rows))
	return b.res, nil
}

// blockRun is a block being executed.
type blockRun struct {
	s    *Stmt
	args []Value
	v    View
	res  *Result
}

// rolledBack words an error of a statement inside a block.
func rolledBack(text string) *Error {
	return refuse("invalid transaction: transaction rolled-back: %s", text)
}

func (b *blockRun) rows(st *Stmt, code string) ([][]cell, *Error) {
	if b.s.an.doomed != "" {
		return nil, rolledBack(b.s.an.doomed)
	}
	r := b.s.eng.db.run
	sql, err := st.expand(r, code, b.v, nil)
	if err != nil {
		return nil, broken(err)
	}
	b.s.eng.db.fnErr = nil
	rows, steps, err := b.s.eng.db.query(sql, cells(b.args), len(b.args))
	if err != nil {
		if f := b.s.eng.db.fnErr; f != nil {
			return nil, rolledBack(f.Message)
		}
		return nil, rolledBack("Failed to execute SQL statement: " + err.Error())
	}
	o, bad := b.s.resolveOptions(b.args)
	if bad != nil {
		return nil, bad
	}
	if o.OpcodeMax > 0 && int64(steps) > o.OpcodeMax {
		return nil, refuse("Reached a limit on max executed vdbe opcodes. Limit: %d", o.OpcodeMax)
	}
	return rows, nil
}

func (b *blockRun) item(w *writer, it *blockItem) *Error {
	if it.stmt == nil {
		rows, err := b.rows(b.s, "SELECT "+it.cond)
		if err != nil {
			return err
		}
		body := it.other
		if rows[0][0] == cell(int64(1)) {
			body = it.then
		}
		for _, x := range body {
			if err := b.item(w, x); err != nil {
				return err
			}
		}
		return nil
	}
	st := it.stmt
	switch p := st.plan.(type) {
	case *selectPlan:
		if err := b.s.mayRead(nil); err != nil {
			return err
		}
		rows, err := b.rows(st, p.q.code)
		if err != nil {
			return err
		}
		if it.ret {
			values, err := b.s.decode(rows)
			b.res.Rows = append(b.res.Rows, values...)
			return err
		}
		if len(rows) > 1 {
			return refuse("Failed to execute SQL statement: Expression subquery returned more than 1 row")
		}
		var c cell
		if len(rows) == 1 {
			c = rows[0][0]
		}
		b.s.eng.db.run.lets[it.let] = c
		return nil
	case *insertPlan:
		if err := st.allowed("write", p.table); err != nil {
			return err
		}
		return b.insert(w, st, p)
	case *changePlan:
		if err := st.allowed("write", p.table); err != nil {
			return err
		}
		w.t = p.table
		rows, err := b.rows(st, p.code)
		if err != nil {
			return err
		}
		_, err = p.change(w, st, rows)
		return err
	}
	return broken(fmt.Errorf("no execution for %T in a block", st.plan))
}

func (b *blockRun) insert(w *writer, st *Stmt, p *insertPlan) *Error {
	w.t = p.table
	var vals [][]Value
	var err *Error
	if p.consts {
		vals, err = p.evaluate(st, b.s.eng.db.run, b.args, b.v)
	} else {
		var rows [][]cell
		rows, err = b.rows(st, p.q.code)
		for _, row := range rows {
			v := make([]Value, len(row))
			for i, c := range row {
				v[i] = fromCell(c, p.types[i])
			}
			vals = append(vals, v)
		}
	}
	if err != nil {
		return err
	}
	for _, v := range vals {
		row, err := p.table.place(st, b.s.eng.db.run, p.targets, v)
		if err != nil {
			return err
		}
		row.home = w.copy.replicaset // the cluster chose the copy by the bucket
		if p.upsert != nil {
			err = p.upsert.apply(w, st, b, row)
		} else {
			action := grammar.DoFail
			if p.node.OnConflict != nil {
				action = p.node.OnConflict.Action
			}
			_, err = w.insert([]newRow{row}, action)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
