package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/conformance/internal/account"
)

// statement is one call of a program: how it is made, and what is noted of its answer.
type statement struct {
	run func(ctx context.Context) error
	// said gets run's error; nil: there is nothing to note beyond that.
	said func(err error)
}

// kinds are the kinds of statement. A worker runs statements of one kind only, so that one that waits holds up
// no other.
var kinds = []struct {
	name string
	next func(w *worker, ctx context.Context) statement
}{
	{"keyed INSERT", (*worker).insert},
	{"keyed UPDATE", (*worker).update},
	{"keyed SELECT", (*worker).selects},
	{"keyed DELETE", (*worker).remove},
	{"INSERT of 3 rows", (*worker).insertMany},
	{"unkeyed UPDATE", (*worker).updateRange},
	{"SELECT by replica", (*worker).selectReplica},
	{"global INSERT", (*worker).insertGlobal},
	{"global SELECT", (*worker).selectGlobal},
	{"Tx of 2 writes", (*worker).tx},
	{"prepared INSERT", (*worker).insertPrepared},
	{"Batch of 4", (*worker).batch},
	{"Insert of 16 rows", (*worker).load},
}

// keyed is how many of the kinds, the first ones, need one replicaset alone, and which one can be told.
const keyed = 4

// insertRow is the INSERT of one row, whose owner every server and the driver can tell.
const insertRow = "INSERT INTO ledger_rows (id, v) VALUES ($1, $2)"

// value is what a row holds, so that one that was mixed up is recognised.
func value(id int) string { return fmt.Sprintf("v%d-%d", id, id*7919) }

func (w *worker) insertOf(query string, of map[int]*row, exec func(ctx context.Context, query string, args ...any) (sql.Result, error)) statement {
	id := w.key()
	return statement{
		run: func(ctx context.Context) error {
			_, err := exec(ctx, query, id, value(id))
			return err
		},
		said: func(err error) { w.wrote(of, err, id) },
	}
}

// wrote notes an INSERT's answer. Nobody else has these keys: a duplicate is the driver's own.
func (w *worker) wrote(of map[int]*row, err error, ids ...int) {
	s := account.Verdict(err)
	if picodata.IsUniqueViolation(err) {
		w.book.wrong(w.kind, account.Doubled, 1, "rows %v: a duplicate key of rows that nobody else has: %v", ids, err)
		s = account.InDoubt
	}
	w.book.wrote(of, w.kind, s, ids...)
}

func (w *worker) insert(context.Context) statement {
	return w.insertOf(insertRow, w.book.rows, w.exec)
}

func (w *worker) insertGlobal(context.Context) statement {
	return w.insertOf("INSERT INTO ledger_globals (id, v) VALUES ($1, $2)", w.book.globals, w.exec)
}

func (w *worker) insertPrepared(context.Context) statement {
	return w.insertOf("", w.book.rows, func(ctx context.Context, _ string, args ...any) (sql.Result, error) {
		return w.prepared.ExecContext(ctx, args...)
	})
}

func (w *worker) insertMany(context.Context) statement {
	a, b, c := w.key(), w.key(), w.key()
	return statement{
		run: func(ctx context.Context) error {
			_, err := w.exec(ctx, "INSERT INTO ledger_rows (id, v) VALUES ($1, $2), ($3, $4), ($5, $6)", a, value(a), b, value(b), c, value(c))
			return err
		},
		said: func(err error) { w.wrote(w.book.rows, err, a, b, c) },
	}
}

// count is the increment of one counter.
const count = "UPDATE ledger_counters SET n = n + 1 WHERE id = $1"

func (w *worker) update(context.Context) statement {
	id := w.seed()
	return statement{
		run: func(ctx context.Context) error {
			_, err := w.exec(ctx, count, id)
			return err
		},
		said: func(err error) { w.book.counted(w.kind, account.Verdict(err), id) },
	}
}

func (w *worker) updateRange(context.Context) statement {
	return statement{
		run: func(ctx context.Context) error {
			_, err := w.exec(ctx, "UPDATE ledger_counters SET n = n + 1 WHERE id >= $1 AND id < $2", w.id*stride, w.id*stride+seeds)
			return err
		},
		said: func(err error) { w.book.counted(w.kind, account.Verdict(err), w.seeds...) },
	}
}

// read is a SELECT of one of the worker's first rows, which are there before anything breaks.
func (w *worker) read(table string, by func(context.Context) context.Context) statement {
	id := w.seed()
	var got string
	return statement{
		run: func(ctx context.Context) error {
			return w.db.QueryRowContext(by(ctx), "SELECT v FROM "+table+" WHERE id = $1", id).Scan(&got)
		},
		said: func(err error) {
			if errors.Is(err, sql.ErrNoRows) || err == nil && got != value(id) {
				w.book.wrong(w.kind, account.Lied, 1, "row %d of %s holds %q (%v)", id, table, got, err)
			}
		},
	}
}

func plain(ctx context.Context) context.Context { return ctx }

func (w *worker) selects(context.Context) statement      { return w.read("ledger_rows", plain) }
func (w *worker) selectGlobal(context.Context) statement { return w.read("ledger_globals", plain) }
func (w *worker) selectReplica(context.Context) statement {
	return w.read("ledger_rows", picodata.ToReplica)
}

// remove deletes a row that it makes before; if that isn't acknowledged there is nothing to delete, and nothing to count.
func (w *worker) remove(ctx context.Context) statement {
	id := w.key()
	if _, err := w.db.ExecContext(ctx, insertRow, id, value(id)); err != nil {
		w.wrote(w.book.rows, err, id)
		return statement{}
	}
	w.wrote(w.book.rows, nil, id)
	return statement{
		run: func(ctx context.Context) error {
			_, err := w.exec(ctx, "DELETE FROM ledger_rows WHERE id = $1", id)
			return err
		},
		said: func(err error) { w.book.removed(id, account.Verdict(err)) },
	}
}

// tx is two writes in a transaction that the driver runs one by one: each has its own answer.
func (w *worker) tx(context.Context) statement {
	id, number := w.key(), w.seed()
	var first, second error
	began, went := false, false
	return statement{
		run: func(ctx context.Context) error {
			tx, err := w.db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			began = true
			if _, first = tx.ExecContext(ctx, insertRow, id, value(id)); first != nil {
				return errors.Join(first, tx.Rollback())
			}
			went = true
			if _, second = tx.ExecContext(ctx, count, number); second != nil {
				return errors.Join(second, tx.Rollback())
			}
			return tx.Commit()
		},
		said: func(error) {
			if began {
				w.wrote(w.book.rows, first, id)
			}
			if went {
				w.book.counted(w.kind, account.Verdict(second), number)
			}
		},
	}
}

func (w *worker) batch(context.Context) statement {
	ids := []int{w.key(), w.key(), w.key()}
	number := w.seed()
	b := picodata.NewBatch()
	for _, id := range ids {
		b.Queue(insertRow, id, value(id))
	}
	b.Queue(count, number)
	return statement{
		run: func(ctx context.Context) error { return b.Run(ctx, w.db) },
		said: func(error) {
			for i, it := range b.Items() {
				if i < len(ids) {
					w.wrote(w.book.rows, it.Err(), ids[i])
				} else {
					w.book.counted(w.kind, account.Verdict(it.Err()), number)
				}
			}
		},
	}
}

func (w *worker) load(context.Context) statement {
	var ids []int
	for range 16 {
		ids = append(ids, w.key())
	}
	var result picodata.InsertResult
	return statement{
		run: func(ctx context.Context) (err error) {
			result, err = picodata.Insert(ctx, w.db, "ledger_rows", []string{"id", "v"}, func(yield func([]any) bool) {
				for _, id := range ids {
					if !yield([]any{id, value(id)}) {
						return
					}
				}
			})
			return err
		},
		said: func(err error) {
			for i, id := range ids {
				s := account.Acknowledged
				switch n := int64(i); {
				case slices.Contains(result.UnknownRows, n):
					s = account.InDoubt
				case n >= result.Rows, slices.Contains(result.FailedRows, n), slices.Contains(result.UnsentRows, n):
					s = account.Refused
				}
				w.book.wrote(w.book.rows, w.kind, s, id)
			}
		},
	}
}
