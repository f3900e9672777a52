package scenarios_test

import (
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// A statement's whole way and back, warm, one caller. The cluster shares the process, so that a part of the time is its own:
// for comparing revisions (internal/guard), not for saying how fast the driver is.
func BenchmarkStatement(b *testing.B) {
	c, db, _ := startDB(b, picotest.Config{Tiers: three.Tiers})
	if err := c.Exec("create table t (id int primary key, v text) distributed by (id)"); err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		mustExec(b, db, "insert into t values ($1, 'some text')", -i-1)
	}
	read := func(b *testing.B, query string, args ...any) {
		rows, err := db.QueryContext(b.Context(), query, args...)
		if err != nil {
			b.Fatal(err)
		}
		for rows.Next() {
			var id int
			if err := rows.Scan(&id); err != nil {
				b.Fatal(err)
			}
		}
		if err := rows.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("simple", func(b *testing.B) {
		for b.Loop() {
			read(b, "select 1")
		}
	})
	b.Run("argument", func(b *testing.B) {
		for b.Loop() {
			read(b, "select id from t where id = $1", -7)
		}
	})
	b.Run("insert", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			mustExec(b, db, "insert into t values ($1, 'some text') on conflict do nothing", i%100)
		}
	})
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			read(b, "select id from t where id < 0")
		}
	})
}
