package gormpico

import (
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// upsert does what ON CONFLICT (primary key) DO UPDATE asks for, row by row: an INSERT that does nothing if the
// key is there, and then an UPDATE of the row that was. GORM saves children with their parent that way. The two
// statements aren't atomic: a row that is deleted between them is neither inserted nor updated.
func (d *Dialector) upsert(db *gorm.DB, values clause.Values, conflict clause.OnConflict) {
	stmt := db.Statement
	if !onlyPrimary(stmt, conflict.Columns) || len(conflict.Where.Exprs) > 0 || len(conflict.TargetWhere.Exprs) > 0 || conflict.OnConstraint != "" {
		_ = db.AddError(ErrDoUpdate)
		return
	}
	place := make(map[string]int, len(values.Columns))
	for i, c := range values.Columns {
		place[c.Name] = i
	}
	stmt.AddClause(clause.OnConflict{DoNothing: true})
	var affected int64
	for _, row := range values.Values {
		stmt.SQL.Reset()
		stmt.Vars = nil
		stmt.AddClause(clause.Values{Columns: values.Columns, Values: [][]any{row}})
		stmt.Build(stmt.BuildClauses...)
		n, err := d.insert(db)
		if err == nil && n == 0 && !db.DryRun {
			writeUpdate(stmt, conflict.DoUpdates, row, place)
			n, err = d.insert(db)
		}
		affected += n
		db.RowsAffected = affected
		if err != nil {
			return
		}
	}
}

// writeUpdate puts the UPDATE of a row that exists into the statement.
func writeUpdate(stmt *gorm.Statement, set clause.Set, row []any, place map[string]int) {
	stmt.SQL.Reset()
	stmt.Vars = nil
	stmt.WriteString("UPDATE ")
	stmt.WriteQuoted(clause.Table{Name: clause.CurrentTable})
	stmt.WriteString(" SET ")
	for i, a := range set {
		if i > 0 {
			stmt.WriteString(", ")
		}
		stmt.WriteQuoted(clause.Column{Name: a.Column.Name})
		stmt.WriteString(" = ")
		value := a.Value
		if c, ok := value.(clause.Column); ok && c.Table == "excluded" {
			at, given := place[c.Name]
			if !given {
				_ = stmt.AddError(ErrDoUpdate)
				return
			}
			value = row[at]
		}
		stmt.AddVar(stmt, value)
	}
	stmt.WriteString(" WHERE ")
	for i, f := range stmt.Schema.PrimaryFields {
		if i > 0 {
			stmt.WriteString(" AND ")
		}
		at, given := place[f.DBName]
		if !given {
			_ = stmt.AddError(ErrDoUpdate)
			return
		}
		stmt.WriteQuoted(clause.Column{Name: f.DBName})
		stmt.WriteString(" = ")
		stmt.AddVar(stmt, row[at])
	}
}

// onlyPrimary reports whether the columns are the primary key's, or none.
func onlyPrimary(stmt *gorm.Statement, columns []clause.Column) bool {
	if stmt.Schema == nil {
		return false
	}
	for _, c := range columns {
		if f := stmt.Schema.LookUpField(c.Name); f == nil || !f.PrimaryKey {
			return false
		}
	}
	return true
}
