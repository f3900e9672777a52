package engine

import (
	"context"
	"fmt"
	"testing"
)

func prepared(b *testing.B, x *bench, sql string) *Stmt {
	b.Helper()
	s, err := x.e.Prepare(x.sess, sql, nil)
	if err != nil {
		b.Fatal(err.Message)
	}
	return s
}

func BenchmarkInsert(b *testing.B) {
	x := newBench(b, "26.2")
	x.run("create table t (id int primary key, s text, n int)")
	s := prepared(b, x, "insert into t values ($1, $2, $3)")
	for i := 0; b.Loop(); i++ {
		args := []Value{int64(i), "some text", int64(i)}
		v, err := x.view(s, args)
		if err == nil {
			_, err = s.Run(context.Background(), args, v)
		}
		if err != nil {
			b.Fatal(err.Message)
		}
	}
}

func BenchmarkSelectByKey(b *testing.B) {
	x := newBench(b, "26.2")
	x.run("create table t (id int primary key, s text, n int)")
	for i := range 1000 {
		x.run(fmt.Sprintf("insert into t values (%d, 'some text', 1)", i))
	}
	s := prepared(b, x, "select * from t where id = $1")
	for i := 0; b.Loop(); i++ {
		args := []Value{int64(i % 1000)}
		v, err := x.view(s, args)
		if err == nil {
			_, err = s.Run(context.Background(), args, v)
		}
		if err != nil {
			b.Fatal(err.Message)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	x := newBench(b, "26.2")
	x.run("create table t (id int primary key, s text, n int)")
	for b.Loop() {
		prepared(b, x, "select * from t where id = $1 and s = 'x'")
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		e, err := New(Config{Live: &fakeLive{testSystem(testVersions["26.2"])}, Version: testVersions["26.2"]})
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTopology(b *testing.B) {
	x := newBench(b, "26.2")
	s := prepared(b, x, "SELECT i.uuid,i.name,i.raft_id,i.replicaset_uuid,i.tier,i.current_state,p.address FROM _pico_instance i JOIN _pico_peer_address p ON i.raft_id=p.raft_id WHERE p.connection_type='pgproto'")
	for b.Loop() {
		if _, err := s.Run(context.Background(), nil, View{Instance: "i1", Local: true}); err != nil {
			b.Fatal(err.Message)
		}
	}
}
