package goosepico

import (
	"database/sql"
	"errors"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/picodata/go-picodata/picotest"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func migrations(head string) fstest.MapFS {
	return fstest.MapFS{
		"00001_cities.sql": file(head + `-- +goose Up
CREATE TABLE cities (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO cities VALUES (1, 'Tver; or Kalinin');
-- +goose Down
DROP TABLE cities;
`),
		"00002_index.sql": file(head + `-- +goose Up
-- a comment, which the driver takes out
CREATE INDEX cities_name ON cities (name);
-- +goose Down
DROP INDEX cities_name;
`),
	}
}

func TestMigrations(t *testing.T) {
	for name, c := range map[string]struct {
		head, dsn string
		user      string
	}{
		"no transaction":      {"-- +goose NO TRANSACTION\n", "", "admin"},
		"autocommit":          {"", "&transactions=autocommit", "admin"},
		"without _pico_table": {"-- +goose NO TRANSACTION\n", "", "poor"},
		"autocommit, poor":    {"", "&transactions=autocommit", "poor"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := picotest.Start(t, picotest.Config{Users: []picotest.User{{Name: "poor", Password: "Passw0rd", Grants: []string{"create table"}}}})
			dsn := cluster.AdminDSN()
			if c.user != "admin" {
				dsn = cluster.UserDSN(c.user)
			}
			db, err := sql.Open("picodata", dsn+c.dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			open := func() *goose.Provider {
				p, err := goose.NewProvider(goose.DialectCustom, db, migrations(c.head), goose.WithStore(NewStore("")), goose.WithIsolateDDL(true))
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			if done, err := open().Up(t.Context()); err != nil || len(done) != 2 {
				t.Fatalf("Up: %v, %v", done, err)
			}
			if done, err := open().Up(t.Context()); err != nil || len(done) != 0 {
				t.Errorf("Up again: %v, %v", done, err)
			}
			if v, err := open().GetDBVersion(t.Context()); err != nil || v != 2 {
				t.Errorf("version %d, %v", v, err)
			}
			var n string
			if err := db.QueryRow("SELECT name FROM cities").Scan(&n); err != nil || n != "Tver; or Kalinin" {
				t.Errorf("%q, %v", n, err)
			}
			if done, err := open().Down(t.Context()); err != nil || done.Source.Version != 2 {
				t.Errorf("Down: %v, %v", done, err)
			}
			if v, err := open().GetDBVersion(t.Context()); err != nil || v != 1 {
				t.Errorf("version %d after Down, %v", v, err)
			}
			status, err := open().Status(t.Context())
			if err != nil || len(status) != 2 || status[0].State != goose.StateApplied || status[1].State != goose.StatePending {
				t.Errorf("Status: %v, %v", status, err)
			}
		})
	}
}

func TestStore(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	db, err := sql.Open("picodata", c.AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := NewStore(`odd "name`)
	if exists, err := s.TableExists(t.Context(), db); err != nil || exists {
		t.Errorf("before: %v, %v", exists, err)
	}
	if _, err := s.GetLatestVersion(t.Context(), db); err == nil {
		t.Error("a table that isn't there has a version")
	}
	if err := NewStore("v").CreateVersionTable(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	s = NewStore("v")
	if _, err := s.GetLatestVersion(t.Context(), db); !errors.Is(err, database.ErrVersionNotFound) {
		t.Errorf("the latest of none: %v", err)
	}
	if _, err := s.GetMigration(t.Context(), db, 7); !errors.Is(err, database.ErrVersionNotFound) {
		t.Errorf("a version that isn't there: %v", err)
	}
	if err := s.Insert(t.Context(), db, database.InsertRequest{Version: 7}); err != nil {
		t.Fatal(err)
	}
	if m, err := s.GetMigration(t.Context(), db, 7); err != nil || !m.IsApplied || m.Timestamp.IsZero() {
		t.Errorf("%+v, %v", m, err)
	}
	if exists, err := s.TableExists(t.Context(), db); err != nil || !exists {
		t.Errorf("after: %v, %v", exists, err)
	}
}
