package pool

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/jackc/puddle/v2"
	"github.com/picodata/go-picodata/options"
)

// These measure what others need for the same: to get an idle connection out of a pool and to give it back. Both know one
// pool and no nodes; compare them with BenchmarkLease at one node.

// idleConn is a connection of database/sql that costs nothing.
type idleConn struct{}

func (idleConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not a real connection") }
func (idleConn) Begin() (driver.Tx, error)           { return nil, errors.New("not a real connection") }
func (idleConn) Close() error                        { return nil }
func (idleConn) IsValid() bool                       { return true }
func (idleConn) ResetSession(context.Context) error  { return nil }

type idleConnector struct{}

func (idleConnector) Connect(context.Context) (driver.Conn, error) { return idleConn{}, nil }
func (idleConnector) Driver() driver.Driver                        { return nil }

// inWorkers measures f, serially or by so many goroutines.
func inWorkers(b *testing.B, workers int, f func() error) {
	b.ReportAllocs()
	if workers == 1 {
		for b.Loop() {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	b.SetParallelism(max(workers/runtime.GOMAXPROCS(0), 1))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := f(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkRivalPuddle(b *testing.B) {
	for _, workers := range []int{1, 32} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			p, err := puddle.NewPool(&puddle.Config[benchConn]{
				Constructor: func(context.Context) (benchConn, error) { return benchConn{}, nil },
				Destructor:  func(benchConn) {},
				MaxSize:     64,
			})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			ctx := context.Background()
			var warm []*puddle.Resource[benchConn]
			for range 64 {
				r, err := p.Acquire(ctx)
				if err != nil {
					b.Fatal(err)
				}
				warm = append(warm, r)
			}
			for _, r := range warm {
				r.Release()
			}
			inWorkers(b, workers, func() error {
				r, err := p.Acquire(ctx)
				if err == nil {
					r.Release()
				}
				return err
			})
		})
	}
}

func BenchmarkRivalDatabaseSQL(b *testing.B) {
	for _, workers := range []int{1, 32} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			db := sql.OpenDB(idleConnector{})
			defer db.Close()
			db.SetMaxIdleConns(64)
			db.SetMaxOpenConns(64)
			ctx := context.Background()
			inWorkers(b, workers, func() error {
				c, err := db.Conn(ctx)
				if err == nil {
					err = c.Close()
				}
				return err
			})
		})
	}
}

// BenchmarkWaiting is lease and release by 32 goroutines that share 8 connections: nearly every one waits for its turn.
func BenchmarkWaiting(b *testing.B) {
	const workers, conns = 32, 8
	ctx := context.Background()
	b.Run("gate", func(b *testing.B) {
		g := benchGate(b, options.New(), 1, conns)
		inWorkers(b, workers, func() error {
			l, err := g.Lease(ctx, Request{})
			runtime.Gosched()
			l.Release()
			return err
		})
	})
	b.Run("puddle", func(b *testing.B) {
		p, err := puddle.NewPool(&puddle.Config[benchConn]{
			Constructor: func(context.Context) (benchConn, error) { return benchConn{}, nil },
			Destructor:  func(benchConn) {},
			MaxSize:     conns,
		})
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		inWorkers(b, workers, func() error {
			r, err := p.Acquire(ctx)
			if err == nil {
				runtime.Gosched()
				r.Release()
			}
			return err
		})
	})
	b.Run("database_sql", func(b *testing.B) {
		db := sql.OpenDB(idleConnector{})
		defer db.Close()
		db.SetMaxIdleConns(conns)
		db.SetMaxOpenConns(conns)
		inWorkers(b, workers, func() error {
			c, err := db.Conn(ctx)
			if err == nil {
				runtime.Gosched()
				err = c.Close()
			}
			return err
		})
	})
}
