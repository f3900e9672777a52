package scenarios_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// The public surface of database/sql, each part once.
func TestDatabaseSQLSurface(t *testing.T) {
	_, db, conn := startDB(t, picotest.Config{})
	mustExec(t, db, "create table t (id int primary key, name text, price decimal, weight double, ok bool, at datetime, u uuid)")
	moment := time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.UTC)
	const id = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"

	t.Run("Exec", func(t *testing.T) {
		res, err := db.ExecContext(t.Context(), "insert into t values ($1, $2, $3, $4, $5, $6, $7)", 1, "one", "9.90", 1.5, true, moment, id)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			t.Errorf("RowsAffected: %d, %v", n, err)
		}
		if _, err := res.LastInsertId(); !errors.Is(err, picodata.ErrLastInsertID) {
			t.Errorf("LastInsertId: %v", err)
		}
		if res, err := db.Exec("create table if not exists t (id int primary key)"); err != nil {
			t.Error(err)
		} else if n, err := res.RowsAffected(); err != nil || n != 0 {
			t.Errorf("RowsAffected of DDL: %d, %v", n, err)
		}
	})
	t.Run("ColumnTypes", func(t *testing.T) {
		rows, err := db.QueryContext(t.Context(), "select id, name, price, weight, ok, at, u from t")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		if names, err := rows.Columns(); err != nil || strings.Join(names, " ") != "id name price weight ok at u" {
			t.Errorf("Columns: %v, %v", names, err)
		}
		types, err := rows.ColumnTypes()
		if err != nil {
			t.Fatal(err)
		}
		want := []struct {
			name string
			scan reflect.Type
		}{
			{"INT8", reflect.TypeFor[int64]()}, {"TEXT", reflect.TypeFor[string]()}, {"NUMERIC", nil}, {"FLOAT8", reflect.TypeFor[float64]()},
			{"BOOL", reflect.TypeFor[bool]()}, {"TIMESTAMPTZ", reflect.TypeFor[time.Time]()}, {"UUID", nil},
		}
		for i, w := range want {
			if got := types[i].DatabaseTypeName(); got != w.name {
				t.Errorf("%s: type %s, want %s", types[i].Name(), got, w.name)
			}
			if got := types[i].ScanType(); w.scan != nil && got != w.scan {
				t.Errorf("%s: scan type %v, want %v", types[i].Name(), got, w.scan)
			}
			// Picodata doesn't tell, and so the driver doesn't claim to know.
			if _, ok := types[i].Nullable(); ok {
				t.Errorf("%s: nullable is claimed to be known", types[i].Name())
			}
			if _, _, ok := types[i].DecimalSize(); ok {
				t.Errorf("%s: a decimal size is claimed to be known", types[i].Name())
			}
		}
		if rows.NextResultSet() {
			t.Error("a second result set: a statement has one")
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
	})
	t.Run("Scan", func(t *testing.T) {
		var (
			n    int64
			name string
			p    sql.NullString
			w    sql.NullFloat64
			ok   sql.NullBool
			at   sql.NullTime
			u    sql.Null[string]
			raw  sql.RawBytes
		)
		if err := db.QueryRow("select id, name, price, weight, ok, at, u from t where id = $1", 1).Scan(&n, &name, &p, &w, &ok, &at, &u); err != nil ||
			n != 1 || name != "one" || p.String != "9.90" || w.Float64 != 1.5 || !ok.Bool || !at.Time.Equal(moment) || u.V != id {
			t.Errorf("%d %s %v %v %v %v %v: %v", n, name, p, w, ok, at, u, err)
		}
		mustExec(t, db, "insert into t (id) values (2)")
		if err := db.QueryRow("select name, price, weight, ok, at, u from t where id = 2").Scan(&p, &p, &w, &ok, &at, &u); err != nil ||
			p.Valid || w.Valid || ok.Valid || at.Valid || u.Valid {
			t.Errorf("NULLs: %v %v %v %v %v: %v", p, w, ok, at, u, err)
		}
		if err := db.QueryRow("select name from t where id = 2").Scan(&name); err == nil {
			t.Error("NULL went into a string")
		}
		if err := db.QueryRow("select name from t where id = 99").Scan(&name); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("no row: %v", err)
		}
		rows, err := db.Query("select name from t where id = 1")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(&raw); err != nil || string(raw) != "one" {
				t.Errorf("RawBytes: %q, %v", raw, err)
			}
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
	})
	t.Run("arguments", func(t *testing.T) {
		type celsius float64
		x := 7
		var none *int
		for _, c := range []struct {
			query string
			arg   any
			want  any
		}{
			{"select $1::int", x, int64(7)}, {"select $1::int", &x, int64(7)}, {"select $1::int", none, nil},
			{"select $1::double", celsius(2.5), 2.5}, {"select $1::text", []byte("bytes"), "bytes"},
			{"select $1::text", sql.NullString{}, nil}, {"select $1::text", sql.NullString{String: "s", Valid: true}, "s"},
			{"select $1::bool", true, true},
		} {
			var got any
			if err := db.QueryRow(c.query, c.arg).Scan(&got); err != nil || got != c.want {
				t.Errorf("%s with %T: %v (%T), %v", c.query, c.arg, got, got, err)
			}
		}
		if _, err := db.Exec("select $1::int", sql.Named("id", 1)); err == nil || !strings.Contains(err.Error(), "sql.Named") {
			t.Errorf("a named argument: %v", err)
		}
		var out int
		if _, err := db.Exec("select $1::int", sql.Out{Dest: &out}); err == nil {
			t.Error("an output argument was accepted")
		}
		if _, err := db.Exec("select $1::int", struct{ A int }{1}); err == nil {
			t.Error("a struct was accepted")
		}
		if _, err := db.Exec("select $1::int"); err == nil {
			t.Error("a missing argument was accepted")
		}
	})
	t.Run("Stmt", func(t *testing.T) {
		stmt, err := db.PrepareContext(t.Context(), "select name from t where id = $1")
		if err != nil {
			t.Fatal(err)
		}
		var name string
		if err := stmt.QueryRow(1).Scan(&name); err != nil || name != "one" {
			t.Errorf("%q, %v", name, err)
		}
		if _, err := stmt.Exec(1); err != nil {
			t.Error("Exec of a query:", err)
		}
		if _, err := stmt.Query(); err == nil {
			t.Error("no argument for one parameter was accepted")
		}
		if err := stmt.Close(); err != nil {
			t.Error(err)
		}
		if _, err := stmt.Query(1); err == nil {
			t.Error("a closed Stmt ran")
		}
	})
	t.Run("Conn", func(t *testing.T) {
		sc, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := sc.PingContext(t.Context()); err != nil {
			t.Error(err)
		}
		if err := sc.Raw(func(dc any) error {
			c, ok := dc.(picodata.Conn)
			if !ok || c.Node().Name == "" || c.Connector() != conn {
				t.Errorf("%T is no picodata.Conn with its node and connector", dc)
			}
			rows, err := dc.(driver.QueryerContext).QueryContext(t.Context(), "select 5", nil)
			if err != nil {
				return err
			}
			dest := make([]driver.Value, 1)
			if err := rows.Next(dest); err != nil || dest[0] != int64(5) {
				t.Errorf("beneath database/sql: %v, %v", dest, err)
			}
			return rows.Close()
		}); err != nil {
			t.Error("Raw:", err)
		}
		if _, err := sc.BeginTx(t.Context(), nil); !errors.Is(err, picodata.ErrTxUnsupported) {
			t.Errorf("BeginTx: %v", err)
		}
		if err := sc.Close(); err != nil {
			t.Error(err)
		}
		if err := sc.PingContext(t.Context()); !errors.Is(err, sql.ErrConnDone) {
			t.Errorf("after Close: %v", err)
		}
	})
	t.Run("Raw that panics", func(t *testing.T) {
		sc, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = sc.Raw(func(any) error { panic("the caller's own") })
		}()
		_ = sc.Close()
		mustExec(t, db, "select 1")
	})
	t.Run("Unwrap", func(t *testing.T) {
		if c, err := picodata.Unwrap(db); err != nil || c != conn {
			t.Errorf("%v, %v", c, err)
		}
		other := sql.OpenDB(foreign{})
		defer other.Close()
		if _, err := picodata.Unwrap(other); err == nil {
			t.Error("another driver's database was unwrapped")
		}
	})
	t.Run("Stats", func(t *testing.T) {
		db.SetMaxOpenConns(3)
		db.SetMaxIdleConns(1)
		db.SetConnMaxLifetime(time.Minute)
		db.SetConnMaxIdleTime(time.Minute)
		inParallel(6, 60, func(int) {
			if _, err := db.Exec("select 1"); err != nil {
				t.Error(err)
			}
		})
		if s := db.Stats(); s.MaxOpenConnections != 3 || s.OpenConnections > 3 || s.InUse != 0 {
			t.Errorf("%+v", s)
		}
		if s := conn.Stats().Total; s.InUse != 0 {
			t.Errorf("%d leases", s.InUse)
		}
	})
}

// foreign is some other driver's connector; its sessions can't be made.
type foreign struct{}

func (foreign) Connect(context.Context) (driver.Conn, error) {
	return nil, errors.New("not a Picodata")
}
func (foreign) Driver() driver.Driver { return nil }
