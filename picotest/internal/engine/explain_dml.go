package engine

import (
	"fmt"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// insert writes INSERT: the rows are sharded by the columns that become the sharding key.
func (p *planText) insert(plan *insertPlan) {
	action := "fail"
	if c := plan.node.OnConflict; c != nil {
		action = map[grammar.ConflictAction]string{
			grammar.DoFail: "fail", grammar.DoNothing: "nothing", grammar.DoReplace: "replace", grammar.DoUpdate: "update",
		}[c.Action]
	}
	into := "insert "
	if p.modern {
		into = "insert into "
	}
	p.line(0, "%s%s on conflict: %s", into, p.name(plan.table.name), action)
	if plan.table.global {
		p.line(1, motionFull)
	} else {
		var refs []string
		for _, k := range plan.table.key {
			for i, c := range plan.targets {
				if c == k {
					refs = append(refs, "ref("+p.name(plan.q.columns[i].name)+")")
				}
			}
		}
		p.line(1, "motion [policy: segment([%s]), program: ReshardIfNeeded]", strings.Join(refs, ", "))
	}
	p.query(plan.q, 2)
}

// change writes UPDATE and DELETE: the rows are found by a query on each replicaset and then changed by their primary key.
func (p *planText) change(plan *changePlan) {
	t := plan.table
	program := "ReshardIfNeeded"
	if plan.deletes {
		if p.modern {
			p.line(0, "delete from %s", p.name(t.name))
		} else {
			p.line(0, "delete %s", p.name(t.name))
		}
		if plan.where == nil {
			return
		}
		places := make([]string, len(t.pk))
		for i := range t.pk {
			places[i] = fmt.Sprint(i)
		}
		program = "[PrimaryKey(" + strings.Join(places, ", ") + "), ReshardIfNeeded]"
	} else {
		p.assignments(plan)
	}
	policy := "local"
	if t.global {
		policy = "full"
	}
	p.line(1, "motion [policy: %s, program: %s]", policy, program)
	p.line(2, "projection (%s)", strings.Join(p.changed(plan), ", "))
	depth := 3
	if plan.where != nil {
		p.line(depth, "selection %s", p.condition(plan.where))
		depth++
	}
	if plan.inner != nil {
		p.line(depth, "join on %s", p.condition(&grammar.Literal{Kind: grammar.TrueLiteral}))
		p.scan(plan.src, depth+1)
		depth++
		if p.shardedSource(plan.inner) {
			p.line(depth, motionFull)
			depth++
		}
		p.scan(plan.inner, depth)
		return
	}
	p.scan(plan.src, depth)
}

func (p *planText) assignments(plan *changePlan) {
	parts := make([]string, len(plan.set))
	for i, c := range plan.set {
		parts[i] = fmt.Sprintf("%s = %s", p.name(plan.table.columns[c].name), p.name(fmt.Sprintf("col_%d", i)))
	}
	if p.modern {
		p.line(0, "update %s (%s)", p.name(plan.table.name), strings.Join(parts, ", "))
		return
	}
	p.line(0, "update %s", p.name(plan.table.name))
	for _, part := range parts {
		p.line(0, "%s", part)
	}
}

// changed lists what the inner query yields: new values, then the primary key.
func (p *planText) changed(plan *changePlan) []string {
	var parts []string
	if node, ok := p.node.(*grammar.Update); ok {
		for i, s := range node.Set {
			parts = append(parts, fmt.Sprintf("%s -> %s", p.expr(s.Value), p.name(fmt.Sprintf("col_%d", i))))
		}
	}
	for i, k := range plan.table.pk {
		name := fmt.Sprintf("pk_col_%d", i)
		if !plan.deletes {
			name = fmt.Sprintf("col_%d", len(parts))
		}
		col := plan.table.columns[k]
		parts = append(parts, typed(p.qualified(plan.src, col.name), col.typ.expr())+" -> "+p.name(name))
	}
	return parts
}
