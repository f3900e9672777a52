package engine

import (
	"fmt"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

const motionFull = "motion [policy: full, program: ReshardIfNeeded]"

// line adds a line of the tree.
func (p *planText) line(depth int, format string, args ...any) {
	step := "    "
	if p.modern {
		step = "  "
	}
	p.out = append(p.out, strings.Repeat(step, depth)+fmt.Sprintf(format, args...))
}

// lines writes the logical plan of the statement.
func (p *planText) lines() []string {
	switch plan := p.s.plan.(type) {
	case *selectPlan:
		p.query(plan.q, 0)
	case *insertPlan:
		p.insert(plan)
	case *changePlan:
		p.change(plan)
	default:
		p.line(0, "block")
	}
	for i := 0; i < len(p.subs); i++ {
		p.line(0, "subquery $%d:", i)
		p.query(p.subs[i], 1)
	}
	return p.out
}

// query writes a chain of SELECTs or a VALUES list.
func (p *planText) query(q *query, depth int) {
	if l := q.node.Limit; l != nil && !l.All {
		p.line(depth, "limit %d", l.Count)
		depth++
		if p.sharded(q) {
			p.line(depth, motionFull)
			p.line(depth+1, "limit %d", l.Count)
			depth += 2
		}
	}
	if len(q.node.OrderBy) > 0 {
		cols := make([]string, len(q.columns))
		for i, c := range q.columns {
			cols[i] = typed(p.name(c.name), c.typ)
			if !p.modern {
				cols[i] += " -> " + p.name(c.name)
			}
		}
		p.line(depth, "projection (%s)", strings.Join(cols, ", "))
		p.line(depth+1, "order by (%s)", p.order(q))
		depth += 2
		if p.sharded(q) {
			p.line(depth, motionFull)
			depth++
		}
		p.line(depth, "scan")
		depth++
	}
	p.chain(q, depth)
}

func (p *planText) order(q *query) string {
	parts := make([]string, len(q.node.OrderBy))
	for i, o := range q.node.OrderBy {
		if l, ok := unparen(o.Expr).(*grammar.Literal); ok {
			parts[i] = l.Value
		} else if ref, ok := unparen(o.Expr).(*grammar.ColumnRef); ok {
			parts[i] = p.name(ref.Column.Name)
			for _, c := range q.columns {
				if c.name == ref.Column.Name {
					parts[i] = typed(parts[i], c.typ)
					break
				}
			}
		} else {
			parts[i] = p.expr(o.Expr)
		}
		switch o.Order {
		case grammar.Asc:
			parts[i] += " asc"
		case grammar.Desc:
			parts[i] += " desc"
		}
	}
	return strings.Join(parts, ", ")
}

// chain writes set operators, which join what stands before them with the next SELECT.
func (p *planText) chain(q *query, depth int) {
	if q.values != nil {
		p.values(q, depth)
		return
	}
	terms := q.node.Terms
	names := map[grammar.SetOp]string{grammar.Union: "union", grammar.UnionAll: "union all", grammar.Except: "except"}
	for i := len(terms) - 1; i > 0; i-- {
		p.line(depth+len(terms)-1-i, "%s", names[terms[i].Op])
	}
	for i, c := range q.cores {
		at := depth
		if n := len(terms); n > 1 {
			at = depth + n - max(1, i)
		}
		p.core(c, at)
	}
}

func (p *planText) values(q *query, depth int) {
	p.line(depth, "values")
	for _, r := range q.values {
		if p.modern {
			p.line(depth+1, "value ROW(%s)", p.list(r.Items))
		} else {
			p.line(depth+1, "value row (data=ROW(%s))", p.list(r.Items))
		}
	}
}

// core writes one SELECT, top down: projection, having, group by, selection, sources.
func (p *planText) core(c *core, depth int) {
	distinct := ""
	if c.node.Distinct {
		distinct = "distinct "
	}
	p.line(depth, "projection %s(%s)", distinct, p.projection(c))
	depth++
	if (c.aggregated || len(c.node.GroupBy) > 0 || c.node.Distinct) && p.shardedCore(c) && c.node.Where == nil {
		p.line(depth, motionFull)
		depth++
	}
	if c.node.Having != nil {
		p.line(depth, "having %s", p.condition(c.node.Having))
		depth++
	}
	if len(c.node.GroupBy) > 0 {
		colon := ":"
		if p.modern {
			colon = ""
		}
		p.line(depth, "group by (%s) output%s (%s)", p.list(c.node.GroupBy), colon, p.output(c))
		depth++
	}
	if c.node.Where != nil {
		p.line(depth, "selection %s", p.condition(c.node.Where))
		depth++
	}
	p.sources(c, len(c.sources), depth)
}

// condition writes a filter, which modern plans put in parentheses.
func (p *planText) condition(x grammar.Expr) string {
	text := p.expr(x)
	if p.modern {
		return "(" + text + ")"
	}
	return text
}

// projection lists the columns of a SELECT under their names: the alias, the column's own name or col_N.
func (p *planText) projection(c *core) string {
	var parts []string
	add := func(text, name string) { parts = append(parts, text+" -> "+p.name(name)) }
	for _, it := range c.node.Items {
		if !it.Star {
			name := fmt.Sprintf("col_%d", len(parts)+1)
			if ref, ok := unparen(it.Expr).(*grammar.ColumnRef); ok {
				name = ref.Column.Name
			}
			if it.Alias != nil {
				name = it.Alias.Name
			}
			add(p.expr(it.Expr), name)
			continue
		}
		for _, src := range c.sources {
			if it.StarTable != nil && src.name != it.StarTable.Name {
				continue
			}
			for _, col := range src.columns {
				if !col.hidden {
					add(typed(p.qualified(src, col.name), col.typ.expr()), col.name)
				}
			}
		}
	}
	return strings.Join(parts, ", ")
}

// output lists the columns that a group hands on.
func (p *planText) output(c *core) string {
	var parts []string
	for _, src := range c.sources {
		for _, col := range src.columns {
			text := typed(p.qualified(src, col.name), col.typ.expr())
			parts = append(parts, text+" -> "+p.name(col.name))
		}
	}
	return strings.Join(parts, ", ")
}

// sources writes the first n items of FROM: a scan, or a join of the last one with those before it.
func (p *planText) sources(c *core, n, depth int) {
	switch n {
	case 0:
		return
	case 1:
		p.scan(c.sources[0], depth)
		return
	}
	kind := ""
	if c.node.Joins[n-2].Kind == grammar.LeftJoin {
		kind = "left "
	}
	p.line(depth, "%sjoin on %s", kind, p.condition(c.node.Joins[n-2].On))
	p.sources(c, n-1, depth+1)
	depth++
	f := &bucketFinder{s: p.s}
	if src := c.sources[n-1]; p.shardedSource(src) && !f.local(c) {
		p.line(depth, motionFull)
		depth++
	}
	p.scan(c.sources[n-1], depth)
}

func (p *planText) scan(src *source, depth int) {
	switch {
	case src.table != nil && src.name != src.table.name:
		p.line(depth, "scan %s -> %s", p.name(src.table.name), p.name(src.name))
	case src.table != nil:
		p.line(depth, "scan %s", p.name(src.name))
	case src.cte:
		p.subs = append(p.subs, src.inner)
		p.line(depth, "scan cte %s($%d)", p.name(src.name), len(p.subs)-1)
	case src.name == "":
		p.line(depth, "scan")
		p.query(src.inner, depth+1)
	default:
		p.line(depth, "scan %s", p.name(src.name))
		p.query(src.inner, depth+1)
	}
}

// sharded tells whether a query reads rows that lie on more than one replicaset.
func (p *planText) sharded(q *query) bool {
	for _, c := range q.cores {
		if p.shardedCore(c) {
			return true
		}
	}
	return false
}

func (p *planText) shardedCore(c *core) bool {
	for _, src := range c.sources {
		if p.shardedSource(src) {
			return true
		}
	}
	return false
}

func (p *planText) shardedSource(src *source) bool {
	if src.table != nil {
		return !src.table.global
	}
	return src.inner != nil && p.sharded(src.inner)
}
