package main

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/picodata/go-picodata/contrib/internal/methods"
)

type pet struct {
	ID    int64  `db:"id"`
	Owner int64  `db:"owner_id"`
	Name  string `db:"name"`
}

// on runs f on an sqlx.DB.
func on(f func(ctx context.Context, db *sqlx.DB) error) methods.Try {
	return func(ctx context.Context, db *sql.DB) error { return f(ctx, sqlx.NewDb(db, "postgres")) }
}

// names are those that rows bring.
func names(rows *sqlx.Rows, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var all strings.Builder
	for rows.Next() {
		var p pet
		if err := rows.StructScan(&p); err != nil {
			return "", err
		}
		all.WriteString(p.Name)
	}
	return all.String(), rows.Err()
}

const (
	byOwner = "select * from pets where owner_id = $1 order by id"
	byName  = "select * from pets where owner_id = :owner_id order by id"
	insert  = "insert into pets (id, owner_id, name) values (:id, :owner_id, :name)"
)

// wantNames compares what rows bring.
func wantNames(rows *sqlx.Rows, err error) func(want string) error {
	got, err := names(rows, err)
	return func(want string) error { return methods.Want(err, got, want) }
}

// panics gives what f panics with as an error.
func panics(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

var withDB = map[string]methods.Try{
	"Get": on(func(_ context.Context, db *sqlx.DB) error {
		var p pet
		return methods.Want(db.Get(&p, "select * from pets where id = $1", 2), p, pet{2, 1, "b"})
	}),
	"GetContext": on(func(ctx context.Context, db *sqlx.DB) error {
		var n int
		err := db.GetContext(ctx, &n, "select count(*) from pets")
		return methods.Want(err, n, 3)
	}),
	"Select": on(func(_ context.Context, db *sqlx.DB) error {
		var l []pet
		err := db.Select(&l, byOwner, 1)
		return methods.Want(err, len(l), 2)
	}),
	"SelectContext": on(func(ctx context.Context, db *sqlx.DB) error {
		var l []string
		err := db.SelectContext(ctx, &l, "select name from pets where owner_id = $1 order by name", 1)
		return methods.Want(err, l, []string{"a", "b"})
	}),
	"NamedExec": on(func(_ context.Context, db *sqlx.DB) error {
		return methods.Affected(db.NamedExec(insert, []pet{{8, 1, "x"}, {9, 1, "y"}}))(2)
	}),
	"NamedExecContext": on(func(ctx context.Context, db *sqlx.DB) error {
		return methods.Affected(db.NamedExecContext(ctx, insert, pet{9, 1, "x"}))(1)
	}),
	"NamedQuery": on(func(_ context.Context, db *sqlx.DB) error {
		return wantNames(db.NamedQuery(byName, pet{Owner: 1}))("ab")
	}),
	"NamedQueryContext": on(func(ctx context.Context, db *sqlx.DB) error {
		return wantNames(db.NamedQueryContext(ctx, byName, map[string]any{"owner_id": 2}))("c")
	}),
	"Queryx": on(func(_ context.Context, db *sqlx.DB) error { return wantNames(db.Queryx(byOwner, 1))("ab") }),
	"QueryxContext": on(func(ctx context.Context, db *sqlx.DB) error {
		return wantNames(db.QueryxContext(ctx, byOwner, 1))("ab")
	}),
	"QueryRowx": on(func(_ context.Context, db *sqlx.DB) error {
		row := map[string]any{}
		err := db.QueryRowx("select id, name from pets where id = $1", 1).MapScan(row)
		return methods.Want(err, row, map[string]any{"id": int64(1), "name": "a"})
	}),
	"QueryRowxContext": on(func(ctx context.Context, db *sqlx.DB) error {
		row, err := db.QueryRowxContext(ctx, "select id, name from pets where id = $1", 1).SliceScan()
		return methods.Want(err, row, []any{int64(1), "a"})
	}),
	"Preparex": on(func(_ context.Context, db *sqlx.DB) error {
		s, err := db.Preparex(byOwner)
		if err != nil {
			return err
		}
		defer s.Close()
		return wantNames(s.Queryx(1))("ab")
	}),
	"PreparexContext": on(func(ctx context.Context, db *sqlx.DB) error {
		s, err := db.PreparexContext(ctx, byOwner)
		if err != nil {
			return err
		}
		defer s.Close()
		return wantNames(s.QueryxContext(ctx, 1))("ab")
	}),
	"PrepareNamed": on(func(_ context.Context, db *sqlx.DB) error {
		s, err := db.PrepareNamed(byName)
		if err != nil {
			return err
		}
		defer s.Close()
		return wantNames(s.Queryx(pet{Owner: 1}))("ab")
	}),
	"PrepareNamedContext": on(func(ctx context.Context, db *sqlx.DB) error {
		s, err := db.PrepareNamedContext(ctx, insert)
		if err != nil {
			return err
		}
		defer s.Close()
		return methods.Affected(s.ExecContext(ctx, pet{9, 1, "x"}))(1)
	}),
	"Beginx": on(func(_ context.Context, db *sqlx.DB) error {
		tx, err := db.Beginx()
		if err != nil {
			return err
		}
		if err := methods.Affected(tx.NamedExec(insert, pet{9, 1, "x"}))(1); err != nil {
			return err
		}
		return tx.Commit()
	}),
	"BeginTxx": on(func(ctx context.Context, db *sqlx.DB) error {
		tx, err := db.BeginTxx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
		if err != nil {
			return err
		}
		return tx.Rollback()
	}),
	"MustBegin": on(func(_ context.Context, db *sqlx.DB) error { return panics(db.MustBegin().Commit) }),
	"MustBeginTx": on(func(ctx context.Context, db *sqlx.DB) error {
		tx := db.MustBeginTx(ctx, nil)
		if _, err := tx.ExecContext(ctx, "insert into pets values (9, 1, 'x')"); err != nil {
			return err
		}
		return tx.Rollback()
	}),
	"MustExec": on(func(_ context.Context, db *sqlx.DB) error {
		return panics(func() error { return methods.Affected(db.MustExec("delete from pets where id = $1", 1), nil)(1) })
	}),
	"MustExecContext": on(func(ctx context.Context, db *sqlx.DB) error {
		return panics(func() error {
			return methods.Affected(db.MustExecContext(ctx, "update pets set name = $1 where id > $2", "x", 1), nil)(2)
		})
	}),
	"Connx": on(func(ctx context.Context, db *sqlx.DB) error {
		c, err := db.Connx(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		return wantNames(c.QueryxContext(ctx, byOwner, 1))("ab")
	}),
	"Rebind": on(func(ctx context.Context, db *sqlx.DB) error {
		query, args, err := sqlx.In("select * from pets where id in (?) order by id", []int{1, 3})
		if err != nil {
			return err
		}
		return wantNames(db.QueryxContext(ctx, db.Rebind(query), args...))("ac")
	}),
	"BindNamed": on(func(ctx context.Context, db *sqlx.DB) error {
		query, args, err := db.BindNamed(byName, pet{Owner: 1})
		if err != nil {
			return err
		}
		return wantNames(db.QueryxContext(ctx, query, args...))("ab")
	}),
}

// TestMethods: what sqlx's DB offers works, or says why not.
func TestMethods(t *testing.T) {
	var inherited []string
	for m := range reflect.TypeFor[*sql.DB]().Methods() {
		inherited = append(inherited, m.Name)
	}
	methods.Page(t, "../../../docs/libraries/sqlx.md", "TestMethods", []methods.Builder{{Name: "DB", Of: reflect.TypeFor[*sqlx.DB](), Tries: withDB,
		Plumbing: "DriverName MapperFunc Unsafe " + strings.Join(inherited, " ")}})
}
