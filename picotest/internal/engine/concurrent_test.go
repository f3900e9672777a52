package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// Statements of many connections at once, while copies lag, tables change and View.Before gives the lock away.
func TestConcurrentStatements(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key, v int)")
	insert := mustPrepare(t, b, "insert into t values ($1, $2)")
	count := mustPrepare(t, b, "select count(*) from t")
	rows := 50
	if testing.Short() {
		rows = 10
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range rows {
				args := []Value{int64(w*1000 + i), int64(w)}
				v, err := b.view(insert, args)
				if err == nil {
					v.Before = func(Copy, bool) *Error { return nil }
					_, err = insert.Run(context.Background(), args, v)
				}
				if err != nil {
					t.Error(err.Message)
					return
				}
				cv, err := b.view(count, nil)
				if err == nil {
					_, err = count.Run(context.Background(), nil, cv)
				}
				if err != nil {
					t.Error(err.Message)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for i := range rows {
			b.e.SetLag(rs1, "i2", i%2 == 0)
			b.run(fmt.Sprintf("create table x%d (id int primary key)", i))
			b.run(fmt.Sprintf("drop table x%d", i))
		}
		b.e.SetLag(rs1, "i2", false)
	})
	wg.Wait()
	b.want(fmt.Sprintf("%d; SELECT 1", 8*rows), "select count(*) from t")
	b.want(fmt.Sprintf("%d; SELECT 1", 8*rows), "select count(*) from t option (read_preference = replica)")
}

// What comes after Close fails or does nothing; a statement that waits in View.Before meanwhile fails.
func TestAfterClose(t *testing.T) {
	b := newBench(t, "26.2")
	b.run("create table t (id int primary key)")
	s := mustPrepare(t, b, "insert into t values (1), (2)")
	v := View{Instance: "i1", Copies: []Copy{{rs2, "i3"}, {rs1, "i1"}}, Before: func(Copy, bool) *Error {
		if err := b.e.Close(); err != nil {
			t.Error(err)
		}
		return nil
	}}
	for range 2 {
		if _, err := s.Run(context.Background(), nil, v); err == nil || err.Message != "picotest: the engine is closed" {
			t.Errorf("a statement after Close: %v", err)
		}
	}
	if _, err := b.e.Prepare(b.sess, "select 1", nil); err == nil {
		t.Error("Prepare works after Close")
	}
	b.e.AddInstance(rs1, "i7", "i1")
	b.e.RemoveInstance(rs1, "i1")
	b.e.SetLag(rs1, "i2", false)
	b.e.Resync(rs1, "i2", "i1")
	b.e.ForgetUnlogged("i2")
	b.e.MoveBuckets("default", 1, 2, rs1, rs2)
}
