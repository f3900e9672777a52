package gormpico

import (
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"

	picodata "github.com/picodata/go-picodata"
)

// create runs the INSERTs of a Create, in the place of GORM's own callback, which asks for LastInsertId.
func (d *Dialector) create(db *gorm.DB) {
	if db.Error != nil {
		return
	}
	noReturning(db)
	stmt := db.Statement
	if stmt.Schema != nil && !stmt.Unscoped {
		for _, c := range stmt.Schema.CreateClauses {
			stmt.AddClause(c)
		}
	}
	if stmt.SQL.Len() > 0 { // somebody has written the statement
		d.insert(db)
		return
	}
	fresh, err := d.fillKeys(stmt)
	if err != nil {
		_ = db.AddError(err)
		return
	}
	stmt.AddClauseIfNotExists(clause.Insert{})
	values := callbacks.ConvertToCreateValues(stmt)
	if db.Error != nil {
		return
	}
	if len(values.Columns) == 0 {
		_ = db.AddError(errors.New("gormpico: no column has a value: Picodata has no DEFAULT VALUES"))
		return
	}
	if conflict := doUpdate(stmt); conflict != nil {
		if !fresh || !onlyPrimary(stmt, conflict.Columns) {
			d.upsert(db, values, *conflict)
			return
		}
		delete(stmt.Clauses, "ON CONFLICT") // a key made here meets no other
	}
	rows := min(d.config.BatchRows, maxParameters/len(values.Columns))
	var affected int64
	for from := 0; from < len(values.Values); from += rows {
		part := clause.Values{Columns: values.Columns, Values: values.Values[from:min(from+rows, len(values.Values))]}
		stmt.SQL.Reset()
		stmt.Vars = nil
		stmt.AddClause(part)
		stmt.Build(stmt.BuildClauses...)
		n, err := d.insert(db)
		if err != nil && fresh && len(values.Values) == 1 && picodata.IsUniqueViolation(err) {
			n, err = d.insertAnew(db)
		}
		affected += n
		db.RowsAffected = affected
		if err != nil && from > 0 {
			db.Error = fmt.Errorf("gormpico: the first %d of %d rows are inserted: %w", from, len(values.Values), err)
		}
		if db.Error != nil {
			return
		}
	}
}

// maxKeys is how many keys a row is given before its INSERT fails: a unique index other than the primary key's may be
// what refuses it, which another key doesn't help.
const maxKeys = 3

// insertAnew runs the INSERT of one row again with another key: another process had the same.
func (d *Dialector) insertAnew(db *gorm.DB) (n int64, err error) {
	stmt := db.Statement
	for range maxKeys - 1 {
		db.Error = nil
		if err := d.renewKey(stmt); err != nil {
			return 0, db.AddError(err)
		}
		values := callbacks.ConvertToCreateValues(stmt)
		stmt.SQL.Reset()
		stmt.Vars = nil
		stmt.AddClause(values)
		stmt.Build(stmt.BuildClauses...)
		if n, err = d.insert(db); !picodata.IsUniqueViolation(err) {
			return n, err
		}
	}
	return n, err
}

// insert runs the statement as it stands.
func (d *Dialector) insert(db *gorm.DB) (int64, error) {
	if db.DryRun || db.Error != nil {
		return 0, db.Error
	}
	stmt := db.Statement
	result, err := stmt.ConnPool.ExecContext(stmt.Context, stmt.SQL.String(), stmt.Vars...)
	if err != nil {
		return 0, db.AddError(err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, db.AddError(err)
	}
	db.RowsAffected = n
	if stmt.Result != nil {
		stmt.Result.Result = result
		stmt.Result.RowsAffected += n
	}
	return n, nil
}

// doUpdate is the statement's ON CONFLICT DO UPDATE, if it has one.
func doUpdate(stmt *gorm.Statement) *clause.OnConflict {
	c, ok := stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	if !ok || c.UpdateAll || c.DoNothing || len(c.DoUpdates) == 0 {
		return nil
	}
	return &c
}
