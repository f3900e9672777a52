package picotest_test

import (
	"database/sql"
	"testing"

	_ "github.com/lib/pq"

	"github.com/picodata/go-picodata/picotest"
)

// BenchmarkStatement is a round trip by lib/pq: the floor under every test that counts statements.
func BenchmarkStatement(b *testing.B) {
	for name, network := range map[string]picotest.Network{"tcp": picotest.TCP, "memory": picotest.Memory} {
		b.Run(name, func(b *testing.B) {
			c := picotest.Start(b, picotest.Config{Network: network})
			if err := c.Exec("create table t (id int primary key, v int) distributed by (id)"); err != nil {
				b.Fatal(err)
			}
			db := openPq(b, c, c.Node("i1").AdminDSN())
			db.SetMaxOpenConns(1)
			for _, text := range []string{"select 1", "insert into t values ($1, 0)", "select v from t where id = $1"} {
				b.Run(text[:6], func(b *testing.B) {
					run(b, db, text)
				})
			}
		})
	}
}

func run(b *testing.B, db *sql.DB, text string) {
	stmt, err := db.Prepare(text)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = stmt.Close() }()
	i := 0
	for b.Loop() {
		i++
		var args []any
		if text != "select 1" {
			args = []any{i}
		}
		if text[:6] == "insert" {
			_, err = stmt.Exec(args...)
		} else {
			var v int
			err = stmt.QueryRow(args...).Scan(&v)
			if err == sql.ErrNoRows {
				err = nil
			}
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart starts and closes a cluster of five nodes.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		picotest.Start(nil, picotest.Config{Tiers: []picotest.Tier{{Replicasets: 2, ReplicationFactor: 2}, {Name: "cold"}}}).Close()
	}
}
