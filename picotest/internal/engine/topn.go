package engine

import (
	"fmt"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// The storage's SUM is declared to give decimals; of integers it gives integers all the same, and of doubles that came from other
// replicasets doubles. Where such a column becomes the only key of a sort with a LIMIT, or a part of DISTINCT, the storage holds the
// values against the declaration and gives up. COUNT over several replicasets is such a SUM of their counts; cast(count(*) AS int)
// is none.

// misdeclared tells whether an output column is such a SUM.
func (a *analyzer) misdeclared(x grammar.Expr, spread bool) bool {
	call, ok := unparen(x).(*grammar.FuncCall)
	if !ok || !a.twoStages() {
		return false
	}
	switch call.Name.Name {
	case "count":
		return spread && !call.Distinct
	case "sum":
		arg := a.types[call.Args[0]]
		return spread && (call.Distinct && arg == typeInt || arg == typeDouble)
	}
	return false
}

// rejects gives the storage's complaint about rows that a query yields.
func (q *query) rejects(rows [][]cell) string {
	if len(rows) == 0 || len(q.cores) != 1 {
		return ""
	}
	if n := q.node; len(q.cores[0].node.GroupBy) > 0 && len(n.OrderBy) == 1 && n.Limit != nil && !n.Limit.All {
		if at := q.orderedBy; at >= 0 && q.columns[at].misdeclared {
			for _, r := range rows {
				if kind := storageKind(r[at]); kind != "" {
					return fmt.Sprintf("Tuple field 1 (_COLUMN_0) type does not match one required by operation: expected decimal, got %s", kind)
				}
			}
		}
	}
	if q.cores[0].node.Distinct {
		for i, c := range q.columns {
			for _, r := range rows {
				if c.misdeclared && storageKind(r[i]) != "" {
					return fmt.Sprintf("Supplied key type of part %d does not match index part type: expected decimal", i)
				}
			}
		}
	}
	return ""
}

// storageKind is the storage's word for a number that is no decimal.
func storageKind(c cell) string {
	switch x := c.(type) {
	case int64:
		if x < 0 {
			return "integer"
		}
		return "unsigned"
	case float64:
		return "double"
	case string:
		if d, err := ParseDecimal(x); err == nil && d.scale == 0 {
			return "unsigned" // SQLite's side keeps sums as decimals
		}
	}
	return ""
}
