package engine

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// rawLines shows the local query that storages are sent, and how SQLite's relative in the storage would look the rows up. Only
// a plain SELECT over one table has its local text; of other statements the text is shown as it came.
func (p *explainPlan) rawLines(r *runState, args []Value) ([]string, *Error) {
	if p.inner.kind == Block {
		return p.blockLines(r, args, func(_ *blockItem, _ grammar.BlockStatement, detail string) []string {
			return []string{"plan:", "    [0] " + detail}
		})
	}
	set, err := p.set(r, args)
	if err != nil {
		return nil, err
	}
	text, detail := p.localQuery()
	if !p.inner.sess.Version.AtLeast(26, 2) {
		where := "STORAGE"
		switch {
		case set.Tier == "":
			where = "ROUTER"
		case !set.All:
			where = "FILTERED STORAGE"
		}
		return append([]string{fmt.Sprintf("1. Query (%s):", where), text}, append(planTable(detail), "")...), nil
	}
	where := "WHOLE STORAGE"
	switch {
	case set.Tier == "":
		where = "ROUTER"
	case !set.All:
		owners := map[string]bool{}
		for _, b := range set.List {
			owner, _ := r.owner(set.Tier, b)
			owners[owner] = true
		}
		where = fmt.Sprintf("CONST-FILTERED STORAGE, %d/%d", len(owners), r.replicasetsOf(set.Tier))
	}
	return append(box(fmt.Sprintf("1. Query (%s)", where)), "", text, "", "plan:", "    [0] "+detail), nil
}

// replicasetsOf counts the replicasets of a tier.
func (r *runState) replicasetsOf(tier string) int {
	n := 0
	for _, rs := range r.sys.Replicasets {
		if rs.Tier == tier {
			n++
		}
	}
	return n
}

// box draws a frame around a title.
func box(title string) []string {
	rule := strings.Repeat("─", utf8.RuneCountInString(title)+2)
	return []string{"╭" + rule + "╮", "│ " + title + " │", "╰" + rule + "╯"}
}

// planTable draws the table in which versions before 26.2 show how rows are looked up.
func planTable(detail string) []string {
	heads := []string{"selectid", "order", "from", "detail"}
	cells := []string{"0", "0", "0", detail}
	var line, head, body strings.Builder
	width := 0
	for i := range heads {
		n := max(len(heads[i]), len(cells[i]))
		line.WriteString("+" + strings.Repeat("-", n+2))
		fmt.Fprintf(&head, "| %-*s ", n, heads[i])
		fmt.Fprintf(&body, "| %-*s ", n, cells[i])
		width += n + 3
	}
	edge := line.String() + "+"
	return []string{edge, head.String() + "|", "+" + strings.Repeat("=", width-1) + "+", body.String() + "|", edge}
}

// localQuery writes the query that is sent to storages, and how its table is read.
func (p *explainPlan) localQuery() (text, detail string) {
	if plan, ok := p.inner.plan.(*selectPlan); ok && len(plan.q.cores) == 1 && len(plan.q.cores[0].sources) < 2 && plan.q.values == nil {
		return localSelect(p.inner.an, plan.q)
	}
	return strings.TrimSpace(p.node.Stmt.Pos().Text(p.inner.sql)), "TRIVIAL"
}

// localSelect writes a SELECT over one table or none; of another query only the first SELECT is written.
func localSelect(a *analyzer, q *query) (text, detail string) {
	l := &localText{a}
	if len(q.cores) == 0 {
		rows := make([]string, len(q.values))
		for i, r := range q.values {
			rows[i] = "(" + l.list(r.Items) + ")"
		}
		return "VALUES " + strings.Join(rows, ", "), "TRIVIAL"
	}
	c := q.cores[0]
	var items []string
	for _, it := range c.node.Items {
		if !it.Star {
			item := l.expr(it.Expr)
			if _, isRef := unparen(it.Expr).(*grammar.ColumnRef); !isRef || it.Alias != nil {
				item += fmt.Sprintf(" as %q", q.columns[min(len(items), len(q.columns)-1)].name)
			}
			items = append(items, item)
			continue
		}
		for _, src := range c.sources {
			for _, col := range src.columns {
				if !col.hidden {
					items = append(items, fmt.Sprintf("%q.%q", src.name, col.name))
				}
			}
		}
	}
	text, detail = "SELECT "+strings.Join(items, ", "), "TRIVIAL"
	if len(c.sources) == 0 || c.sources[0].table == nil {
		return text, detail
	}
	src := c.sources[0]
	text += fmt.Sprintf(" FROM %q", src.table.name)
	if src.name != src.table.name {
		text += fmt.Sprintf(" as %q", src.name)
	}
	if c.node.Where == nil {
		return text, fmt.Sprintf("SCAN TABLE %s (~1048576 rows)", src.table.name)
	}
	return text + " WHERE " + l.expr(c.node.Where), lookup(a, src, c.node.Where)
}

// lookup tells how the rows of a table are found: by the primary key if the condition fixes all of it.
func lookup(a *analyzer, src *source, where grammar.Expr) string {
	fixed := map[int]bool{}
	for _, x := range conjuncts(where) {
		b, ok := unparen(x).(*grammar.Binary)
		if !ok || b.Op != grammar.OpEq {
			continue
		}
		if ref, ok := unparen(b.L).(*grammar.ColumnRef); ok && isConstant(b.R) && a.columns[ref].source == src {
			fixed[a.columns[ref].index] = true
		}
	}
	var parts []string
	for _, k := range src.table.pk {
		if !fixed[k] {
			return fmt.Sprintf("SCAN TABLE %s (~983040 rows)", src.table.name)
		}
		parts = append(parts, src.table.columns[k].name+"=?")
	}
	return fmt.Sprintf("SEARCH TABLE %s USING PRIMARY KEY (%s) (~1 row)", src.table.name, strings.Join(parts, " AND "))
}

// localText writes expressions as the local queries have them: names quoted, constants cast to their types.
type localText struct{ a *analyzer }

func (l *localText) list(xs []grammar.Expr) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = l.expr(x)
	}
	return strings.Join(parts, ", ")
}

func (l *localText) expr(x grammar.Expr) string {
	t := l.a.effective(x)
	switch x := x.(type) {
	case *grammar.Paren:
		return "(" + l.expr(x.X) + ")"
	case *grammar.Literal:
		if x.Kind == grammar.StringLiteral {
			return fmt.Sprintf("CAST(%s AS %s)", quoteText(x.Value), t.planName())
		}
		if x.Kind == grammar.NullLiteral {
			return "NULL"
		}
		return fmt.Sprintf("CAST(%s AS %s)", x.Pos().Text(l.a.sql), t.planName())
	case *grammar.Param:
		return fmt.Sprintf("CAST($%d AS %s)", x.Index, t.planName())
	case *grammar.ColumnRef:
		if b := l.a.columns[x]; b.source != nil {
			return fmt.Sprintf("%q.%q", b.source.name, x.Column.Name)
		}
		return fmt.Sprintf("CAST(:%s AS %s)", x.Column.Name, t.planName()) // a variable of a block
	case *grammar.Binary:
		return l.expr(x.L) + " " + x.Op.String() + " " + l.expr(x.R)
	case *grammar.Not:
		return "not " + l.expr(x.X)
	case *grammar.In:
		if row, ok := x.R.(*grammar.Row); ok {
			not := ""
			if x.Not {
				not = "not "
			}
			return not + l.expr(x.X) + " in (" + l.list(row.Items) + ")"
		}
	}
	return x.Pos().Text(l.a.sql)
}
