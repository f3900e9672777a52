package engine

import "github.com/picodata/go-picodata/picotest/internal/grammar"

// alterTable replaces a table by a changed copy of a newer version.
func (e *Engine) alterTable(s *Stmt, n *grammar.AlterTable) *Error {
	t, ok := e.cat.tables[n.Table.Name]
	if !ok {
		return bare("table %s does not exist", n.Table.Name)
	}
	if !e.cat.may(s.me(), "alter", "table", int64(t.id), t.owner) {
		return denied("Alter", "space", t.name, s.sess.User)
	}
	c := t.clone()
	var added []column
	for _, act := range n.Actions {
		switch x := act.(type) {
		case *grammar.RenameTable:
			if _, taken := e.cat.lookup(x.To.Name, s.sess.Version); taken {
				return bare("table %s already exists", x.To.Name)
			}
			c.name = x.To.Name
		case *grammar.AddColumn:
			if err := columnType(x.Column); err != nil {
				return err
			}
			if _, twice := c.column(x.Column.Name.Name); twice {
				if x.IfNotExists {
					continue
				}
				return bare("column %s already exists", x.Column.Name.Name)
			}
			col := column{name: x.Column.Name.Name, typ: typeOfName(x.Column.Type), nullable: x.Column.Null != grammar.NotNull, slot: c.slots}
			if !col.nullable {
				rows, err := e.store.anyRows(t)
				if err != nil {
					return broken(err)
				}
				if rows {
					return bare("box error: FieldMissing: Tuple field %d (%s) required by space format is missing", len(c.columns)+1, col.name)
				}
			}
			c.columns = append(c.columns, col)
			c.slots++
			added = append(added, col)
		case *grammar.DropColumn:
			return refuse("unsupported DDL: `ALTER TABLE _ DROP COLUMN` is not yet supported")
		case *grammar.RenameColumn:
			if err := c.renameColumn(x); err != nil {
				return err
			}
		case *grammar.AlterColumn:
			return refuse("unsupported DDL: `ALTER TABLE _ ALTER COLUMN` is not yet supported")
		}
	}
	c.version = e.cat.bump()
	delete(e.cat.tables, t.name)
	e.cat.tables[c.name] = c
	e.store.latest[c.id] = c
	for _, col := range added {
		if err := e.store.addColumn(c, col); err != nil {
			return broken(err)
		}
	}
	return nil
}

func (t *table) renameColumn(x *grammar.RenameColumn) *Error {
	at, ok := t.column(x.From.Name)
	if !ok {
		return bare("column %s does not exist", x.From.Name)
	}
	if _, taken := t.column(x.To.Name); taken {
		return bare("column %s already exists", x.To.Name)
	}
	t.columns[at].name = x.To.Name
	for i := range t.indexes {
		names := append([]string(nil), t.indexes[i].columns...)
		for j, n := range names {
			if n == x.From.Name {
				names[j] = x.To.Name
			}
		}
		t.indexes[i].columns = names
	}
	return nil
}
