package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// byHand is a client that somebody wrote for one table: it knows the owner of each key beforehand and keeps one named statement of lib/pq per
// connection to each leader. Nothing that routes can be faster than that.
type byHand struct {
	owners  map[int64]string // key to leader
	selects map[string]*sql.Stmt
	inserts map[string]*sql.Stmt
	dbs     []*sql.DB
}

func (h *byHand) close() {
	for _, db := range h.dbs {
		db.Close()
	}
}

const idealKeys = 1000

// newByHand asks the driver for the owners, before anything is measured.
func newByHand(ctx context.Context, c *picodata.Connector, cluster *picotest.Cluster, cfg *options.Config, workers int) (*byHand, error) {
	h := &byHand{owners: map[int64]string{}, selects: map[string]*sql.Stmt{}, inserts: map[string]*sql.Stmt{}}
	for k := range int64(idealKeys) {
		p, err := c.Explain(ctx, "SELECT v FROM ideal WHERE id = $1", k)
		for wait := time.Millisecond; err == nil && p.Node.Name == "" && wait < time.Second; wait *= 2 { // the tables are read beside
			time.Sleep(wait)
			p, err = c.Explain(ctx, "SELECT v FROM ideal WHERE id = $1", k)
		}
		if err != nil || p.Node.Name == "" {
			return nil, fmt.Errorf("no owner of %d: %+v, %v", k, p, err)
		}
		h.owners[k] = p.Node.Name
	}
	for _, name := range h.owners {
		if h.selects[name] != nil {
			continue
		}
		db, err := direct(cluster, cfg, name)
		if err != nil {
			return nil, err
		}
		db.SetMaxIdleConns(workers)
		h.dbs = append(h.dbs, db)
		if h.selects[name], err = db.PrepareContext(ctx, "SELECT v FROM ideal WHERE id = $1"); err != nil {
			return nil, err
		}
		if h.inserts[name], err = db.PrepareContext(ctx, "INSERT INTO ideal VALUES ($1, $2) ON CONFLICT DO REPLACE"); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// shared runs f from so many workers, n times each.
func shared(workers, n int, f func(k int64) error) error {
	errs := make(chan error, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range n {
				if err := f(int64((w*n + i) % idealKeys)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	return <-errs
}

// ideal prints how the driver does beside the hand-made client, on a simulated cluster of two replicasets. alone: the servers' answers
// come from memory, so that the figures are the client's own time.
func ideal(out io.Writer, d time.Duration, only string, alone bool) error {
	cluster, cfg, err := simulate(2, 1)
	if err != nil {
		return err
	}
	defer cluster.Close()
	replay := &replays{dial: delayDial(0)}
	if alone {
		cfg.DialFunc = replay.connect
	}
	conn, db, stop, err := routed(cfg, options.WithRouting(options.RoutingKeys))
	if err != nil {
		return err
	}
	defer stop()
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, "CREATE TABLE ideal (id INT PRIMARY KEY, v TEXT) DISTRIBUTED BY (id)"); err != nil {
		return err
	}
	for k := range int64(idealKeys) {
		if _, err := db.ExecContext(ctx, "INSERT INTO ideal VALUES ($1, $2)", k, "a text of some length"); err != nil {
			return err
		}
	}
	fmt.Fprint(out, turnsHead)
	for _, workers := range []int{1, 16} {
		if alone && workers > 1 {
			break
		}
		h, err := newByHand(ctx, conn, cluster, cfg, workers)
		if err != nil {
			return err
		}
		const each = 50
		read := func(row *sql.Row) error {
			var v string
			return row.Scan(&v)
		}
		measure := func(name string, all []contender) error {
			if name = fmt.Sprintf("%s, %d workers", name, workers); !strings.Contains(name, only) {
				return nil
			}
			for i := range all {
				for range 5 { // to be answered later as now
					if err := all[i].once(ctx); err != nil {
						return err
					}
				}
			}
			replay.on.Store(alone)
			defer replay.on.Store(false)
			return turns(ctx, out, name, d, all)
		}
		err = measure("keyed SELECT", []contender{
			{name: "by hand", units: workers * each, once: func(ctx context.Context) error {
				return shared(workers, each, func(k int64) error { return read(h.selects[h.owners[k]].QueryRowContext(ctx, k)) })
			}},
			{name: "picodata", units: workers * each, once: func(ctx context.Context) error {
				return shared(workers, each, func(k int64) error { return read(db.QueryRowContext(ctx, "SELECT v FROM ideal WHERE id = $1", k)) })
			}},
		})
		if err == nil {
			err = measure("keyed INSERT", []contender{
				{name: "by hand", units: workers * each, once: func(ctx context.Context) error {
					return shared(workers, each, func(k int64) error { _, err := h.inserts[h.owners[k]].ExecContext(ctx, k, "x"); return err })
				}},
				{name: "picodata", units: workers * each, once: func(ctx context.Context) error {
					return shared(workers, each, func(k int64) error {
						_, err := db.ExecContext(ctx, "INSERT INTO ideal VALUES ($1, $2) ON CONFLICT DO REPLACE", k, "x")
						return err
					})
				}},
			})
		}
		h.close()
		if err != nil {
			return err
		}
	}
	return nil
}
