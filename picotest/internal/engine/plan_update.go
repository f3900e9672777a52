package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// changePlan is UPDATE and DELETE: a query finds the rows (and the new values) on each copy, then they are written one by one.
type changePlan struct {
	table   *table
	src     *source
	where   grammar.Expr
	marker  int    // of the table to be changed in code
	code    string // yields the old row by slot, then the new values
	set     []int  // columns that get new values; nil for DELETE
	types   []sqlType
	values  []grammar.Expr // of set, as written
	inner   *source        // UPDATE … FROM
	deletes bool
}

// target opens the table that a statement changes.
func (s *Stmt) target(name grammar.TableName) (*table, *source, *scope, string, *Error) {
	a := s.an
	t, ok := a.cat.lookup(name.Name, s.sess.Version)
	if !ok {
		return nil, nil, nil, "", refuse("space %s not found", name.Name)
	}
	a.use(t)
	src := &source{name: t.name, sqlName: a.unique(), table: t, columns: tableColumns(t)}
	sc := &scope{sources: []*source{src}}
	return t, src, sc, a.marker(t) + " AS " + quote(src.sqlName), nil
}

// oldRow lists the columns of the target by slot.
func oldRow(t *table, src *source) string {
	cols := make([]string, t.slots)
	for i := range cols {
		cols[i] = "NULL"
	}
	for _, c := range t.columns {
		cols[c.slot] = fmt.Sprintf("%s.c%d", quote(src.sqlName), c.slot)
	}
	return strings.Join(cols, ", ")
}

func (s *Stmt) buildUpdate(n *grammar.Update) *Error {
	s.kind, s.tag, s.counted, s.options = DML, "UPDATE", true, n.Options
	a := s.an
	a.constants = true
	t, src, sc, from, err := s.target(n.Table)
	if err == nil {
		err = t.indexedBy(n.IndexedBy)
	}
	if err != nil {
		return err
	}
	p := &changePlan{table: t, src: src, where: n.Where, marker: len(a.refs) - 1}
	if n.From != nil {
		inner, text, err := a.source(n.From, &scope{parent: &scope{}})
		if err != nil {
			return err
		}
		// The server looks the rows to be changed up by the bare names of the primary key's columns.
		for _, k := range t.pk {
			for _, c := range inner.columns {
				if c.name == t.columns[k].name {
					return refuse("duplicated value: column name %s is ambiguous", c.name)
				}
			}
		}
		sc.sources = append(sc.sources, inner)
		p.inner = inner
		from += " JOIN " + text
	}
	// The condition is read first, and its parameters with it.
	if err := s.condition(p, n.Where, sc); err != nil {
		return err
	}
	exprs := make([]string, len(n.Set))
	seen := map[int]bool{}
	for i, as := range n.Set {
		at, ok := t.column(as.Column.Name)
		if !ok {
			return refuse("column %s not found", as.Column.Name)
		}
		col := t.columns[at]
		if col.hidden {
			return refuse("failed to update column: system column %q cannot be updated", col.name)
		}
		for _, k := range t.pk {
			if k == at {
				return refuse("invalid query: it is illegal to update primary key column: %q", col.name)
			}
		}
		if seen[at] {
			return refuse("invalid query: The same column is specified twice in update list: %q", col.name)
		}
		seen[at] = true
		want := col.typ.expr()
		if want.base == tAny {
			want = typeUnknown
		}
		if _, err := a.typed(as.Value, want, sc); err != nil {
			return err
		}
		got := a.effective(as.Value)
		if a.givenNumeric(as.Value) && col.typ == typeDouble {
			got = typeNumeric
		}
		if got != typeUnknown && !assignable(got, col.typ.expr()) {
			return refuse("column %q is of type %s, but expression is of type %s", col.name, col.typ, got)
		}
		if err := a.checkLiterals(as.Value); err != nil {
			return err
		}
		exprs[i] = a.emit(as.Value, sc)
		p.set = append(p.set, at)
		p.types, p.values = append(p.types, got), append(p.values, as.Value)
	}
	return s.finishChange(p, from, oldRow(t, src)+", "+strings.Join(exprs, ", "))
}

func (s *Stmt) buildDelete(n *grammar.Delete) *Error {
	s.kind, s.tag, s.counted, s.options = DML, "DELETE", true, n.Options
	t, src, sc, from, err := s.target(n.Table)
	if err == nil {
		err = t.indexedBy(n.IndexedBy)
	}
	if err != nil {
		return err
	}
	p := &changePlan{table: t, src: src, where: n.Where, marker: len(s.an.refs) - 1, deletes: true}
	if err := s.condition(p, n.Where, sc); err != nil {
		return err
	}
	return s.finishChange(p, from, oldRow(t, src))
}

// condition analyses WHERE.
func (s *Stmt) condition(p *changePlan, where grammar.Expr, sc *scope) *Error {
	if where == nil {
		return nil
	}
	text, err := s.an.filter(where, sc)
	p.code = " WHERE " + text
	return err
}

func (s *Stmt) finishChange(p *changePlan, from, items string) *Error {
	p.code = "SELECT " + items + " FROM " + from + p.code
	if err := s.an.checkOptions(s.options, false); err != nil {
		return err
	}
	if err := s.an.oneTier(); err != nil {
		return err
	}
	s.global = p.table.global
	s.plan = p
	return nil
}

func (p *changePlan) buckets(s *Stmt, r *runState, args []Value) (BucketSet, *Error) {
	if s.tier == "" {
		return BucketSet{}, nil
	}
	count, err := r.bucketCount(s.tier)
	if err != nil {
		return BucketSet{}, err
	}
	f := &bucketFinder{s: s, args: args, count: count, rule: doubleRuleOf(s.sess.Version)}
	set := &bucketList{}
	if !p.table.global {
		set = nil
		if p.where != nil {
			set = f.condition(p.where, p.src)
		}
	}
	for _, sub := range s.an.subqueries {
		set = set.union(f.query(sub))
	}
	if p.inner != nil && p.inner.table != nil && !p.inner.table.global {
		set = nil
	}
	return s.bucketSet(set, p.inner != nil), nil
}

func (p *changePlan) run(s *Stmt, r *runState, args []Value, v View) (*Result, *Error) {
	if err := s.allowed("write", p.table); err != nil {
		return nil, err
	}
	if err := s.mayRead(p.table); err != nil {
		return nil, err
	}
	if p.table.system {
		return p.system(s, r, args, v)
	}
	o, err := s.resolveOptions(args)
	if err != nil {
		return nil, err
	}
	o.MotionRowMax = 0 // rows are changed where they lie
	find := func(c Copy) ([][]cell, *Error) {
		rows, err := s.rows(s.eng.begin(v.Instance), p.code, args, v, map[int][]Copy{p.marker: {c}}, &o)
		if err != nil && err.Message == textUnsigned {
			err = refuse("invalid virtual table: failed to write a tuple to the virtual table: failed decoding "+
				"alloc::vec::Vec<sql_ir::ir::value::Value> (element 0): failed decoding i64: %s", strings.TrimPrefix(textUnsigned, "encoding error: "))
		}
		return rows, err
	}
	found := map[Copy][][]cell{}
	if p.movesRows() {
		// What moves to another replicaset must not be met there again.
		for _, c := range v.Copies {
			rows, err := find(c)
			if err != nil {
				return nil, err
			}
			found[c] = rows
		}
	}
	n, err := s.writeAll(p.table, v, nil, func(w *writer) (int64, *Error) {
		here := Copy{Replicaset: w.copy.replicaset, Instance: w.copy.instance}
		rows, ready := found[here]
		if !ready {
			var err *Error
			if rows, err = find(here); err != nil {
				return 0, err
			}
		}
		return p.change(w, s, rows)
	})
	if err != nil {
		return nil, err
	}
	return &Result{Affected: n}, nil
}

// movesRows tells whether a column of the sharding key gets a new value.
func (p *changePlan) movesRows() bool {
	for _, at := range p.set {
		if slices.Contains(p.table.key, at) {
			return true
		}
	}
	return false
}

// change writes what the query found on one copy.
func (p *changePlan) change(w *writer, s *Stmt, rows [][]cell) (n int64, err *Error) {
	t := p.table
	done := map[string]bool{}
	for _, found := range rows {
		old := found[:t.slots]
		id := t.tuple(old)
		if done[id] {
			continue // UPDATE … FROM may meet a row twice
		}
		done[id] = true
		if p.deletes {
			if err := w.apply(rowOp{table: t, del: true, row: old}); err != nil {
				return n, err
			}
			n++
			continue
		}
		row := append([]cell(nil), old...)
		for i, at := range p.set {
			col := t.columns[at]
			v := fromCell(found[t.slots+i], p.types[i])
			if stored, ok := convert(v, col.typ); ok {
				v = stored
			}
			row[col.slot] = toCell(v)
		}
		if err := w.fits(row, "update"); err != nil {
			return n, err
		}
		if err := w.replace(s, old, row, p.movesRows()); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// replace stores a changed row, at another replicaset if its sharding key says so.
func (w *writer) replace(s *Stmt, old, row []cell, keyChanged bool) *Error {
	t := w.t
	if keyChanged && !t.global {
		r := s.eng.db.run
		targets := make([]int, 0, len(t.columns))
		vals := make([]Value, 0, len(t.columns))
		for i, c := range t.columns {
			if !c.hidden {
				targets = append(targets, i)
				vals = append(vals, fromCell(row[c.slot], c.typ))
			}
		}
		moved, err := t.place(s, r, targets, vals)
		if err != nil {
			return err
		}
		row = moved.cells
		if moved.home != w.copy.replicaset {
			if err := w.apply(rowOp{table: t, del: true, row: old}); err != nil {
				return err
			}
			return w.elsewhere(s, moved)
		}
	}
	if err := w.uniqueBut(old, row); err != nil {
		return err
	}
	return w.apply(rowOp{table: t, row: row})
}

// elsewhere stores a row whose new bucket belongs to another replicaset on all its copies.
func (w *writer) elsewhere(s *Stmt, moved newRow) *Error {
	for _, c := range s.eng.store.copies[moved.home] {
		if err := s.eng.store.apply(c, rowOp{table: w.t, row: moved.cells}); err != nil {
			return broken(err)
		}
	}
	return nil
}

// uniqueBut looks for another row that has the new row's unique values.
func (w *writer) uniqueBut(old, row []cell) *Error {
	if len(w.t.indexes) == 0 {
		return nil
	}
	name, err := w.s.eng.store.ensure(w.t, w.copy)
	if err != nil {
		return broken(err)
	}
	for _, ix := range w.t.indexes {
		if !ix.unique {
			continue
		}
		var at []int
		for _, c := range ix.columns {
			if i, ok := w.t.column(c); ok {
				at = append(at, i)
			}
		}
		hit, err := w.s.eng.store.rowWhere(name, w.t, at, row)
		if err != nil {
			return broken(err)
		}
		if hit != nil && w.t.tuple(hit) != w.t.tuple(old) {
			return w.duplicate("update", ix.name, hit, row)
		}
	}
	return nil
}

// system hands changes of a system table to the cluster, and those of the parameters to the catalog.
func (p *changePlan) system(s *Stmt, r *runState, args []Value, v View) (*Result, *Error) {
	rows, err := s.rows(r, p.code, args, v, nil, nil)
	if err != nil {
		return nil, err
	}
	for _, found := range rows {
		key := make([]Value, len(p.table.pk))
		for i, k := range p.table.pk {
			c := p.table.columns[k]
			key[i] = fromCell(found[c.slot], c.typ)
		}
		var set map[string]Value
		if !p.deletes {
			set = map[string]Value{}
			for i, at := range p.set {
				set[p.table.columns[at].name] = fromCell(found[p.table.slots+i], p.types[i])
			}
		}
		if p.table.name == "_pico_db_config" && !p.deletes {
			name, _ := key[0].(string)
			scope, _ := key[1].(string)
			if err := s.eng.cat.set(name, set["value"], []string{scope}, "", s.sess.Version); err != nil {
				return nil, err
			}
			continue
		}
		s.eng.mu.Unlock()
		err := s.eng.cfg.Live.Update(v.Instance, p.table.name, key, set)
		s.eng.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
	return &Result{Affected: int64(len(rows))}, nil
}
