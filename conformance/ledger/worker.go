package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/conformance/internal/account"
)

const (
	// stride separates the keys of workers; what is below the first one nobody writes.
	stride = 1_000_000
	// seeds is how many rows and counters each worker has from the beginning.
	seeds = 16
)

// worker runs statements of one kind, one after another.
type worker struct {
	id, kind int
	book     *book
	db       *sql.DB
	conn     *picodata.Connector
	prepared *sql.Stmt // an INSERT, shared by all workers
	// exec runs a write; a test puts a driver there that lies.
	exec func(ctx context.Context, query string, args ...any) (sql.Result, error)
	// home, if set, are the replicasets that own the worker's keys; healthy: no event hurts one of them.
	home    map[string]bool
	healthy bool
	seeds   []int // ids of its first rows and counters that are at home

	next, turn int
}

// at tells whether a key is at home. What can't be told counts as that.
func (w *worker) at(ctx context.Context, id int) bool {
	if w.home == nil {
		return true
	}
	p, err := w.conn.Explain(ctx, insertRow, id, "")
	return err != nil || p.Replicaset == "" || w.home[p.Replicaset]
}

// key is a new one.
func (w *worker) key() int {
	const most = 1000
	for range most {
		w.next++
		if id := w.id*stride + seeds + w.next; w.at(context.Background(), id) {
			return id
		}
	}
	return w.id*stride + seeds + w.next
}

// seed is one of the first keys, in turn.
func (w *worker) seed() int {
	w.turn++
	return w.seeds[w.turn%len(w.seeds)]
}

// prepare writes the worker's first rows and counters.
func (w *worker) prepare(ctx context.Context, db *sql.DB) error {
	w.seeds = w.seeds[:0]
	var rows, numbers []string
	for i := range seeds {
		id := w.id*stride + i
		rows = append(rows, fmt.Sprintf("(%d, '%s')", id, value(id)))
		numbers = append(numbers, fmt.Sprintf("(%d, 0)", id))
		if w.at(ctx, id) {
			w.seeds = append(w.seeds, id)
		}
		w.book.wrote(w.book.rows, w.kind, account.Acknowledged, id)
		w.book.wrote(w.book.globals, w.kind, account.Acknowledged, id)
	}
	if len(w.seeds) == 0 {
		return fmt.Errorf("none of %d keys is at home in %v", seeds, w.home)
	}
	for table, list := range map[string][]string{"ledger_rows": rows, "ledger_globals": rows, "ledger_counters": numbers} {
		if _, err := db.ExecContext(ctx, "INSERT INTO "+table+" VALUES "+strings.Join(list, ", ")); err != nil {
			return fmt.Errorf("the first rows of %s: %w", table, err)
		}
	}
	return nil
}

// work runs statements until end is closed, each within limit and with a pause behind it.
func (w *worker) work(end <-chan struct{}, limit, pause time.Duration, busy *atomic.Int64) {
	for {
		select {
		case <-end:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		busy.Add(1) // the first of two statements counts too
		if st := kinds[w.kind].next(w, ctx); st.run != nil {
			began := time.Now()
			err := st.run(ctx)
			w.book.note(w.kind, w.healthy, began, err)
			if st.said != nil {
				st.said(err)
			}
		}
		busy.Add(-1)
		cancel()
		if pause > 0 {
			time.Sleep(pause)
		}
	}
}
