package engine

import (
	"sort"
	"strings"
)

// completionPlan answers the query psql sends when somebody presses tab behind FROM.
type completionPlan struct{ prefix string }

func (e *Engine) tabCompletion(s Session, sql, prefix string) *Stmt {
	st := &Stmt{eng: e, sess: s, sql: sql, kind: DQL, tag: "SELECT", counted: true, an: newAnalyzer(e.cat, s, sql, nil), plan: &completionPlan{prefix}}
	st.describe([]sourceColumn{{name: "relname", typ: typeText}, {name: "text", typ: typeText}})
	return st
}

func (p *completionPlan) buckets(*Stmt, *runState, []Value) (BucketSet, *Error) {
	return BucketSet{}, nil
}

func (p *completionPlan) run(s *Stmt, _ *runState, _ []Value, _ View) (*Result, *Error) {
	var names []string
	for _, d := range systemTables(s.sess.Version) {
		names = append(names, d.name)
	}
	for n := range s.eng.cat.tables {
		names = append(names, n)
	}
	sort.Strings(names)
	res := &Result{}
	for _, n := range names {
		if strings.HasPrefix(n, p.prefix) {
			res.Rows = append(res.Rows, []Value{n, nil})
		}
	}
	res.Affected = int64(len(res.Rows))
	return res, nil
}
