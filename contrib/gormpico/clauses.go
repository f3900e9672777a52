package gormpico

import (
	"errors"
	"strconv"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

var (
	// ErrOffset: Picodata has no OFFSET. Page by the key: WHERE id > the last one seen ORDER BY id LIMIT n.
	ErrOffset = errors.New("gormpico: Picodata has no OFFSET; page by the key: Where(\"id > ?\", last).Order(\"id\").Limit(n)")
	// ErrLocking: Picodata has no SELECT … FOR UPDATE.
	ErrLocking = errors.New("gormpico: Picodata has no row locks (SELECT … FOR UPDATE)")
	// ErrReturning: Picodata has no RETURNING.
	ErrReturning = errors.New("gormpico: Picodata has no RETURNING; read the rows by their keys")
	// ErrDoUpdate: ON CONFLICT DO UPDATE exists from 26.2 on, inside blocks only. For a conflict of the primary key the
	// dialector runs an INSERT and an UPDATE instead; for others there is nothing it could do.
	ErrDoUpdate = errors.New("gormpico: DoUpdates is possible for a conflict of the primary key only; UpdateAll and DoNothing for all; picodata.Block runs ON CONFLICT DO UPDATE")
)

// ErrDistinctCount: there is no count of distinct rows of several columns. Count the groups: Group("a, b").Count(&n).
var ErrDistinctCount = errors.New("gormpico: Picodata counts distinct values of one column only; for several: Group(\"a, b\").Count(&n)")

// clauseBuilders write the clauses that differ from GORM's own.
var clauseBuilders = map[string]clause.ClauseBuilder{
	"SELECT":      buildSelect,
	"LIMIT":       buildLimit,
	"FOR":         func(_ clause.Clause, b clause.Builder) { _ = b.AddError(ErrLocking) },
	"ON CONFLICT": buildOnConflict,
}

// buildSelect writes COUNT(DISTINCT "x") where GORM has COUNT(DISTINCT("x")), which the server doesn't parse, and refuses a count of distinct
// rows of several columns, of which GORM makes count(*) without a word.
func buildSelect(c clause.Clause, b clause.Builder) {
	if e, ok := c.Expression.(clause.Expr); ok {
		stmt, _ := b.(*gorm.Statement)
		switch {
		case e.SQL == "COUNT(DISTINCT(?))":
			e.SQL = "COUNT(DISTINCT ?)"
			c.Expression = e
		case e.SQL == "count(*)" && stmt != nil && stmt.Distinct && len(stmt.Selects) > 1:
			_ = b.AddError(ErrDistinctCount)
		}
	}
	c.Build(b)
}

// buildLimit writes the number itself: Picodata takes no parameter there.
func buildLimit(c clause.Clause, b clause.Builder) {
	limit, ok := c.Expression.(clause.Limit)
	if !ok {
		return
	}
	if limit.Limit != nil && *limit.Limit >= 0 {
		_, _ = b.WriteString("LIMIT " + strconv.Itoa(*limit.Limit))
	}
	if limit.Offset > 0 {
		_ = b.AddError(ErrOffset)
	}
}

// buildOnConflict writes what Picodata does instead. DO REPLACE puts the new row in place of the old one, columns
// such as created_at included.
func buildOnConflict(c clause.Clause, b clause.Builder) {
	conflict, ok := c.Expression.(clause.OnConflict)
	switch {
	case !ok:
	case conflict.UpdateAll:
		_, _ = b.WriteString("ON CONFLICT DO REPLACE")
	case conflict.DoNothing:
		_, _ = b.WriteString("ON CONFLICT DO NOTHING")
	default:
		_ = b.AddError(ErrDoUpdate)
	}
}

// noReturning refuses a clause that GORM would leave out without a word.
func noReturning(db *gorm.DB) {
	if _, ok := db.Statement.Clauses["RETURNING"]; ok {
		_ = db.AddError(ErrReturning)
	}
}
