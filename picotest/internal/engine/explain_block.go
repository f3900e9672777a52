package engine

import (
	"fmt"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// blockLines explains the statements of a block one by one, each under a framed title; body gives what follows the local query.
// They are numbered throughout, the condition of an IF and the statements of its bodies too.
func (p *explainPlan) blockLines(r *runState, args []Value, body func(it *blockItem, node grammar.BlockStatement, detail string) []string) ([]string, *Error) {
	plan := p.inner.plan.(*blockPlan)
	where := "ROUTER"
	if set, err := p.set(r, args); err != nil {
		return nil, err
	} else if set.Tier != "" && len(set.List) > 0 {
		where = fmt.Sprintf("CONST-FILTERED STORAGE, 1/%d", r.replicasetsOf(set.Tier))
	}
	var out []string
	number := 0
	step := func(it *blockItem, node grammar.BlockStatement, title string) {
		number++
		if len(out) > 0 {
			out = append(out, "")
		}
		text, detail := p.stepQuery(it, node)
		out = append(out, box(fmt.Sprintf("%d. %s (%s)", number, title, where))...)
		out = append(out, "", text, "")
		out = append(out, body(it, node, detail)...)
	}
	for i, it := range plan.items {
		node := p.node.Stmt.(*grammar.Block).Statements[i]
		switch {
		case it.stmt == nil:
			step(it, node, "If cond")
		case it.let != "":
			step(it, node, fmt.Sprintf("Let %q", it.let))
		case it.ret:
			step(it, node, "Return query")
		default:
			step(it, node, "Query")
		}
		if n, ok := node.(*grammar.BlockIf); ok {
			for j, x := range it.then {
				step(x, n.Then[j], "If body")
			}
			for j, x := range it.other {
				step(x, n.Else[j], "Else body")
			}
		}
	}
	return out, nil
}

// stepQuery writes the local query of a block's statement, and how its table is read.
func (p *explainPlan) stepQuery(it *blockItem, node grammar.BlockStatement) (text, detail string) {
	l := &localText{p.inner.an}
	if n, ok := node.(*grammar.BlockIf); ok {
		return fmt.Sprintf("SELECT %s as %q", l.expr(n.Cond), "cond"), "TRIVIAL"
	}
	switch plan := it.stmt.plan.(type) {
	case *selectPlan:
		return localSelect(p.inner.an, plan.q)
	case *changePlan:
		return localChange(l, plan, node)
	case *insertPlan:
		return localInsert(l, plan), "TRIVIAL"
	}
	return "", "TRIVIAL"
}

// stepPlan writes the logical plan of a block's statement.
func (p *explainPlan) stepPlan(it *blockItem, node grammar.BlockStatement) []string {
	if n, ok := node.(*grammar.BlockIf); ok {
		t := newPlanText(p.inner, nil)
		return []string{fmt.Sprintf("projection (%s -> cond)", t.expr(n.Cond))}
	}
	var stmt grammar.Statement
	if q, ok := node.(*grammar.BlockQuery); ok {
		stmt = q.Stmt
	}
	return newPlanText(it.stmt, stmt).lines()
}

func localChange(l *localText, plan *changePlan, node grammar.BlockStatement) (text, detail string) {
	name := plan.table.name
	text = fmt.Sprintf("DELETE FROM %q", name)
	if q, ok := node.(*grammar.BlockQuery); ok {
		if u, ok := q.Stmt.(*grammar.Update); ok {
			parts := make([]string, len(u.Set))
			for i, as := range u.Set {
				parts[i] = fmt.Sprintf("%q = %s", as.Column.Name, l.expr(as.Value))
			}
			text = fmt.Sprintf("UPDATE %q SET %s", name, strings.Join(parts, ", "))
		}
	}
	if plan.where == nil {
		return text, fmt.Sprintf("SCAN TABLE %s (~1048576 rows)", name)
	}
	return text + " WHERE " + l.expr(plan.where), lookup(l.a, plan.src, plan.where)
}

func localInsert(l *localText, plan *insertPlan) string {
	var names []string
	for _, at := range plan.targets {
		names = append(names, fmt.Sprintf("%q", plan.table.columns[at].name))
	}
	var rows []string
	for _, row := range plan.q.values {
		rows = append(rows, "( "+l.list(row.Items)+" )")
	}
	text := fmt.Sprintf("INSERT INTO %q (%s) VALUES %s", plan.table.name, strings.Join(names, ", "), strings.Join(rows, ", "))
	if c := plan.node.OnConflict; c != nil && c.Action != grammar.DoFail {
		text += " ON CONFLICT DO " + map[grammar.ConflictAction]string{
			grammar.DoNothing: "NOTHING", grammar.DoReplace: "REPLACE", grammar.DoUpdate: "UPDATE",
		}[c.Action]
	}
	return text
}
