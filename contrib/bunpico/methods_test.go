package bunpico

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/picodata/go-picodata/contrib/internal/methods"
)

type owner struct {
	bun.BaseModel `bun:"table:owners,alias:o"`

	ID   int64 `bun:",pk"`
	Name string
	Pets []*pet `bun:"rel:has-many,join:id=owner_id"`
}

type pet struct {
	bun.BaseModel `bun:"table:pets,alias:p"`

	ID      int64 `bun:",pk"`
	OwnerID int64
	Name    string
	Owner   *owner `bun:"rel:belongs-to,join:owner_id=id"`
}

// plumbing are methods that change nothing of what is sent.
var plumbing = strings.Fields(`AppendNamedArg AppendQuery Clone Comment Conn DB Dialect Err GetModel GetTableName NewAddColumn NewCreateIndex
	NewCreateTable NewDelete NewDropColumn NewDropIndex NewDropTable NewInsert NewRaw NewSelect NewTruncateTable NewUpdate NewValues
	Operation QueryBuilder String FQN`)

// mysql are index hints, which bun leaves out for every database but MySQL.
var mysql = strings.Fields(`ForceIndex ForceIndexForGroupBy ForceIndexForJoin ForceIndexForOrderBy IgnoreIndex IgnoreIndexForGroupBy IgnoreIndexForJoin
	IgnoreIndexForOrderBy UseIndex UseIndexForGroupBy UseIndexForJoin UseIndexForOrderBy`)

type run = func(ctx context.Context, db *bun.DB) error

func selects(q func(db *bun.DB) *bun.SelectQuery, rows int) run {
	return func(ctx context.Context, db *bun.DB) error {
		n, err := q(db).Count(ctx)
		return methods.Want(err, int(n), rows)
	}
}

func scans(q func(db *bun.DB, into *[]pet) *bun.SelectQuery, names string) run {
	return func(ctx context.Context, db *bun.DB) error {
		var list []pet
		err := q(db, &list).Scan(ctx)
		var got []string
		for _, p := range list {
			got = append(got, p.Name)
		}
		return methods.Want(err, strings.Join(got, ""), names)
	}
}

var queries = map[string]struct {
	kind reflect.Type
	run  map[string]run
}{
	"NewSelect": {reflect.TypeFor[*bun.SelectQuery](), map[string]run{
		"Model": selects(func(db *bun.DB) *bun.SelectQuery { return db.NewSelect().Model((*pet)(nil)) }, 3),
		"Apply": selects(func(db *bun.DB) *bun.SelectQuery {
			return db.NewSelect().Model((*pet)(nil)).Apply(func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("id = 1") })
		}, 1),
		"ApplyQueryBuilder": selects(func(db *bun.DB) *bun.SelectQuery {
			return db.NewSelect().Model((*pet)(nil)).ApplyQueryBuilder(func(q bun.QueryBuilder) bun.QueryBuilder { return q.Where("id = 1") })
		}, 1),
		"Column": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery {
			return db.NewSelect().Model(l).Column("name").Order("name")
		}, "abc"),
		"ColumnExpr": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery {
			return db.NewSelect().Model(l).ColumnExpr("id, upper(name) AS name").Where("id = 1")
		}, "A"),
		"ExcludeColumn": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery {
			return db.NewSelect().Model(l).ExcludeColumn("owner_id").Order("id")
		}, "abc"),
		"Count": selects(func(db *bun.DB) *bun.SelectQuery { return db.NewSelect().Model((*pet)(nil)) }, 3),
		"Distinct": selects(func(db *bun.DB) *bun.SelectQuery {
			return db.NewSelect().Model((*pet)(nil)).Distinct().Column("owner_id")
		}, 2),
		"DistinctOn": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery { return db.NewSelect().Model(l).DistinctOn("owner_id") }, ""),
		"Union": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery {
			return db.NewSelect().Model(l).Where("id = 1").Union(db.NewSelect().Model(l).Where("id = 1"))
		}, "a"),
		"UnionAll": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery {
			return db.NewSelect().Model(l).Where("id = 1").UnionAll(db.NewSelect().Model(l).Where("id = 1"))
		}, "aa"),
		"Except": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery {
			return db.NewSelect().Model(l).Where("id < 3").Except(db.NewSelect().Model(l).Where("id = 1"))
		}, "b"),
		"ExceptAll": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery {
			return db.NewSelect().Model(l).ExceptAll(db.NewSelect().Model(l))
		}, ""),
		"Intersect": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery {
			return db.NewSelect().Model(l).Intersect(db.NewSelect().Model(l))
		}, ""),
		"IntersectAll": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery {
			return db.NewSelect().Model(l).IntersectAll(db.NewSelect().Model(l))
		}, ""),
		"Exec": func(ctx context.Context, db *bun.DB) error {
			_, err := db.NewSelect().Model((*pet)(nil)).Exec(ctx)
			return err
		},
		"Exists": func(ctx context.Context, db *bun.DB) error {
			ok, err := db.NewSelect().Model((*pet)(nil)).Where("id = 1").Exists(ctx)
			return methods.Want(err, ok, true)
		},
		"For": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery { return db.NewSelect().Model(l).For("UPDATE") }, ""),
		"Group": func(ctx context.Context, db *bun.DB) error {
			var l []int64
			err := db.NewSelect().Model((*pet)(nil)).Column("owner_id").Group("owner_id").Order("owner_id").Scan(ctx, &l)
			return methods.Want(err, l, []int64{1, 2})
		},
		"GroupExpr": func(ctx context.Context, db *bun.DB) error {
			var l []int64
			err := db.NewSelect().Model((*pet)(nil)).ColumnExpr("owner_id + 1 AS o").GroupExpr("owner_id + 1").OrderExpr("o").Scan(ctx, &l)
			return methods.Want(err, l, []int64{2, 3})
		},
		"Having": func(ctx context.Context, db *bun.DB) error {
			var l []int64
			err := db.NewSelect().Model((*pet)(nil)).Column("owner_id").Group("owner_id").Having("count(*) > ?", 1).Scan(ctx, &l)
			return methods.Want(err, l, []int64{1})
		},
		"Join": selects(func(db *bun.DB) *bun.SelectQuery {
			return db.NewSelect().Model((*pet)(nil)).Join("INNER JOIN owners AS w ON w.id = p.owner_id")
		}, 3),
		"JoinOn": selects(func(db *bun.DB) *bun.SelectQuery {
			return db.NewSelect().Model((*pet)(nil)).Join("INNER JOIN owners AS w").JoinOn("w.id = p.owner_id")
		}, 3),
		"JoinOnOr": selects(func(db *bun.DB) *bun.SelectQuery {
			return db.NewSelect().Model((*pet)(nil)).Join("INNER JOIN owners AS w").JoinOn("w.id = p.owner_id").JoinOnOr("w.id = p.id")
		}, 4),
		"Limit":  scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery { return db.NewSelect().Model(l).Order("id").Limit(2) }, "ab"),
		"Offset": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery { return db.NewSelect().Model(l).Offset(1) }, ""),
		"Order":  scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery { return db.NewSelect().Model(l).Order("id DESC") }, "cba"),
		"OrderBy": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery {
			return db.NewSelect().Model(l).OrderBy("id", bun.OrderDesc)
		}, "cba"),
		"OrderExpr": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery { return db.NewSelect().Model(l).OrderExpr("id DESC") }, "cba"),
		"ModelTableExpr": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery {
			return db.NewSelect().Model(l).ModelTableExpr("pets AS p").Order("id")
		}, "abc"),
		"Relation": func(ctx context.Context, db *bun.DB) error {
			var p pet
			if err := db.NewSelect().Model(&p).Relation("Owner").Where("p.id = 1").Scan(ctx); err != nil {
				return err
			}
			return methods.Want(nil, p.Owner.Name, "one")
		},
		"RelationWithOpts": func(ctx context.Context, db *bun.DB) error {
			var o owner
			if err := db.NewSelect().Model(&o).RelationWithOpts("Pets", bun.RelationOpts{}).Where("o.id = 1").Scan(ctx); err != nil {
				return err
			}
			return methods.Want(nil, len(o.Pets), 2)
		},
		"Rows": func(ctx context.Context, db *bun.DB) error {
			r, err := db.NewSelect().Model((*pet)(nil)).Rows(ctx)
			if err != nil {
				return err
			}
			return r.Close()
		},
		"Scan": scans(func(db *bun.DB, l *[]pet) *bun.SelectQuery { return db.NewSelect().Model(l).Order("id") }, "abc"),
		"ScanAndCount": func(ctx context.Context, db *bun.DB) error {
			var l []pet
			n, err := db.NewSelect().Model(&l).ScanAndCount(ctx)
			return methods.Want(err, int(n)+len(l), 6)
		},
		"Table":     selects(func(db *bun.DB) *bun.SelectQuery { return db.NewSelect().Table("pets") }, 3),
		"TableExpr": selects(func(db *bun.DB) *bun.SelectQuery { return db.NewSelect().TableExpr("pets AS x") }, 3),
		"Where":     selects(func(db *bun.DB) *bun.SelectQuery { return db.NewSelect().Model((*pet)(nil)).Where("name = ?", "a") }, 1),
		"WhereOr": selects(func(db *bun.DB) *bun.SelectQuery {
			return db.NewSelect().Model((*pet)(nil)).Where("id = 1").WhereOr("id = 2")
		}, 2),
		"WhereGroup": selects(func(db *bun.DB) *bun.SelectQuery {
			return db.NewSelect().Model((*pet)(nil)).WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("id = 1").WhereOr("id = 2") })
		}, 2),
		"WherePK": selects(func(db *bun.DB) *bun.SelectQuery { return db.NewSelect().Model(&pet{ID: 1}).WherePK() }, 1),
		"With": selects(func(db *bun.DB) *bun.SelectQuery {
			return db.NewSelect().With("x", db.NewSelect().Model((*pet)(nil)).Where("id < 3")).Table("x")
		}, 2),
		"WithQuery": selects(func(db *bun.DB) *bun.SelectQuery {
			return db.NewSelect().WithQuery(bun.NewWithQuery("x", db.NewSelect().Model((*pet)(nil)))).Table("x")
		}, 3),
		"WithRecursive": selects(func(db *bun.DB) *bun.SelectQuery {
			return db.NewSelect().WithRecursive("x", db.NewSelect().Model((*pet)(nil))).Table("x")
		}, 3),
	}},
	"NewInsert": {reflect.TypeFor[*bun.InsertQuery](), map[string]run{
		"Model": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewInsert().Model(&[]pet{{ID: 8}, {ID: 9}}).Exec(ctx))(2)
		},
		"Exec": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewInsert().Model(&pet{ID: 9}).Exec(ctx))(1)
		},
		"Ignore": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewInsert().Model(&pet{ID: 1}).Ignore().Exec(ctx))(0)
		},
		"On": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewInsert().Model(&pet{ID: 1}).On("CONFLICT DO REPLACE").Exec(ctx))(1)
		},
		"Set": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewInsert().Model(&pet{ID: 1}).On("CONFLICT (id) DO UPDATE").Set("name = 'x'").Exec(ctx))(1)
		},
		"Returning": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewInsert().Model(&pet{ID: 9}).Returning("*").Exec(ctx))(1)
		},
		"Column": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewInsert().Model(&pet{ID: 9}).Column("id").Exec(ctx))(1)
		},
		"Value": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewInsert().Model(&pet{ID: 9}).Value("name", "upper('x')").Exec(ctx))(1)
		},
		"Table": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewInsert().Model(&map[string]any{"id": 9}).Table("pets").Exec(ctx))(1)
		},
	}},
	"NewUpdate": {reflect.TypeFor[*bun.UpdateQuery](), map[string]run{
		"Model": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewUpdate().Model(&pet{ID: 1, Name: "x"}).WherePK().Exec(ctx))(1)
		},
		"Exec": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewUpdate().Model(&pet{ID: 1, Name: "x"}).WherePK().Exec(ctx))(1)
		},
		"Set": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewUpdate().Model((*pet)(nil)).Set("name = ?", "x").Where("id < 3").Exec(ctx))(2)
		},
		"SetColumn": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewUpdate().Model((*pet)(nil)).SetColumn("name", "upper(name)").Where("id = 1").Exec(ctx))(1)
		},
		"OmitZero": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewUpdate().Model(&pet{ID: 1, Name: "x"}).OmitZero().WherePK().Exec(ctx))(1)
		},
		"Bulk": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewUpdate().Model(&[]pet{{ID: 1, Name: "x"}}).Column("name").Bulk().Exec(ctx))(1)
		},
		"Limit": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewUpdate().Model((*pet)(nil)).Set("name = 'x'").Where("id > 0").Limit(1).Exec(ctx))(1)
		},
		"Order": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewUpdate().Model((*pet)(nil)).Set("name = 'x'").Where("id > 0").Order("id").Exec(ctx))(3)
		},
		"Returning": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewUpdate().Model(&pet{ID: 1}).WherePK().Returning("*").Exec(ctx))(1)
		},
	}},
	"NewDelete": {reflect.TypeFor[*bun.DeleteQuery](), map[string]run{
		"Model": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewDelete().Model(&pet{ID: 1}).WherePK().Exec(ctx))(1)
		},
		"Exec": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewDelete().Model((*pet)(nil)).Where("id > 1").Exec(ctx))(2)
		},
		"Limit": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewDelete().Model((*pet)(nil)).Where("id > 0").Limit(1).Exec(ctx))(1)
		},
		"Order": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewDelete().Model((*pet)(nil)).Where("id > 0").Order("id").Exec(ctx))(3)
		},
		"Returning": func(ctx context.Context, db *bun.DB) error {
			return methods.Affected(db.NewDelete().Model(&pet{ID: 1}).WherePK().Returning("*").Exec(ctx))(1)
		},
	}},
	"NewCreateTable": {reflect.TypeFor[*bun.CreateTableQuery](), map[string]run{
		"Model": func(ctx context.Context, db *bun.DB) error {
			_, err := db.NewCreateTable().Model((*pair)(nil)).Exec(ctx)
			return err
		},
		"IfNotExists": func(ctx context.Context, db *bun.DB) error {
			_, err := db.NewCreateTable().Model((*pet)(nil)).IfNotExists().Exec(ctx)
			return err
		},
		"ForeignKey": func(ctx context.Context, db *bun.DB) error {
			_, err := db.NewCreateTable().Model((*pair)(nil)).ForeignKey("(n) REFERENCES pets (id)").Exec(ctx)
			return err
		},
		"WithForeignKeys": func(ctx context.Context, db *bun.DB) error {
			_, err := db.NewCreateTable().Model((*pet)(nil)).WithForeignKeys().Exec(ctx)
			return err
		},
		"PartitionBy": func(ctx context.Context, db *bun.DB) error {
			_, err := db.NewCreateTable().Model((*pair)(nil)).PartitionBy("HASH (n)").Exec(ctx)
			return err
		},
		"TableSpace": func(ctx context.Context, db *bun.DB) error {
			_, err := db.NewCreateTable().Model((*pair)(nil)).TableSpace("x").Exec(ctx)
			return err
		},
		"Temp": func(ctx context.Context, db *bun.DB) error {
			_, err := db.NewCreateTable().Model((*pair)(nil)).Temp().Exec(ctx)
			return err
		},
	}},
	"NewMerge": {nil, map[string]run{
		"Using": func(ctx context.Context, db *bun.DB) error {
			_, err := db.NewMerge().Model(&pet{ID: 1}).Using("owners").On("true").Exec(ctx)
			return err
		},
	}},
}

// TestMethods: what bun's query builders ask for works, or says why not. docs/libraries/bun.md has the table; UPDATE_DOCS=1 writes it.
func TestMethods(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| builder | methods | outcome | in words |\n| --- | --- | --- | --- |\n")
	for _, builder := range []string{"NewSelect", "NewInsert", "NewUpdate", "NewDelete", "NewCreateTable", "NewMerge"} {
		q := queries[builder]
		if builder == "NewSelect" {
			for i := range q.kind.NumMethod() {
				name := q.kind.Method(i).Name
				if q.run[name] == nil && !slices.Contains(plumbing, name) && !slices.Contains(mysql, name) && name != "WhereDeleted" && name != "WhereAllWithDeleted" {
					t.Errorf("%s.%s isn't tried", builder, name)
				}
			}
		}
		var works, refused []string
		names := make([]string, 0, len(q.run))
		for name := range q.run {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			_, db := start(t, "")
			db = db.WithQueryHook(Hook())
			for _, model := range []any{(*owner)(nil), (*pet)(nil)} {
				if err := CreateTable(t.Context(), db, model, Placement{}, nil); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := db.NewInsert().Model(&[]owner{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}}).Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := db.NewInsert().Model(&[]pet{{ID: 1, OwnerID: 1, Name: "a"}, {ID: 2, OwnerID: 1, Name: "b"}, {ID: 3, OwnerID: 2, Name: "c"}}).Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
			switch err := q.run[name](t.Context(), db); {
			case err == nil:
				works = append(works, "`"+name+"`")
			case strings.HasPrefix(err.Error(), "bunpico: "), strings.HasPrefix(err.Error(), "bun: "):
				refused = append(refused, fmt.Sprintf("| `%s` | `%s` | explained error | %s |", builder, name, strings.ReplaceAll(err.Error(), "|", `\|`)))
			default:
				t.Errorf("%s.%s fails without an explanation: %v", builder, name, err)
			}
		}
		if len(works) > 0 {
			fmt.Fprintf(&b, "| `%s` | %s | works | |\n", builder, strings.Join(works, ", "))
		}
		if len(refused) > 0 {
			b.WriteString(strings.Join(refused, "\n") + "\n")
		}
	}
	b.WriteString("<!-- holds: TestMethods -->\n\nNone is silent with `bunpico.NewDB`: each was run against a cluster, its result compared, by `TestMethods`. Of the others `Where…`, `With…`, `Table…`, `Column…`, `Apply` and `Join…` of writes are those of " +
		"`NewSelect`; `Use…`, `Force…` and `IgnoreIndex…` are MySQL's, and bun leaves them out for every other database.\n\n")
	methods.InDocument(t, "../../docs/libraries/bun.md", b.String())
}
