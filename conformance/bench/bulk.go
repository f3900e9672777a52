package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
)

const (
	batchReads = 100
	loadRows   = 20_000
	chunk      = 500
)

// bulk prints what many rows cost: a batch beside single statements and pgx's SendBatch, a load beside what one writes by hand.
func bulk(out io.Writer, d time.Duration, pg target) error {
	ctx := context.Background()
	fmt.Fprint(out, turnsHead)
	for _, delay := range []time.Duration{0, time.Millisecond} {
		beside := fmt.Sprintf(", %v more a flight", delay)
		if delay == 0 {
			beside = ""
		}
		if pg.address != "" {
			pg.dial = delayDial(delay)
			if err := batches(ctx, out, "PostgreSQL"+beside, d, pg); err != nil {
				return err
			}
		}
		one, stop, err := startPicotest()
		if err != nil {
			return err
		}
		one.dial = delayDial(delay)
		err = batches(ctx, out, "picotest"+beside, d, one)
		stop()
		if err != nil {
			return err
		}
		if err := loads(ctx, out, "two replicasets"+beside, d, delay); err != nil {
			return err
		}
	}
	return nil
}

// batches are a hundred reads by key of one server.
func batches(ctx context.Context, out io.Writer, name string, d time.Duration, t target) error {
	db, err := rivals[0].openDB(t, 4)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, text := range []string{"DROP TABLE IF EXISTS batched", "CREATE TABLE batched (id INT PRIMARY KEY, v TEXT)"} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	for k := range batchReads {
		if _, err := db.ExecContext(ctx, "INSERT INTO batched VALUES ($1, $2)", k, "a text of some length"); err != nil {
			return err
		}
	}
	cfg, err := pgx.ParseConfig(fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", t.user, t.password, t.address, t.database))
	if err != nil {
		return err
	}
	cfg.DialFunc = t.dial
	other, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer other.Close(ctx)
	const query = "SELECT v FROM batched WHERE id = $1"
	if _, err := other.PgConn().Prepare(ctx, "each", query, nil); err != nil {
		return err
	}
	return turns(ctx, out, fmt.Sprintf("%d keyed SELECTs, %s", batchReads, name), d, []contender{
		{name: "picodata.Batch", units: batchReads, once: func(ctx context.Context) error {
			b := picodata.NewBatch()
			items := make([]*picodata.BatchItem, batchReads)
			for k := range batchReads {
				items[k] = b.Queue(query, k)
			}
			if err := b.Run(ctx, db); err != nil {
				return err
			}
			for _, it := range items {
				var v string
				if err := it.Scan(&v); err != nil {
					return err
				}
			}
			return nil
		}},
		{name: "one by one", units: batchReads, once: func(ctx context.Context) error {
			for k := range batchReads {
				var v string
				if err := db.QueryRowContext(ctx, query, k).Scan(&v); err != nil {
					return err
				}
			}
			return nil
		}},
		{name: "pgx SendBatch", units: batchReads, once: func(ctx context.Context) error {
			b := &pgx.Batch{}
			for k := range batchReads {
				b.Queue(query, k)
			}
			r := other.SendBatch(ctx, b)
			for range batchReads {
				var v string
				if err := r.QueryRow().Scan(&v); err != nil {
					r.Close()
					return err
				}
			}
			return r.Close()
		}},
		{name: "pgx, a Sync for each, as Batch has", units: batchReads, once: func(ctx context.Context) error {
			return syncEach(ctx, other.PgConn())
		}},
	})
}

// syncEach reads the rows as a Batch does on the wire: PostgreSQL ends a transaction at each Sync and writes its answer out, which SendBatch has it do once.
func syncEach(ctx context.Context, c *pgconn.PgConn) error {
	p := c.StartPipeline(ctx)
	for k := range batchReads {
		p.SendQueryPrepared("each", [][]byte{strconv.AppendInt(nil, int64(k), 10)}, nil, nil)
		p.SendPipelineSync()
	}
	if err := p.Flush(); err != nil {
		return errors.Join(err, p.Close())
	}
	for {
		result, err := p.GetResults()
		if err != nil {
			return errors.Join(err, p.Close())
		}
		switch r := result.(type) {
		case nil:
			return p.Close()
		case *pgconn.ResultReader:
			for r.NextRow() {
			}
			if _, err := r.Close(); err != nil {
				return errors.Join(err, p.Close())
			}
		}
	}
}

// multiRow is an INSERT of so many rows of two columns that replaces what is there.
func multiRow(rows int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO loaded (id, v) VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "($%d,$%d)", 2*i+1, 2*i+2)
	}
	return b.String() + " ON CONFLICT DO REPLACE"
}

// loads are 20,000 rows into a table of two replicasets.
func loads(ctx context.Context, out io.Writer, name string, d, delay time.Duration) error {
	cluster, cfg, err := simulate(2, 1)
	if err != nil {
		return err
	}
	defer cluster.Close()
	cfg.DialFunc = delayDial(delay)
	conn, db, stop, err := routed(cfg, options.WithRouting(options.RoutingKeys))
	if err != nil {
		return err
	}
	defer stop()
	if _, err := db.ExecContext(ctx, "CREATE TABLE loaded (id INT PRIMARY KEY, v TEXT) DISTRIBUTED BY (id)"); err != nil {
		return err
	}
	byOwner := map[string][]int64{}
	for k := range int64(loadRows) {
		p, err := conn.Explain(ctx, "INSERT INTO loaded VALUES ($1, $2)", k, "x")
		if err != nil || p.Node.Name == "" {
			return fmt.Errorf("no owner of %d: %+v, %w", k, p, err)
		}
		byOwner[p.Node.Name] = append(byOwner[p.Node.Name], k)
	}
	text := multiRow(chunk)
	stmts, tails := map[string]*sql.Stmt{}, map[string]*sql.Stmt{}
	for node, keys := range byOwner {
		owner, err := direct(cluster, cfg, node)
		if err != nil {
			return err
		}
		defer owner.Close()
		owner.SetMaxIdleConns(2)
		if stmts[node], err = owner.PrepareContext(ctx, text); err != nil {
			return err
		}
		if tails[node], err = owner.PrepareContext(ctx, multiRow(len(keys)%chunk)); err != nil {
			return err
		}
	}
	router, err := direct(cluster, cfg, "i1")
	if err != nil {
		return err
	}
	defer router.Close()
	anyNode, err := router.PrepareContext(ctx, text)
	if err != nil {
		return err
	}
	const value = "a text of some length"
	insert := func(ctx context.Context, s *sql.Stmt, keys []int64) error {
		args := make([]any, 0, 2*len(keys))
		for _, k := range keys {
			args = append(args, k, value)
		}
		_, err := s.ExecContext(ctx, args...)
		return err
	}
	return turns(ctx, out, fmt.Sprintf("a load of %d rows, %s", loadRows, name), d, []contender{
		{name: "picodata.Insert", units: loadRows, once: func(ctx context.Context) error {
			_, err := picodata.Insert(ctx, db, "loaded", []string{"id", "v"}, func(yield func([]any) bool) {
				for k := range int64(loadRows) {
					if !yield([]any{k, value}) {
						return
					}
				}
			}, picodata.OnConflict(picodata.ConflictReplace))
			return err
		}},
		{name: "split by hand, lib/pq, two connections an owner", units: loadRows, once: func(ctx context.Context) error {
			errs := make(chan error, 2*len(byOwner))
			var group sync.WaitGroup
			for node, keys := range byOwner {
				for w := range 2 {
					group.Go(func() {
						for from := w * chunk; from < len(keys); from += 2 * chunk {
							s, to := stmts[node], from+chunk
							if to > len(keys) {
								s, to = tails[node], len(keys)
							}
							if err := insert(ctx, s, keys[from:to]); err != nil {
								errs <- err
								return
							}
						}
					})
				}
			}
			group.Wait()
			close(errs)
			return <-errs
		}},
		{name: "many rows through one node, lib/pq", units: loadRows, once: func(ctx context.Context) error {
			keys := make([]int64, chunk)
			for from := int64(0); from < loadRows; from += chunk {
				for i := range keys {
					keys[i] = from + int64(i)
				}
				if err := insert(ctx, anyNode, keys); err != nil {
					return err
				}
			}
			return nil
		}},
	})
}
