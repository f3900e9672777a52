package main

import (
	"context"
	"database/sql"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/picodata/go-picodata/contrib/entpico"
	"github.com/picodata/go-picodata/contrib/internal/methods"
	"github.com/picodata/go-picodata/contrib/libraries/ent/store"
	"github.com/picodata/go-picodata/contrib/libraries/ent/store/city"
	"github.com/picodata/go-picodata/contrib/libraries/ent/store/migrate"
)

// with makes three cities and gives their client.
func with(f func(ctx context.Context, c *store.CityClient) error) methods.Try {
	return func(ctx context.Context, db *sql.DB) error {
		if err := entpico.Create(ctx, db, migrate.Tables...); err != nil {
			return err
		}
		client := store.NewClient(store.Driver(entpico.OpenDB(db, migrate.Tables...))).City
		var list []*store.CityCreate
		for i, name := range []string{"a", "b", "c"} {
			list = append(list, build(client, int64(i+1), name))
		}
		if err := client.CreateBulk(list...).Exec(ctx); err != nil {
			return err
		}
		return f(ctx, client)
	}
}

func build(c *store.CityClient, id int64, name string) *store.CityCreate {
	return c.Create().SetID(id).SetName(name).SetRegion((id + 1) / 2).SetFounded(time.Unix(0, 0))
}

// finds compares the names that a query brings.
func finds(q func(q *store.CityQuery) *store.CityQuery, want string) methods.Try {
	return with(func(ctx context.Context, c *store.CityClient) error {
		list, err := q(c.Query()).All(ctx)
		var got strings.Builder
		for _, one := range list {
			got.WriteString(one.Name)
		}
		return methods.Want(err, got.String(), want)
	})
}

// is compares one value that a query brings.
func is[T any](ask func(ctx context.Context, c *store.CityClient) (T, error), want T) methods.Try {
	return with(func(ctx context.Context, c *store.CityClient) error {
		got, err := ask(ctx, c)
		return methods.Want(err, got, want)
	})
}

func byID(q *store.CityQuery) *store.CityQuery { return q.Order(store.Asc(city.FieldID)) }

type ints = []int

var queries = map[string]methods.Try{
	"All": finds(byID, "abc"),
	"Where": finds(func(q *store.CityQuery) *store.CityQuery {
		return byID(q).Where(city.Or(city.IDIn(1, 9), city.NameHasPrefix("c")))
	}, "ac"),
	"Order":  finds(func(q *store.CityQuery) *store.CityQuery { return q.Order(store.Desc(city.FieldName)) }, "cba"),
	"Limit":  finds(func(q *store.CityQuery) *store.CityQuery { return byID(q).Limit(2) }, "ab"),
	"Offset": finds(func(q *store.CityQuery) *store.CityQuery { return byID(q).Limit(2).Offset(1) }, "bc"),
	"Unique": finds(func(q *store.CityQuery) *store.CityQuery { return byID(q).Unique(true) }, "abc"),
	"Clone":  finds(func(q *store.CityQuery) *store.CityQuery { return byID(q).Clone() }, "abc"),
	"Count":  is(func(ctx context.Context, c *store.CityClient) (int, error) { return c.Query().Count(ctx) }, 3),
	"Exist": is(func(ctx context.Context, c *store.CityClient) (bool, error) {
		return c.Query().Where(city.ID(2)).Exist(ctx)
	}, true),
	"First": is(func(ctx context.Context, c *store.CityClient) (string, error) {
		one, err := byID(c.Query()).First(ctx)
		if err != nil {
			return "", err
		}
		return one.Name, nil
	}, "a"),
	"FirstID": is(func(ctx context.Context, c *store.CityClient) (int64, error) { return byID(c.Query()).FirstID(ctx) }, 1),
	"Only": is(func(ctx context.Context, c *store.CityClient) (int64, error) {
		one, err := c.Query().Where(city.ID(2)).Only(ctx)
		if err != nil {
			return 0, err
		}
		return one.ID, nil
	}, 2),
	"OnlyID": is(func(ctx context.Context, c *store.CityClient) (int64, error) {
		return c.Query().Where(city.Name("c")).OnlyID(ctx)
	}, 3),
	"IDs": is(func(ctx context.Context, c *store.CityClient) ([]int64, error) { return byID(c.Query()).IDs(ctx) }, []int64{1, 2, 3}),
	"Select": is(func(ctx context.Context, c *store.CityClient) ([]string, error) {
		return c.Query().Order(store.Asc(city.FieldName)).Select(city.FieldName).Strings(ctx)
	}, []string{"a", "b", "c"}),
	"GroupBy": is(func(ctx context.Context, c *store.CityClient) (ints, error) {
		return c.Query().Order(store.Asc(city.FieldRegion)).GroupBy(city.FieldRegion).Ints(ctx)
	}, ints{1, 2}),
	"Aggregate": is(func(ctx context.Context, c *store.CityClient) (int, error) {
		return c.Query().Aggregate(store.As(store.Max(city.FieldRegion), "most")).Int(ctx)
	}, 2),
}

var clients = map[string]methods.Try{
	"Create": with(func(ctx context.Context, c *store.CityClient) error { return build(c, 9, "x").Exec(ctx) }),
	"Create without SetID": with(func(ctx context.Context, c *store.CityClient) error {
		return c.Create().SetName("x").SetFounded(time.Unix(0, 0)).Exec(ctx)
	}),
	"CreateBulk": with(func(ctx context.Context, c *store.CityClient) error {
		list, err := c.CreateBulk(build(c, 8, "x"), build(c, 9, "y")).Save(ctx)
		return methods.Want(err, len(list), 2)
	}),
	"MapCreateBulk": with(func(ctx context.Context, c *store.CityClient) error {
		list, err := c.MapCreateBulk([]string{"x", "y"}, func(q *store.CityCreate, i int) {
			q.SetID(int64(8 + i)).SetName("x").SetFounded(time.Unix(0, 0))
		}).Save(ctx)
		return methods.Want(err, len(list), 2)
	}),
	"Get": is(func(ctx context.Context, c *store.CityClient) (string, error) {
		one, err := c.Get(ctx, 2)
		if err != nil {
			return "", err
		}
		return one.Name, nil
	}, "b"),
	"Query": finds(byID, "abc"),
	"Update": is(func(ctx context.Context, c *store.CityClient) (int, error) {
		return c.Update().SetName("x").AddRegion(1).Where(city.IDGT(1)).Save(ctx)
	}, 2),
	"UpdateOne": with(func(ctx context.Context, c *store.CityClient) error {
		one, err := c.Get(ctx, 1)
		if err != nil {
			return err
		}
		one, err = c.UpdateOne(one).SetName("x").ClearRegion().Save(ctx)
		if err != nil {
			return err
		}
		return methods.Want(nil, one.Name, "x")
	}),
	"UpdateOneID": is(func(ctx context.Context, c *store.CityClient) (string, error) {
		one, err := c.UpdateOneID(1).SetName("x").Save(ctx)
		if err != nil {
			return "", err
		}
		return one.Name, nil
	}, "x"),
	"Delete": is(func(ctx context.Context, c *store.CityClient) (int, error) {
		return c.Delete().Where(city.IDLT(3)).Exec(ctx)
	}, 2),
	"DeleteOneID": with(func(ctx context.Context, c *store.CityClient) error { return c.DeleteOneID(1).Exec(ctx) }),
	"DeleteOne": with(func(ctx context.Context, c *store.CityClient) error {
		one, err := c.Get(ctx, 1)
		if err != nil {
			return err
		}
		return c.DeleteOne(one).Exec(ctx)
	}),
}

// TestMethods: what ent's generated code asks for works, or entpico's error says what to do instead.
func TestMethods(t *testing.T) {
	panicking := func(of reflect.Type) string { // AllX is All, which panics instead
		var list []string
		for m := range of.Methods() {
			if strings.HasSuffix(m.Name, "X") {
				list = append(list, m.Name)
			}
		}
		return strings.Join(list, " ") + " "
	}
	query, client := reflect.TypeFor[*store.CityQuery](), reflect.TypeFor[*store.CityClient]()
	methods.Page(t, "../../../docs/libraries/ent.md", "TestMethods", []methods.Builder{
		{Name: "Query", Of: query, Tries: queries, Plumbing: panicking(query)},
		{Name: "Client", Of: client, Tries: clients, Plumbing: panicking(client) + "Hooks Intercept Interceptors Use"},
	})
}
