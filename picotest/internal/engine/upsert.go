package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// upsertPlan is ON CONFLICT (target) DO UPDATE, of 26.2's blocks.
type upsertPlan struct {
	table  *table
	target []int
	set    []int
	code   string // yields the new values from the row in the way
	types  []sqlType
}

// buildUpsert checks the clause: the target is a unique key, the assignments read and write the row in the way.
func (s *Stmt) buildUpsert(t *table, c *grammar.OnConflict) (*upsertPlan, *Error) {
	p := &upsertPlan{table: t}
	for _, id := range c.Target {
		i, ok := t.column(id.Name)
		if !ok {
			return nil, refuse("column with name %q not found", id.Name)
		}
		p.target = append(p.target, i)
	}
	a := s.an
	src := &source{name: t.name, sqlName: a.unique(), table: t, columns: tableColumns(t)}
	sc := &scope{sources: []*source{src}}
	exprs := make([]string, len(c.Set))
	for i, as := range c.Set {
		if as.Table != nil {
			return nil, refuse("ON CONFLICT DO UPDATE SET target column must not be table-qualified")
		}
		at, ok := t.column(as.Column.Name)
		if !ok {
			return nil, refuse("column with name %q not found", as.Column.Name)
		}
		col := t.columns[at]
		if slices.Contains(t.key, at) {
			return nil, refuse("distribution column %q cannot be updated in ON CONFLICT DO UPDATE", col.name)
		}
		if slices.Contains(t.pk, at) {
			return nil, refuse("invalid query: it is illegal to update primary key column: %q", col.name)
		}
		if !increments(as) {
			return nil, refuse(`unsupported ON CONFLICT DO UPDATE expression for column %q: expected %[1]q = %[1]q op value, or value op %[1]q for commutative ops`, col.name)
		}
		if _, err := a.typed(as.Value, col.typ.expr(), sc); err != nil {
			return nil, err
		}
		if err := a.checkLiterals(as.Value); err != nil {
			return nil, err
		}
		got := a.effective(as.Value)
		if got != typeUnknown && !assignable(got, col.typ.expr()) {
			return nil, refuse("column %q is of type %s, but expression is of type %s", col.name, col.typ, got)
		}
		exprs[i] = a.emit(as.Value, sc)
		p.set, p.types = append(p.set, at), append(p.types, got)
	}
	if !t.uniqueKey(p.target) {
		return nil, refuse("there is no unique index matching the ON CONFLICT specification")
	}
	conds := make([]string, len(t.pk))
	for i, k := range t.pk {
		conds[i] = fmt.Sprintf("%s.c%d = \x02%d\x02", quote(src.sqlName), t.columns[k].slot, i)
	}
	p.code = "SELECT " + strings.Join(exprs, ", ") + " FROM " + a.marker(t) + " AS " + quote(src.sqlName) + " WHERE " + strings.Join(conds, " AND ")
	return p, nil
}

// increments tells whether an assignment changes a column by a constant: c = c op value, or c = value op c if the sides may be swapped.
func increments(as grammar.Assignment) bool {
	b, ok := unparen(as.Value).(*grammar.Binary)
	if !ok {
		return false
	}
	self := func(x grammar.Expr) bool {
		ref, ok := unparen(x).(*grammar.ColumnRef)
		return ok && ref.Column.Name == as.Column.Name
	}
	switch b.Op {
	case grammar.OpAdd, grammar.OpMul:
		return self(b.L) && isConstant(b.R) || isConstant(b.L) && self(b.R)
	case grammar.OpSub, grammar.OpDiv, grammar.OpMod, grammar.OpConcat:
		return self(b.L) && isConstant(b.R)
	}
	return false
}

// uniqueKey tells whether some columns, in any order, are the primary key or a unique index.
func (t *table) uniqueKey(cols []int) bool {
	same := func(key []int) bool {
		x, y := slices.Sorted(slices.Values(key)), slices.Sorted(slices.Values(cols))
		return slices.Equal(x, y)
	}
	if same(t.pk) {
		return true
	}
	for _, ix := range t.indexes {
		var key []int
		for _, n := range ix.columns {
			if i, ok := t.column(n); ok {
				key = append(key, i)
			}
		}
		if ix.unique && same(key) {
			return true
		}
	}
	return false
}

func (p *upsertPlan) apply(w *writer, st *Stmt, b *blockRun, row newRow) *Error {
	store := st.eng.store
	name, e := store.ensure(p.table, w.copy)
	if e != nil {
		return broken(e)
	}
	null := false
	for _, c := range p.target {
		null = null || row.cells[p.table.columns[c].slot] == nil
	}
	var old []cell
	if !null {
		if old, e = store.rowWhere(name, p.table, p.target, row.cells); e != nil {
			return broken(e)
		}
	}
	if old == nil {
		clash, _, e := store.conflict(p.table, w.copy, row.cells)
		if e != nil {
			return broken(e)
		}
		if clash != nil {
			return rolledBack(fmt.Sprintf("duplicate key exists in table %q", p.table.name))
		}
		if err := w.fits(row.cells, "insert"); err != nil {
			return err
		}
		return w.apply(rowOp{table: p.table, row: row.cells})
	}
	code := p.code
	for i, k := range p.table.pk {
		code = strings.ReplaceAll(code, fmt.Sprintf("\x02%d\x02", i), cellLiteral(old[p.table.columns[k].slot]))
	}
	rows, err := b.rows(st, code)
	if err != nil {
		if strings.Contains(err.Message, "integer is overflowed") {
			return rolledBack("Integer overflow")
		}
		return err
	}
	next := append([]cell(nil), old...)
	for i, at := range p.set {
		col := p.table.columns[at]
		v := fromCell(rows[0][i], p.types[i])
		if stored, ok := convert(v, col.typ); ok {
			v = stored
		}
		next[col.slot] = toCell(v)
	}
	if err := w.fits(next, "insert"); err != nil {
		return err
	}
	if err := w.uniqueBut(old, next); err != nil {
		return rolledBack(fmt.Sprintf("duplicate key exists in table %q", p.table.name))
	}
	return w.apply(rowOp{table: p.table, row: next})
}
