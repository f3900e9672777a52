package main

import (
	"context"
	"database/sql"
	"reflect"
	"testing"

	"github.com/doug-martin/goqu/v9"

	"github.com/picodata/go-picodata/contrib/internal/methods"
)

type set = *goqu.SelectDataset

// finds compares the texts of the one column that a SELECT gives.
func finds(q func(db *goqu.Database) set, want ...string) methods.Try {
	return func(ctx context.Context, db *sql.DB) error {
		var got []string
		err := q(goqu.New("picodata", db)).ScanValsContext(ctx, &got)
		return methods.Want(err, got, want)
	}
}

// all selects the pets' names.
func all(db *goqu.Database) set { return db.From("pets").Select("name").Order(goqu.C("name").Asc()) }

// joined is a SELECT of an owner's name by one of goqu's joins.
func joined(join func(q set) set, want ...string) methods.Try {
	return finds(func(db *goqu.Database) set {
		return join(db.From("pets").Select(goqu.I("owners.name"))).Where(goqu.I("pets.id").Eq(3))
	}, want...)
}

var onOwner = goqu.On(goqu.I("owners.id").Eq(goqu.I("pets.owner_id")))

func id(n int) goqu.Expression { return goqu.C("id").Eq(n) }

// runs compares the number of rows that a write changes.
func runs(q func(db *goqu.Database) interface {
	ToSQL() (string, []any, error)
}, rows int64) methods.Try {
	return func(ctx context.Context, db *sql.DB) error {
		query, args, err := q(goqu.New("picodata", db)).ToSQL()
		if err != nil {
			return err
		}
		return methods.Affected(db.ExecContext(ctx, query, args...))(rows)
	}
}

type write = interface {
	ToSQL() (string, []any, error)
}

func nine() goqu.Record { return goqu.Record{"id": 9, "name": "x"} }

var selects = map[string]methods.Try{
	"From":             finds(all, "a", "b", "c"),
	"FromSelf":         finds(func(db *goqu.Database) set { return db.From("pets").Select("name").Where(id(1)).FromSelf() }, "a"),
	"CompoundFromSelf": finds(func(db *goqu.Database) set { return db.From("pets").Select("name").Where(id(1)).CompoundFromSelf() }, "a"),
	"As": finds(func(db *goqu.Database) set {
		return db.From(db.From("pets").Select("name").Where(id(1)).As("x")).Select("name")
	}, "a"),
	"Select": finds(func(db *goqu.Database) set {
		return db.From("pets").Select(goqu.Func("upper", goqu.C("name"))).Where(id(1))
	}, "A"),
	"SelectAppend": finds(func(db *goqu.Database) set { return db.From("pets").Select().SelectAppend("name").Where(id(1)) }, "a"),
	"SelectDistinct": finds(func(db *goqu.Database) set {
		return db.From("pets").SelectDistinct("owner_id").Order(goqu.C("owner_id").Asc())
	}, "1", "2"),
	"ClearSelect": finds(func(db *goqu.Database) set {
		return db.From("pets").Select("id").ClearSelect().Select("name").Where(id(1))
	}, "a"),
	"Distinct": finds(func(db *goqu.Database) set {
		return db.From("pets").Select("owner_id").Distinct().Order(goqu.C("owner_id").Asc())
	}, "1", "2"),
	"Where":      finds(func(db *goqu.Database) set { return all(db).Where(goqu.Or(id(1), goqu.C("name").In("b", "x"))) }, "a", "b"),
	"ClearWhere": finds(func(db *goqu.Database) set { return all(db).Where(id(1)).ClearWhere() }, "a", "b", "c"),
	"Prepared": finds(func(db *goqu.Database) set {
		return all(db).Prepared(true).Where(goqu.C("id").Between(goqu.Range(1, 2)))
	}, "a", "b"),
	"Order":        finds(func(db *goqu.Database) set { return db.From("pets").Select("name").Order(goqu.C("name").Desc()) }, "c", "b", "a"),
	"OrderAppend":  finds(func(db *goqu.Database) set { return db.From("pets").Select("name").OrderAppend(goqu.C("name").Desc()) }, "c", "b", "a"),
	"OrderPrepend": finds(func(db *goqu.Database) set { return all(db).OrderPrepend(goqu.C("name").Desc()) }, "c", "b", "a"),
	"ClearOrder":   finds(func(db *goqu.Database) set { return all(db).ClearOrder().Where(id(1)) }, "a"),
	"Limit":        finds(func(db *goqu.Database) set { return all(db).Limit(2) }, "a", "b"),
	"LimitAll":     finds(func(db *goqu.Database) set { return all(db).LimitAll() }, "a", "b", "c"),
	"ClearLimit":   finds(func(db *goqu.Database) set { return all(db).Limit(1).ClearLimit() }, "a", "b", "c"),
	"Offset":       finds(func(db *goqu.Database) set { return all(db).Limit(1).Offset(1) }, "b"),
	"ClearOffset":  finds(func(db *goqu.Database) set { return all(db).Limit(1).Offset(1).ClearOffset() }, "a"),
	"GroupBy": finds(func(db *goqu.Database) set {
		return db.From("pets").Select("owner_id").GroupBy("owner_id").Order(goqu.C("owner_id").Asc())
	}, "1", "2"),
	"GroupByAppend": finds(func(db *goqu.Database) set {
		return db.From("pets").Select("owner_id").GroupByAppend("owner_id").Order(goqu.C("owner_id").Asc())
	}, "1", "2"),
	"Having": finds(func(db *goqu.Database) set {
		return db.From("pets").Select("owner_id").GroupBy("owner_id").Having(goqu.COUNT(goqu.Star()).Gt(1))
	}, "1"),
	"Join":             joined(func(q set) set { return q.Join(goqu.T("owners"), onOwner) }, "two"),
	"InnerJoin":        joined(func(q set) set { return q.InnerJoin(goqu.T("owners"), onOwner) }, "two"),
	"LeftJoin":         joined(func(q set) set { return q.LeftJoin(goqu.T("owners"), onOwner) }, "two"),
	"LeftOuterJoin":    joined(func(q set) set { return q.LeftOuterJoin(goqu.T("owners"), onOwner) }, "two"),
	"RightJoin":        joined(func(q set) set { return q.RightJoin(goqu.T("owners"), onOwner) }, "two"),
	"RightOuterJoin":   joined(func(q set) set { return q.RightOuterJoin(goqu.T("owners"), onOwner) }, "two"),
	"FullJoin":         joined(func(q set) set { return q.FullJoin(goqu.T("owners"), onOwner) }, "two"),
	"FullOuterJoin":    joined(func(q set) set { return q.FullOuterJoin(goqu.T("owners"), onOwner) }, "two"),
	"CrossJoin":        joined(func(q set) set { return q.CrossJoin(goqu.T("owners")) }, "one", "two"),
	"NaturalJoin":      joined(func(q set) set { return q.NaturalJoin(goqu.T("owners")) }),
	"NaturalLeftJoin":  joined(func(q set) set { return q.NaturalLeftJoin(goqu.T("owners")) }),
	"NaturalRightJoin": joined(func(q set) set { return q.NaturalRightJoin(goqu.T("owners")) }),
	"NaturalFullJoin":  joined(func(q set) set { return q.NaturalFullJoin(goqu.T("owners")) }),
	"Union": finds(func(db *goqu.Database) set {
		return db.From("pets").Select("name").Where(id(1)).Union(db.From("pets").Select("name").Where(id(1)))
	}, "a"),
	"UnionAll": finds(func(db *goqu.Database) set {
		return db.From("pets").Select("name").Where(id(1)).UnionAll(db.From("pets").Select("name").Where(id(1)))
	}, "a", "a"),
	"Intersect": finds(func(db *goqu.Database) set {
		return db.From("pets").Select("name").Intersect(db.From("pets").Select("name"))
	}, "a"),
	"IntersectAll": finds(func(db *goqu.Database) set {
		return db.From("pets").Select("name").IntersectAll(db.From("pets").Select("name"))
	}, "a"),
	"ForUpdate":      finds(func(db *goqu.Database) set { return all(db).ForUpdate(goqu.Wait) }, "a"),
	"ForNoKeyUpdate": finds(func(db *goqu.Database) set { return all(db).ForNoKeyUpdate(goqu.Wait) }, "a"),
	"ForShare":       finds(func(db *goqu.Database) set { return all(db).ForShare(goqu.Wait) }, "a"),
	"ForKeyShare":    finds(func(db *goqu.Database) set { return all(db).ForKeyShare(goqu.Wait) }, "a"),
	"With": finds(func(db *goqu.Database) set {
		return db.From("x").Select("name").With("x", db.From("pets").Where(id(1)))
	}, "a"),
	"WithRecursive": finds(func(db *goqu.Database) set {
		return db.From("x").Select("name").WithRecursive("x", db.From("pets").Where(id(1)))
	}, "a"),
	"Window": finds(func(db *goqu.Database) set {
		return db.From("pets").Select(goqu.ROW_NUMBER().OverName(goqu.I("w"))).Where(id(1)).Window(goqu.W("w").OrderBy("id"))
	}, "1"),
	"WindowAppend": finds(func(db *goqu.Database) set {
		return db.From("pets").Select(goqu.ROW_NUMBER().OverName(goqu.I("w"))).Where(id(1)).WindowAppend(goqu.W("w").OrderBy("id"))
	}, "1"),
	"ClearWindow": finds(func(db *goqu.Database) set { return all(db).Window(goqu.W("w").OrderBy("id")).ClearWindow() }, "a", "b", "c"),
	"Count": func(_ context.Context, db *sql.DB) error {
		n, err := goqu.New("picodata", db).From("pets").Count()
		return methods.Want(err, n, int64(3))
	},
	"CountContext": func(ctx context.Context, db *sql.DB) error {
		n, err := goqu.New("picodata", db).From("pets").CountContext(ctx)
		return methods.Want(err, n, int64(3))
	},
	"Pluck": func(_ context.Context, db *sql.DB) error {
		var got []string
		err := goqu.New("picodata", db).From("pets").Where(id(1)).Pluck(&got, "name")
		return methods.Want(err, got, []string{"a"})
	},
	"PluckContext": func(ctx context.Context, db *sql.DB) error {
		var got []string
		err := goqu.New("picodata", db).From("pets").Where(id(1)).PluckContext(ctx, &got, "name")
		return methods.Want(err, got, []string{"a"})
	},
	"ScanStruct": func(_ context.Context, db *sql.DB) error {
		var c city
		_, err := goqu.New("picodata", db).From("pets").Select("id", "name").Where(id(2)).ScanStruct(&c)
		return methods.Want(err, c, city{2, "b"})
	},
	"ScanStructs": func(_ context.Context, db *sql.DB) error {
		var l []city
		err := goqu.New("picodata", db).From("pets").Select("id", "name").Order(goqu.C("id").Asc()).ScanStructs(&l)
		return methods.Want(err, len(l), 3)
	},
	"ScanVal": func(_ context.Context, db *sql.DB) error {
		var n int
		_, err := goqu.New("picodata", db).From("pets").Select(goqu.COUNT(goqu.Star())).ScanVal(&n)
		return methods.Want(err, n, 3)
	},
	"ScanVals": func(_ context.Context, db *sql.DB) error {
		var l []int
		err := goqu.New("picodata", db).From("pets").Select("id").Order(goqu.C("id").Asc()).ScanVals(&l)
		return methods.Want(err, l, []int{1, 2, 3})
	},
	"Insert": runs(func(db *goqu.Database) write { return db.From("pets").Insert().Rows(nine()) }, 1),
	"Update": runs(func(db *goqu.Database) write {
		return db.From("pets").Where(id(1)).Update().Set(goqu.Record{"name": "x"})
	}, 1),
	"Delete":   runs(func(db *goqu.Database) write { return db.From("pets").Where(id(1)).Delete() }, 1),
	"Truncate": runs(func(db *goqu.Database) write { return db.From("pets").Truncate() }, 0),
}

var inserts = map[string]methods.Try{
	"Rows": runs(func(db *goqu.Database) write {
		return db.Insert("pets").Prepared(true).Rows(goqu.Record{"id": 8, "name": "x"}, nine())
	}, 2),
	"Cols": runs(func(db *goqu.Database) write { return db.Insert("pets").Cols("id", "name").Vals(goqu.Vals{9, "x"}) }, 1),
	"ColsAppend": runs(func(db *goqu.Database) write {
		return db.Insert("pets").Cols("id").ColsAppend("name").Vals(goqu.Vals{9, "x"})
	}, 1),
	"Vals": runs(func(db *goqu.Database) write {
		return db.Insert("pets").Cols("id", "name").Vals(goqu.Vals{8, "x"}, goqu.Vals{9, "y"})
	}, 2),
	"FromQuery": runs(func(db *goqu.Database) write {
		return db.Insert("pets").Cols("id", "name").FromQuery(db.From("pets").Select(goqu.L("id + 10"), goqu.C("name")))
	}, 3),
	"Into": runs(func(db *goqu.Database) write { return db.Insert("x").Into("pets").Rows(nine()) }, 1),
	"OnConflict": runs(func(db *goqu.Database) write {
		return db.Insert("pets").Rows(goqu.Record{"id": 1, "name": "x"}).OnConflict(goqu.DoNothing())
	}, 0),
	"OnConflict(DoUpdate)": runs(func(db *goqu.Database) write {
		return db.Insert("pets").Rows(goqu.Record{"id": 1, "name": "x"}).OnConflict(goqu.DoUpdate("id", goqu.Record{"name": "x"}))
	}, 1),
	"Returning": runs(func(db *goqu.Database) write { return db.Insert("pets").Rows(nine()).Returning("id") }, 1),
	"With": runs(func(db *goqu.Database) write {
		return db.Insert("pets").With("x", db.From("pets")).Cols("id").FromQuery(db.From("x").Select(goqu.L("id + 10")))
	}, 3),
	"WithRecursive": runs(func(db *goqu.Database) write {
		return db.Insert("pets").WithRecursive("x", db.From("pets")).Rows(nine())
	}, 1),
}

var updates = map[string]methods.Try{
	"Set": runs(func(db *goqu.Database) write {
		return db.Update("pets").Prepared(true).Set(goqu.Record{"name": "x"}).Where(id(1))
	}, 1),
	"Table": runs(func(db *goqu.Database) write {
		return db.Update("x").Table("pets").Set(goqu.Record{"name": goqu.L("upper(name)")}).Where(id(1))
	}, 1),
	"From": runs(func(db *goqu.Database) write {
		return db.Update("pets").From(db.From("owners").Select(goqu.C("id").As("oid"), goqu.C("name").As("oname")).As("o")).Set(goqu.Record{"name": goqu.I("o.oname")}).Where(goqu.I("pets.owner_id").Eq(goqu.I("o.oid")))
	}, 3),
	"Where": runs(func(db *goqu.Database) write {
		return db.Update("pets").Set(goqu.Record{"name": "x"}).Where(goqu.C("id").Gt(1))
	}, 2),
	"Order": runs(func(db *goqu.Database) write {
		return db.Update("pets").Set(goqu.Record{"name": "x"}).Where(id(1)).Order(goqu.C("id").Asc())
	}, 1),
	"Limit": runs(func(db *goqu.Database) write {
		return db.Update("pets").Set(goqu.Record{"name": "x"}).Where(id(1)).Limit(1)
	}, 1),
	"Returning": runs(func(db *goqu.Database) write {
		return db.Update("pets").Set(goqu.Record{"name": "x"}).Where(id(1)).Returning("id")
	}, 1),
	"With": runs(func(db *goqu.Database) write {
		return db.Update("pets").With("x", db.From("owners")).Set(goqu.Record{"name": "x"}).Where(id(1))
	}, 1),
	"WithRecursive": runs(func(db *goqu.Database) write {
		return db.Update("pets").WithRecursive("x", db.From("owners")).Set(goqu.Record{"name": "x"}).Where(id(1))
	}, 1),
}

var deletes = map[string]methods.Try{
	"From":      runs(func(db *goqu.Database) write { return db.Delete("x").From("pets").Where(id(1)) }, 1),
	"Where":     runs(func(db *goqu.Database) write { return db.Delete("pets").Prepared(true).Where(goqu.C("id").Gt(1)) }, 2),
	"Order":     runs(func(db *goqu.Database) write { return db.Delete("pets").Where(id(1)).Order(goqu.C("id").Asc()) }, 1),
	"Limit":     runs(func(db *goqu.Database) write { return db.Delete("pets").Where(id(1)).Limit(1) }, 1),
	"Returning": runs(func(db *goqu.Database) write { return db.Delete("pets").Where(id(1)).Returning("id") }, 1),
	"With":      runs(func(db *goqu.Database) write { return db.Delete("pets").With("x", db.From("owners")).Where(id(1)) }, 1),
	"WithRecursive": runs(func(db *goqu.Database) write {
		return db.Delete("pets").WithRecursive("x", db.From("owners")).Where(id(1))
	}, 1),
}

// TestMethods: what goqu's datasets write works, or an error says what to write instead.
func TestMethods(t *testing.T) {
	const same = "AppendSQL Clone Dialect Error Executor Expression GetAs GetClauses IsPrepared ReturnsColumns SetDialect SetError ToSQL WithDialect "
	const rest = same + "As ClearLimit ClearOrder ClearWhere LimitAll OrderAppend OrderPrepend Prepared "
	methods.Page(t, "../../../docs/libraries/goqu.md", "TestMethods", []methods.Builder{
		{Name: "SelectDataset", Of: reflect.TypeFor[*goqu.SelectDataset](), Tries: selects,
			Plumbing: same + "ScanStructContext ScanStructsContext ScanValContext ScanValsContext"},
		{Name: "InsertDataset", Of: reflect.TypeFor[*goqu.InsertDataset](), Tries: inserts, Plumbing: rest + "ClearCols ClearOnConflict ClearRows ClearVals"},
		{Name: "UpdateDataset", Of: reflect.TypeFor[*goqu.UpdateDataset](), Tries: updates, Plumbing: rest},
		{Name: "DeleteDataset", Of: reflect.TypeFor[*goqu.DeleteDataset](), Tries: deletes, Plumbing: rest},
	})
}
