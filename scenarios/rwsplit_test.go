package scenarios_test

import (
	"context"
	"database/sql"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// rw-split-by-method: Where a statement runs, and whether it may run twice, follows from its text and the context, not
// from the method it came by nor from the statement before it.
func TestRwSplitByMethod(t *testing.T) {
	c, db, conn := startDB(t, picotest.Config{})
	mustExec(t, db, "create table t (id int primary key, n int) distributed by (id)")
	const insert = "\n\t/* a comment */ -- and another\n insert into t values ($1, $2) on conflict do replace"
	mustExec(t, db, insert, 0, 0) // tells the key
	// A plain SELECT on a replica, as the statement before.
	onReplica := func(t *testing.T) {
		t.Helper()
		c.ResetCounters()
		if _, err := db.ExecContext(picodata.ToReplica(t.Context()), "select 4750"); err != nil {
			t.Fatal(err)
		}
		for node := range userStatements(c, "select 4750") {
			if c.Node(node).IsLeader() {
				t.Fatalf("ToReplica ran on the leader %s", node)
			}
		}
	}
	methods := map[string]func(ctx context.Context, query string, args ...any) error{
		"Query": func(ctx context.Context, query string, args ...any) error {
			rows, err := db.QueryContext(ctx, query, args...)
			if err != nil {
				return err
			}
			for rows.Next() {
			}
			if err := rows.Err(); err != nil {
				return err
			}
			return rows.Close()
		},
		"QueryRow": func(ctx context.Context, query string, args ...any) error {
			var x any
			if err := db.QueryRowContext(ctx, query, args...).Scan(&x); err != nil && err != sql.ErrNoRows {
				return err
			}
			return nil
		},
		"Exec": func(ctx context.Context, query string, args ...any) error {
			_, err := db.ExecContext(ctx, query, args...)
			return err
		},
	}
	for _, x := range []struct {
		name, query, mark string
		args              []any
		read              bool // it may run again after a lost connection
		refused           bool // the server doesn't take the text
	}{
		{"INSERT", insert, "insert into t", []any{7, 1}, false, false},
		{"DELETE", "delete from t where id = $1", "delete from t", []any{70}, false, false},
		{"SELECT", " \n-- x\n\tselect 4751", "4751", nil, true, false},
		{"WITH … SELECT", "with x as (select 4752 as a) select a from x", "4752", nil, true, false},
		{"brackets", "(select 4753)", "4753", nil, false, true},
		{"EXPLAIN INSERT", "explain insert into t values (4754, 1)", "4754", nil, false, false},
		{"a function", "select version() || '4755'", "4755", nil, true, false},
		{"two statements", "select 4756; select 1", "4756", nil, false, true},
		{"WITH … DELETE", "with x as (delete from t) select 4757", "4757", nil, false, true},
		{"INSERT … RETURNING", "insert into t values (4758, 1) returning id", "4758", nil, false, true},
		{"nonsense", "selekt 4759", "4759", nil, false, true},
		{"a block", "do $$ begin update t set n = 4760 where id = 7; end $$", "4760", nil, false, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			for method, run := range methods {
				onReplica(t)
				plan, err := conn.Explain(t.Context(), x.query, x.args...)
				if err != nil {
					t.Fatal(err)
				}
				for range 8 {
					if err := run(t.Context(), x.query, x.args...); (err != nil) != x.refused {
						t.Fatalf("%s: %v", method, err)
					}
				}
				nodes := userStatements(c, x.mark)
				switch {
				case plan.Reason == "routed":
					if nodes[plan.Node.Name] != 8 || !c.Node(plan.Node.Name).IsLeader() {
						t.Errorf("%s: the owner is %s, it ran on %v", method, plan.Node, nodes)
					}
				case len(nodes) != 4:
					t.Errorf("%s: one of four nodes was left out: %v", method, nodes)
				}
				// The caller's word goes before everything.
				onReplica(t)
				for range 4 {
					_ = run(picodata.ToLeader(t.Context()), x.query, x.args...)
				}
				for node := range userStatements(c, x.mark) {
					if !c.Node(node).IsLeader() {
						t.Errorf("%s: ToLeader ran on %s", method, node)
					}
				}
				if x.refused {
					continue
				}
				// The server does it and the answer is lost.
				onReplica(t)
				lost := c.CloseAfter(picotest.BeforeAnswer(), picotest.SQL(x.mark))
				err = run(t.Context(), x.query, x.args...)
				if lost.Count() != 1 {
					t.Fatalf("%s: the answer was lost %d times", method, lost.Count())
				}
				ran := 0
				for _, n := range userStatements(c, x.mark) {
					ran += n
				}
				if x.read && (err != nil || ran != 2) {
					t.Errorf("%s: a read whose answer was lost ran %d times, %v", method, ran, err)
				}
				if !x.read && (!picodata.IsOutcomeUnknown(err) || ran != 1) {
					t.Errorf("%s: what isn't a plain read ran %d times after its answer was lost, %v", method, ran, err)
				}
			}
		})
	}
}
