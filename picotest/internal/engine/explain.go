package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// explainPlan is EXPLAIN. It runs where it arrived and touches no data.
//
// The plan is that of simple statements: the tree of projections, selections, scans, joins, groups and so on, with the motions that
// the distribution of a single table forces. Two-stage aggregation, which the server plans as a partial and a final projection with
// a motion between them, is shown as one projection over a motion.
type explainPlan struct {
	node  *grammar.Explain
	inner *Stmt
}

// buildExplain analyses the statement to be explained with the same analyzer, so that parameters are typed as in the statement itself.
func (s *Stmt) buildExplain(n *grammar.Explain) *Error {
	inner := &Stmt{eng: s.eng, sess: s.sess, sql: s.sql, an: s.an}
	if err := inner.build(n.Stmt); err != nil {
		return err
	}
	inner.finish(n.Stmt, nil)
	s.kind, s.tag, s.counted = Explain, "EXPLAIN", true
	s.tables = []*table{} // none is read
	s.plan = &explainPlan{n, inner}
	name := "QUERY PLAN"
	if s.sess.Version.AtLeast(26, 2) {
		name = "EXPLAIN"
	}
	s.describe([]sourceColumn{{name: name, typ: typeText}})
	return nil
}

func (p *explainPlan) buckets(*Stmt, *runState, []Value) (BucketSet, *Error) { return BucketSet{}, nil }

func (p *explainPlan) run(s *Stmt, r *runState, args []Value, _ View) (*Result, *Error) {
	var lines []string
	var err *Error
	if s.sess.Version.AtLeast(26, 2) {
		lines, err = p.modern(r, args)
	} else {
		lines, err = p.classic(r, args)
	}
	if err != nil {
		return nil, err
	}
	rows := make([][]Value, len(lines))
	for i, l := range lines {
		rows[i] = []Value{l}
	}
	return &Result{Rows: rows, Affected: int64(len(rows))}, nil
}

// classic is what versions before 26.2 print: the plan, the options and the buckets in one; or with RAW the local queries.
func (p *explainPlan) classic(r *runState, args []Value) ([]string, *Error) {
	if slices.Contains(p.node.Facets, grammar.FacetRaw) {
		return p.rawLines(r, args)
	}
	o, err := p.inner.resolveOptions(args)
	if err != nil {
		return nil, err
	}
	lines, err := p.logicalLines(r, args)
	if err != nil {
		return nil, err
	}
	lines = append(lines, "execution options:",
		fmt.Sprintf("    sql_vdbe_opcode_max = %d", o.OpcodeMax),
		fmt.Sprintf("    sql_motion_row_max = %d", o.MotionRowMax))
	buckets, err := p.bucketLine(r, args)
	return append(lines, buckets), err
}

// modern is what 26.2 prints: a section for each facet, with a headline if there is more than one.
func (p *explainPlan) modern(r *runState, args []Value) ([]string, *Error) {
	facets := slices.DeleteFunc(slices.Clone(p.node.Facets), func(f grammar.Facet) bool { return f == grammar.FacetFmt })
	if len(facets) == 0 {
		facets = []grammar.Facet{grammar.FacetLogical, grammar.FacetBuckets}
	}
	var out []string
	// The sections come in this order, whatever the order in the text.
	for _, section := range []struct {
		facet grammar.Facet
		title string
		body  func(r *runState, args []Value) ([]string, *Error)
	}{
		{grammar.FacetLogical, "Logical plan", p.logicalLines},
		{grammar.FacetRaw, "Raw plan", p.rawLines},
		{grammar.FacetForward, "Forward", p.forwardLines},
		{grammar.FacetBuckets, "Buckets", func(r *runState, args []Value) ([]string, *Error) {
			line, err := p.bucketLine(r, args)
			return []string{line}, err
		}},
		{grammar.FacetContext, "Context", func(_ *runState, args []Value) ([]string, *Error) {
			o, err := p.inner.resolveOptions(args)
			return []string{fmt.Sprintf("sql_vdbe_opcode_max = %d", o.OpcodeMax), fmt.Sprintf("sql_motion_row_max = %d", o.MotionRowMax)}, err
		}},
	} {
		if !slices.Contains(facets, section.facet) {
			continue
		}
		body, err := section.body(r, args)
		if err != nil {
			return nil, err
		}
		if len(facets) > 1 {
			if len(out) > 0 {
				out = append(out, "")
			}
			rule := strings.Repeat("─", headlineWidth)
			out = append(out, rule, fmt.Sprintf("%-*s", headlineWidth, " # "+section.title), rule, "")
		}
		out = append(out, body...)
	}
	return out, nil
}

func (p *explainPlan) logicalLines(r *runState, args []Value) ([]string, *Error) {
	if p.inner.kind != Block {
		return newPlanText(p.inner, p.node.Stmt).lines(), nil
	}
	return p.blockLines(r, args, func(it *blockItem, node grammar.BlockStatement, _ string) []string { return p.stepPlan(it, node) })
}

// headlineWidth is the width of a section's headline, in characters.
const headlineWidth = 70

// set finds the buckets of the explained statement; no plan or no sharded table means none.
func (p *explainPlan) set(r *runState, args []Value) (BucketSet, *Error) {
	if p.inner.plan == nil || p.inner.tier == "" {
		return BucketSet{}, nil
	}
	return p.inner.plan.buckets(p.inner, r, args)
}

func (p *explainPlan) bucketLine(r *runState, args []Value) (string, *Error) {
	set, err := p.set(r, args)
	if err != nil {
		return "", err
	}
	modern := p.inner.sess.Version.AtLeast(26, 2)
	switch {
	case set.Tier == "":
		return "buckets = any", nil
	case set.Motion, p.inner.kind == DML && !p.inner.sess.Version.AtLeast(26, 1) && p.movesRows():
		return "buckets = unknown", nil
	case set.All:
		count, err := r.bucketCount(set.Tier)
		sign := "="
		if modern {
			sign = "<=" // an upper bound
		}
		return fmt.Sprintf("buckets %s [1-%d]", sign, count), err
	}
	return "buckets = [" + bucketRanges(set.List) + "]", nil
}

// movesRows tells whether the statement's rows are sharded while it runs, which keeps versions before 26.1 from naming buckets.
func (p *explainPlan) movesRows() bool {
	_, ok := p.inner.plan.(*insertPlan)
	return ok
}

// bucketRanges writes sorted buckets with consecutive ones drawn together: 1-3,7.
func bucketRanges(list []uint64) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(list[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// forwardLines names the strictest value of the option forward that the statement satisfies on this instance.
func (p *explainPlan) forwardLines(r *runState, args []Value) ([]string, *Error) {
	set, err := p.set(r, args)
	if err != nil {
		return nil, err
	}
	least := "off"
	switch {
	case set.Tier == "":
	case set.All:
		least = "on"
	default:
		owners := map[string]bool{}
		for _, b := range set.List {
			owner, _ := r.owner(set.Tier, b)
			owners[owner] = true
		}
		switch {
		case len(owners) > 1:
			least = "on"
		case len(owners) == 1 && !(owners[r.self.ReplicasetUUID] && r.leads()):
			least = "ro_to_rw"
		}
	}
	return []string{"forward analysis (on > ro_to_rw > off):", "  forward = " + least}, nil
}

// leads tells whether the instance leads its replicaset.
func (r *runState) leads() bool {
	for _, rs := range r.sys.Replicasets {
		if rs.UUID == r.self.ReplicasetUUID {
			return rs.CurrentMaster == r.self.Name && rs.TargetMaster == r.self.Name
		}
	}
	return false
}
