package engine

import (
	"fmt"
	"slices"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// insertPlan is INSERT: rows are made where the statement arrived, then each goes to the replicaset of its bucket.
type insertPlan struct {
	node    *grammar.Insert
	table   *table
	targets []int // columns of the table, in the order of the values
	q       *query
	types   []sqlType // of the source's columns
	consts  bool      // the source is VALUES of constants and parameters
	upsert  *upsertPlan
}

func (s *Stmt) buildInsert(n *grammar.Insert) *Error {
	s.kind, s.tag, s.counted, s.options = DML, "INSERT 0", true, n.Options
	a := s.an
	t, ok := a.cat.lookup(n.Table.Name, s.sess.Version)
	if !ok {
		return refuse("space %s not found", n.Table.Name)
	}
	a.use(t)
	p := &insertPlan{node: n, table: t}
	if err := p.columns(n); err != nil {
		return err
	}
	want := make([]sqlType, len(p.targets))
	for i, c := range p.targets {
		want[i] = t.columns[c].typ.expr()
	}
	if n.Source.Values != nil && len(n.Source.Values[0].Items) != len(want) {
		return refuse("invalid query: INSERT expects %d columns, got %d", len(want), len(n.Source.Values[0].Items))
	}
	wish := want
	if n.Source.Values == nil {
		wish = nil // a SELECT is typed by itself; its values are cast when they are stored
	}
	q, err := a.query(n.Source, nil, wish)
	if err != nil {
		return err
	}
	if len(q.columns) != len(want) {
		return refuse("unexpected number of values: invalid number of values: %d. Table %s expects %d column(s).", len(q.columns), t.name, len(want))
	}
	for i, c := range q.columns {
		if len(q.values) > 0 && a.givenNumeric(q.values[0].Items[i]) && want[i] == typeDouble {
			c.typ = typeNumeric
		}
		if got := c.typ.expr(); wish != nil && got != typeUnknown && !assignable(got, want[i]) {
			return refuse("INSERT column at position %d is of type %s, but expression is of type %s", i+1, want[i], got)
		}
		p.types = append(p.types, c.typ)
	}
	if c := n.OnConflict; c != nil && c.Action != grammar.DoUpdate && len(c.Target) > 0 {
		return refuse("ON CONFLICT target is only supported with DO UPDATE")
	}
	if n.OnConflict != nil && n.OnConflict.Action == grammar.DoUpdate {
		if len(n.OnConflict.Target) == 0 {
			return refuse("ON CONFLICT DO UPDATE requires explicit conflict target")
		}
		if !t.global && !t.system {
			if p.upsert, err = s.buildUpsert(t, n.OnConflict); err != nil {
				return err
			}
		}
		if !a.inBlock {
			return refuse("ON CONFLICT DO UPDATE is supported only in transactional blocks")
		}
	}
	if err := a.checkOptions(n.Options, false); err != nil {
		return err
	}
	if err := a.oneTier(); err != nil {
		return err
	}
	p.q, p.consts = q, q.values != nil
	for _, row := range q.values {
		for _, x := range row.Items {
			p.consts = p.consts && isConstant(x)
		}
	}
	s.global = t.global
	s.key = p.keyParams(s)
	s.plan = p
	return nil
}

// assignable tells whether an expression of one type may be stored in a column of another.
func assignable(from, to sqlType) bool {
	if from == to || canCoerce(from, to) {
		return from.base != tNumeric || to.base == tNumeric
	}
	if to.array || from.array {
		return to.base == tAny && !to.array
	}
	return to.base == tAny || to.base == tMap && from.base == tAny
}

// givenNumeric tells whether an expression is a parameter that the client sends as a decimal, which doesn't pass for a double.
func (a *analyzer) givenNumeric(x grammar.Expr) bool {
	p, ok := unparen(x).(*grammar.Param)
	return ok && a.param(p.Index).oid == OIDNumeric
}

func isConstant(x grammar.Expr) bool {
	switch x := unparen(x).(type) {
	case *grammar.Literal, *grammar.Param:
		return true
	case *grammar.Cast:
		return isConstant(x.X)
	}
	return false
}

// columns finds where the values go: all visible columns, or those that are named.
func (p *insertPlan) columns(n *grammar.Insert) *Error {
	t := p.table
	if n.Columns == nil {
		for i, c := range t.columns {
			if !c.hidden {
				p.targets = append(p.targets, i)
			}
		}
		return nil
	}
	named := map[int]bool{}
	for _, c := range n.Columns {
		i, ok := t.column(c.Name)
		if !ok {
			return refuse("column %s of table %s does not exist", c.Name, t.name)
		}
		if t.columns[i].hidden {
			return refuse("failed to insert column: system column %q cannot be inserted", c.Name)
		}
		if named[i] {
			return refuse("duplicated value: column %q specified more than once", c.Name)
		}
		named[i] = true
		p.targets = append(p.targets, i)
	}
	for i, c := range t.columns {
		if !c.nullable && !c.hidden && !named[i] {
			return refuse("invalid column: NonNull column %q must be specified", c.name)
		}
	}
	return nil
}

// keyParams gives dk_meta: of a one-row VALUES whose sharding key is made of bare parameters, or of parameters cast to their own type.
func (p *insertPlan) keyParams(s *Stmt) []KeyParam {
	if p.table.global || len(p.q.values) != 1 || len(p.node.Source.Values) != 1 {
		return nil
	}
	var out []KeyParam
	for _, k := range p.table.key {
		at := -1
		for i, c := range p.targets {
			if c == k {
				at = i
			}
		}
		if at < 0 {
			return nil
		}
		x := unparen(p.q.values[0].Items[at])
		var castTo sqlType
		if c, ok := x.(*grammar.Cast); ok {
			castTo = typeOfName(c.Type).expr()
			x = unparen(c.X)
		}
		prm, ok := x.(*grammar.Param)
		if !ok {
			return nil
		}
		typ := s.an.param(prm.Index).typ
		if castTo != typeUnknown && castTo != typ {
			return nil
		}
		out = append(out, KeyParam{Index: prm.Index, OID: typ.oid()})
	}
	return out
}

// newRow is a row to be stored, by slot, and where.
type newRow struct {
	cells  []cell
	bucket uint64
	home   string // replicaset, "" for global tables
	bad    string // the complaint about a value that can't be cast to its column's type
}

// evaluate makes the source's rows as values of their own types.
func (p *insertPlan) evaluate(s *Stmt, r *runState, args []Value, v View) ([][]Value, *Error) {
	if p.consts {
		out := make([][]Value, len(p.q.values))
		for i, row := range p.q.values {
			out[i] = make([]Value, len(row.Items))
			for j, x := range row.Items {
				val, ok := s.constant(x, args)
				if !ok {
					return p.slow(s, r, args, v) // a cast that fails words its own error
				}
				out[i][j] = val
			}
		}
		return out, nil
	}
	return p.slow(s, r, args, v)
}

func (p *insertPlan) slow(s *Stmt, r *runState, args []Value, v View) ([][]Value, *Error) {
	if !p.q.sharded() {
		v = View{Instance: v.Instance, Local: true, Copies: v.Copies} // it runs where it arrived
	}
	rows, err := s.rows(r, p.q.code, args, v, nil, nil)
	if err != nil {
		return nil, err
	}
	out := make([][]Value, len(rows))
	for i, row := range rows {
		out[i] = make([]Value, len(row))
		for j, c := range row {
			out[i][j] = fromCell(c, p.types[j])
		}
	}
	return out, nil
}

// place turns values into a row of the table and finds its bucket. The bucket comes of the values as they were given, before
// they take the columns' types: an integer and an equal decimal lie apart.
func (t *table) place(s *Stmt, r *runState, targets []int, vals []Value) (newRow, *Error) {
	row := newRow{cells: make([]cell, t.slots)}
	given := make([]Value, len(t.columns))
	for i, c := range targets {
		given[c] = vals[i]
		to := t.columns[c].typ
		stored, ok := convert(vals[i], to)
		if !ok || vals[i] != nil && !castable(typeOfValue(vals[i]), to.expr()) {
			stored = vals[i]
			if row.bad == "" {
				row.bad = fmt.Sprintf("invalid value: Failed to cast %s to %s.", castText(vals[i]), to.expr().planName())
			}
		}
		row.cells[t.columns[c].slot] = toCell(stored)
	}
	if t.global {
		return row, nil
	}
	count, err := r.bucketCount(t.tier)
	if err != nil {
		return row, err
	}
	rule := doubleRuleOf(s.sess.Version)
	key := make([]Value, len(t.key))
	for i, k := range t.key {
		key[i] = keyValue(given[k], rule)
	}
	row.bucket = bucketOf(count, rule, key...)
	row.cells[t.columns[t.bucketColumn()].slot] = int64(row.bucket)
	home, ok := r.owner(t.tier, row.bucket)
	if !ok {
		return row, refuse("Bucket %d cannot be found. Is rebalancing in progress?", row.bucket)
	}
	row.home = home
	return row, nil
}

func (p *insertPlan) buckets(s *Stmt, r *runState, args []Value) (BucketSet, *Error) {
	if p.table.global {
		return s.queryBuckets(p.q, r, args)
	}
	if !p.consts {
		return BucketSet{Tier: s.tier, All: true, Motion: true}, nil
	}
	count, err := r.bucketCount(p.table.tier)
	if err != nil {
		return BucketSet{}, err
	}
	rule := doubleRuleOf(s.sess.Version)
	set := &bucketList{}
	rows, err := p.evaluate(s, r, args, View{Instance: s.sess.Instance})
	if err != nil {
		return BucketSet{}, err
	}
	for _, vals := range rows {
		key := make([]Value, len(p.table.key))
		for i, k := range p.table.key {
			for j, c := range p.targets {
				if c == k {
					key[i] = keyValue(vals[j], rule)
				}
			}
		}
		set.list = append(set.list, bucketOf(count, rule, key...))
	}
	return s.bucketSet(set.union(&bucketList{}), false), nil
}

func (p *insertPlan) run(s *Stmt, r *runState, args []Value, v View) (*Result, *Error) {
	if err := s.allowed("write", p.table); err != nil {
		return nil, err
	}
	if p.q.values == nil {
		if err := s.mayRead(p.table); err != nil {
			return nil, err
		}
	}
	if p.table.system {
		return nil, bare("box error: AccessDenied: Write access to space '%s' is denied for user '%s'", p.table.name, s.sess.User)
	}
	vals, err := p.evaluate(s, r, args, v)
	if err != nil {
		return nil, err
	}
	o, err := s.resolveOptions(args)
	if err != nil {
		return nil, err
	}
	if !p.table.global && o.MotionRowMax > 0 && int64(len(vals)) > o.MotionRowMax {
		return nil, refuse("Exceeded maximum number of rows (%d) in virtual table: %d", o.MotionRowMax, len(vals))
	}
	rows := make([]newRow, len(vals))
	for i := range vals {
		if rows[i], err = p.table.place(s, r, p.targets, vals[i]); err != nil {
			return nil, err
		}
		if rows[i].bad != "" && p.q.values == nil {
			if slices.Contains(v.Copies, Copy{Replicaset: rows[i].home, Instance: v.Instance}) {
				return nil, refuse("invalid transaction: transaction rolled-back: %s", rows[i].bad)
			}
			return nil, refuse("failed to build insert args: %s", rows[i].bad)
		}
	}
	if !p.consts {
		s.scattered = true
	}
	action := grammar.DoFail
	if p.node.OnConflict != nil {
		action = p.node.OnConflict.Action
	}
	put := func(w *writer) (int64, *Error) { return w.insert(rows, action) }
	n, err := s.writeAll(p.table, v, rows, put)
	if err != nil {
		return nil, err
	}
	return &Result{Affected: n}, nil
}
