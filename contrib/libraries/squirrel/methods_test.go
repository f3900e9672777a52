package main

import (
	"context"
	"database/sql"
	"reflect"
	"testing"

	sq "github.com/Masterminds/squirrel"

	"github.com/picodata/go-picodata/contrib/internal/methods"
)

// of binds squirrel to a database.
func of(db *sql.DB) sq.StatementBuilderType {
	return sq.StatementBuilder.PlaceholderFormat(sq.Dollar).RunWith(db)
}

// finds compares the first columns, all texts.
func finds(q func(b sq.StatementBuilderType) sq.SelectBuilder, want ...string) methods.Try {
	return func(ctx context.Context, db *sql.DB) error {
		rows, err := q(of(db)).QueryContext(ctx)
		if err != nil {
			return err
		}
		defer rows.Close()
		var got []string
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				return err
			}
			got = append(got, s)
		}
		return methods.Want(rows.Err(), got, want)
	}
}

// names selects the pets' names.
func names(b sq.StatementBuilderType) sq.SelectBuilder {
	return b.Select("name").From("pets").OrderBy("name")
}

// changes compares the number of rows.
func changes(q func(b sq.StatementBuilderType) interface {
	ExecContext(context.Context) (sql.Result, error)
}, rows int64) methods.Try {
	return func(ctx context.Context, db *sql.DB) error {
		return methods.Affected(q(of(db)).ExecContext(ctx))(rows)
	}
}

type exec = interface {
	ExecContext(context.Context) (sql.Result, error)
}

var selects = map[string]methods.Try{
	"From": finds(names, "a", "b", "c"),
	"Columns": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select().Columns("name").From("pets").Where("id = 1")
	}, "a"),
	"Column": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select().Column("upper(name)").From("pets").Where("id = 1")
	}, "A"),
	"Distinct": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("owner_id").Distinct().From("pets").OrderBy("owner_id")
	}, "1", "2"),
	"Options": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("owner_id").Options("DISTINCT").From("pets").OrderBy("owner_id")
	}, "1", "2"),
	"FromSelect": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("name").FromSelect(sq.Select("name").From("pets").Where(sq.Eq{"id": 2}), "x")
	}, "b"),
	"Where": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return names(b).Where(sq.And{sq.Gt{"id": 1}, sq.NotEq{"name": "c"}})
	}, "b"),
	"Join": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("o.name").From("pets p").Join("owners o ON o.id = p.owner_id").Where("p.id = ?", 3)
	}, "two"),
	"InnerJoin": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("o.name").From("pets p").InnerJoin("owners o ON o.id = p.owner_id").Where("p.id = 3")
	}, "two"),
	"LeftJoin": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("o.name").From("pets p").LeftJoin("owners o ON o.id = p.owner_id").Where("p.id = 3")
	}, "two"),
	"JoinClause": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("o.name").From("pets p").JoinClause("JOIN owners o ON o.id = p.owner_id").Where("p.id = 3")
	}, "two"),
	"CrossJoin": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("o.name").From("pets p").CrossJoin("owners o")
	}, "?"),
	"RightJoin": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("o.name").From("pets p").RightJoin("owners o ON o.id = p.owner_id")
	}, "?"),
	"GroupBy": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("owner_id").From("pets").GroupBy("owner_id").OrderBy("owner_id")
	}, "1", "2"),
	"Having": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("owner_id").From("pets").GroupBy("owner_id").Having("count(*) > ?", 1)
	}, "1"),
	"OrderBy": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("name").From("pets").OrderBy("name DESC")
	}, "c", "b", "a"),
	"OrderByClause": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("name").From("pets").OrderByClause("name DESC")
	}, "c", "b", "a"),
	"Limit":        finds(func(b sq.StatementBuilderType) sq.SelectBuilder { return names(b).Limit(2) }, "a", "b"),
	"RemoveLimit":  finds(func(b sq.StatementBuilderType) sq.SelectBuilder { return names(b).Limit(1).RemoveLimit() }, "a", "b", "c"),
	"Offset":       finds(func(b sq.StatementBuilderType) sq.SelectBuilder { return names(b).Limit(2).Offset(1) }, "b", "c"),
	"RemoveOffset": finds(func(b sq.StatementBuilderType) sq.SelectBuilder { return names(b).Offset(1).RemoveOffset() }, "a", "b", "c"),
	"RemoveColumns": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("id").From("pets").RemoveColumns().Columns("upper(name)").Where("id = 1")
	}, "A"),
	"Prefix": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("name").Prefix("WITH x AS (SELECT name FROM pets WHERE id = ?)", 1).From("x")
	}, "a"),
	"PrefixExpr": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return b.Select("name").PrefixExpr(sq.Expr("WITH x AS (SELECT name FROM pets WHERE id = 1)")).From("x")
	}, "a"),
	"Suffix": finds(func(b sq.StatementBuilderType) sq.SelectBuilder { return names(b).Suffix("FOR UPDATE") }, "a", "b", "c"),
	"SuffixExpr": finds(func(b sq.StatementBuilderType) sq.SelectBuilder {
		return names(b).SuffixExpr(sq.Expr("OPTION (sql_motion_row_max = 100)"))
	}, "a", "b", "c"),
	"Scan": func(ctx context.Context, db *sql.DB) error {
		var s string
		err := of(db).Select("name").From("pets").Where(sq.Eq{"id": 1}).Scan(&s)
		return methods.Want(err, s, "a")
	},
	"ScanContext": func(ctx context.Context, db *sql.DB) error {
		var s string
		err := of(db).Select("name").From("pets").Where(sq.Eq{"id": []int{1}}).ScanContext(ctx, &s)
		return methods.Want(err, s, "a")
	},
}

var inserts = map[string]methods.Try{
	"Into":    changes(func(b sq.StatementBuilderType) exec { return b.Insert("").Into("pets").Values(9, 1, "x") }, 1),
	"Columns": changes(func(b sq.StatementBuilderType) exec { return b.Insert("pets").Columns("id", "name").Values(9, "x") }, 1),
	"Values":  changes(func(b sq.StatementBuilderType) exec { return b.Insert("pets").Values(8, 1, "x").Values(9, 1, "y") }, 2),
	"SetMap": changes(func(b sq.StatementBuilderType) exec {
		return b.Insert("pets").SetMap(map[string]any{"id": 9, "name": "x"})
	}, 1),
	"Select": changes(func(b sq.StatementBuilderType) exec {
		return b.Insert("pets").Columns("id", "owner_id", "name").Select(sq.Select("id + 10", "owner_id", "name").From("pets"))
	}, 3),
	"Options": changes(func(b sq.StatementBuilderType) exec { return b.Insert("pets").Options("OR REPLACE").Values(1, 1, "x") }, 1),
	"Prefix":  changes(func(b sq.StatementBuilderType) exec { return b.Insert("pets").Prefix("/* app */").Values(9, 1, "x") }, 1),
	"Suffix": changes(func(b sq.StatementBuilderType) exec {
		return b.Insert("pets").Values(1, 1, "x").Suffix("ON CONFLICT DO NOTHING")
	}, 0),
	"SuffixExpr": changes(func(b sq.StatementBuilderType) exec {
		return b.Insert("pets").Values(9, 1, "x").SuffixExpr(sq.Expr("RETURNING id"))
	}, 1),
	"Replace": changes(func(b sq.StatementBuilderType) exec { return b.Replace("pets").Values(1, 1, "x") }, 1),
}

var updates = map[string]methods.Try{
	"Set": changes(func(b sq.StatementBuilderType) exec { return b.Update("pets").Set("name", "x").Where(sq.Eq{"id": 1}) }, 1),
	"SetMap": changes(func(b sq.StatementBuilderType) exec {
		return b.Update("pets").SetMap(map[string]any{"name": "x", "owner_id": 2}).Where("id < ?", 3)
	}, 2),
	"Table": changes(func(b sq.StatementBuilderType) exec {
		return b.Update("").Table("pets").Set("name", sq.Expr("upper(name)")).Where("id = 1")
	}, 1),
	"Where": changes(func(b sq.StatementBuilderType) exec {
		return b.Update("pets").Set("name", "x").Where(sq.Or{sq.Eq{"id": 1}, sq.Like{"name": "c%"}})
	}, 2),
	"From": changes(func(b sq.StatementBuilderType) exec {
		return b.Update("pets").Set("name", sq.Expr("o.oname")).From("(SELECT id AS oid, name AS oname FROM owners) AS o").Where("pets.owner_id = o.oid")
	}, 3),
	"FromSelect": changes(func(b sq.StatementBuilderType) exec {
		return b.Update("pets").Set("name", sq.Expr("o.oname")).FromSelect(sq.Select("id AS oid", "name AS oname").From("owners"), "o").Where("pets.owner_id = o.oid")
	}, 3),
	"OrderBy": changes(func(b sq.StatementBuilderType) exec {
		return b.Update("pets").Set("name", "x").Where("id > 0").OrderBy("id")
	}, 3),
	"Limit": changes(func(b sq.StatementBuilderType) exec {
		return b.Update("pets").Set("name", "x").Where("id > 0").Limit(1)
	}, 1),
	"Offset": changes(func(b sq.StatementBuilderType) exec {
		return b.Update("pets").Set("name", "x").Where("id > 0").Offset(1)
	}, 1),
	"Prefix": changes(func(b sq.StatementBuilderType) exec {
		return b.Update("pets").Prefix("/* app */").Set("name", "x").Where("id = 1")
	}, 1),
	"Suffix": changes(func(b sq.StatementBuilderType) exec {
		return b.Update("pets").Set("name", "x").Where("id = 1").Suffix("RETURNING id")
	}, 1),
}

var deletes = map[string]methods.Try{
	"From":    changes(func(b sq.StatementBuilderType) exec { return b.Delete("").From("pets").Where("id = 1") }, 1),
	"Where":   changes(func(b sq.StatementBuilderType) exec { return b.Delete("pets").Where(sq.Eq{"owner_id": 1}) }, 2),
	"OrderBy": changes(func(b sq.StatementBuilderType) exec { return b.Delete("pets").Where("id > 0").OrderBy("id") }, 3),
	"Limit":   changes(func(b sq.StatementBuilderType) exec { return b.Delete("pets").Where("id > 0").Limit(1) }, 1),
	"Offset":  changes(func(b sq.StatementBuilderType) exec { return b.Delete("pets").Where("id > 0").Offset(1) }, 1),
	"Prefix":  changes(func(b sq.StatementBuilderType) exec { return b.Delete("pets").Prefix("/* app */").Where("id = 1") }, 1),
	"Suffix":  changes(func(b sq.StatementBuilderType) exec { return b.Delete("pets").Where("id = 1").Suffix("RETURNING id") }, 1),
}

// TestMethods: what squirrel's builders write works, or an error says what to write instead.
func TestMethods(t *testing.T) {
	const same = "Exec ExecContext Query QueryContext QueryRow QueryRowContext RunWith PlaceholderFormat ToSql MustSql "
	methods.Page(t, "../../../docs/libraries/squirrel.md", "TestMethods", []methods.Builder{
		{Name: "SelectBuilder", Of: reflect.TypeFor[sq.SelectBuilder](), Tries: selects, Plumbing: same},
		{Name: "InsertBuilder", Of: reflect.TypeFor[sq.InsertBuilder](), Tries: inserts, Plumbing: same + "PrefixExpr Scan ScanContext"},
		{Name: "UpdateBuilder", Of: reflect.TypeFor[sq.UpdateBuilder](), Tries: updates, Plumbing: same + "PrefixExpr SuffixExpr Scan ScanContext"},
		{Name: "DeleteBuilder", Of: reflect.TypeFor[sq.DeleteBuilder](), Tries: deletes, Plumbing: same + "PrefixExpr SuffixExpr Scan ScanContext"},
	})
}
