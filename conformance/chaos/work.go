package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	picodata "github.com/picodata/go-picodata"
)

// counters is the number of rows that all workers increment.
const counters = 64

// hostile are texts that users may have in their tables and statements: word for word what servers say when a statement
// hasn't run, may be run again, or has an unknown fate.
var hostile = []string{
	"Couldn't find statement 'x'.", "Statement storage is full. Current size limit: 2.", "Readonly: Can't modify data on a read-only instance - box.cfg.read_only is true",
	"Timeout exceeded", "TupleFound: Duplicate key exists in unique index", "storage schema version different from router",
	"Bucket 7 cannot be found. Is rebalancing in progress?", `cannot satisfy "forward = off"`,
}

// quoteKeys are the ids of table quotes among the counters: behind the others, a row that can be cast for each that
// can't.
var quoteKeys = func() (keys []int) {
	for i := range 2 * len(hostile) {
		keys = append(keys, counters+i)
	}
	return keys
}()

// patience is what a read is given that isn't meant to be cut short. Every outage is over long before.
const patience = 20 * time.Second

// value is what a row holds, so that one that was mixed up is recognised.
func value(key int) string { return "v" + strconv.Itoa(key) + "-" + strconv.Itoa(key*7919) }

// worker runs one statement after another.
type worker struct {
	id     int
	db     *sql.DB
	l      *ledger
	rnd    *rand.Rand
	read   *sql.Stmt // shared by all workers
	insert *sql.Stmt
	next   int
	mine   []int // keys that were acknowledged
}

// stride separates the keys of the workers.
const stride = 10_000_000

func (w *worker) key() int {
	w.next++
	return w.id*stride + w.next
}

// wrote notes the answer to an INSERT of keys.
func (w *worker) wrote(err error, keys ...int) {
	w.l.writes.Add(1)
	w.l.wrote(err, keys...)
	if err == nil {
		w.mine = append(w.mine, keys...)
	}
}

// short is a context that ends at some moment of the statement, or before it.
func (w *worker) short(ctx context.Context) (context.Context, context.CancelFunc) {
	w.l.cancelled.Add(1)
	if w.rnd.IntN(2) == 0 {
		return context.WithTimeout(ctx, time.Duration(w.rnd.IntN(5000))*time.Microsecond)
	}
	ctx, cancel := context.WithCancel(ctx)
	t := time.AfterFunc(time.Duration(w.rnd.IntN(3000))*time.Microsecond, cancel)
	return ctx, func() { t.Stop(); cancel() }
}

func (w *worker) work(ctx context.Context) {
	for ctx.Err() == nil {
		w.one(context.WithoutCancel(ctx))
	}
}

// one runs one statement.
func (w *worker) one(ctx context.Context) {
	long, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch w.rnd.IntN(17) {
	case 0, 1:
		k := w.key()
		_, err := w.insert.ExecContext(long, k, value(k))
		w.wrote(err, k)
	case 2:
		k := w.key()
		_, err := w.db.ExecContext(long, fmt.Sprintf("insert into ledger values (%d, '%s')", k, value(k)))
		w.wrote(err, k)
	case 3:
		k := w.key()
		short, end := w.short(ctx)
		_, err := w.insert.ExecContext(short, k, value(k))
		end()
		w.wrote(err, k)
	case 4:
		a, b, c := w.key(), w.key(), w.key()
		_, err := w.db.ExecContext(long, "insert into ledger values ($1, $2), ($3, $4), ($5, $6)", a, value(a), b, value(b), c, value(c))
		w.wrote(err, a, b, c)
	case 5:
		k := w.key()
		_, err := w.db.ExecContext(picodata.Idempotent(long), "insert into ledger values ($1, $2) on conflict do nothing", k, value(k))
		w.wrote(err, k)
	case 6:
		k := w.rnd.IntN(counters)
		_, err := w.db.ExecContext(long, "update counters set n = n + 1 where id = $1", k)
		w.l.writes.Add(1)
		w.l.counted(err, k)
	case 7:
		w.checkout(long)
	case 8:
		w.byRange(long)
	case 12:
		// The second row isn't of a form that is read: nobody may take the text for an INSERT of one row.
		a, b, c := w.key(), w.key(), w.key()
		_, err := w.db.ExecContext(long, "insert into ledger values ($1, $2), ((select max(id) - max(id) + $3 from counters), $4), ($5, $6)", a, value(a), b, value(b), c, value(c))
		w.wrote(err, a, b, c)
	case 13:
		first := w.rnd.IntN(counters - 8)
		keys := []int{first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6, first + 7}
		_, err := w.db.ExecContext(long, "update counters set n = n + 1 where id >= $1 and id < $2", first, first+8)
		w.l.writes.Add(1)
		w.l.counted(err, keys...)
	case 14:
		// Some rows can be cast and some can't: a storage refuses, in words that quote the row's.
		_, err := w.db.ExecContext(long, "update quotes set n = n + 1 + cast(s as int)")
		w.l.writes.Add(1)
		w.l.counted(err, quoteKeys...)
	case 15:
		if len(w.mine) == 0 {
			return
		}
		a, b, there := w.key(), w.key(), w.mine[w.rnd.IntN(len(w.mine))]
		_, err := w.db.ExecContext(long, "insert into ledger values ($1, $2), ($3, $4), ($5, $6)", a, value(a), there, value(there), b, value(b))
		w.l.writes.Add(1)
		w.l.collided(err, a, b)
	case 16:
		k := w.key()
		said := hostile[w.rnd.IntN(len(hostile))]
		_, err := w.db.ExecContext(long, fmt.Sprintf("insert into ledger values (%d, case when '%s' = 'x' then 'y' else '%s' end)", k, strings.ReplaceAll(said, "'", "''"), value(k)))
		w.wrote(err, k)
	case 9:
		short, end := w.short(ctx)
		w.byKey(short, "select id, v from ledger where id = $1 and 1 = 1")
		end()
	default:
		w.byKey(long, "")
	}
}

// byKey reads one of the worker's own rows, which must be there. query "": by the prepared statement.
func (w *worker) byKey(ctx context.Context, query string) {
	if len(w.mine) == 0 {
		return
	}
	k := w.mine[w.rnd.IntN(len(w.mine))]
	var id int
	var v string
	var err error
	if query == "" {
		err = w.read.QueryRowContext(ctx, k).Scan(&id, &v)
	} else {
		err = w.db.QueryRowContext(ctx, query, k).Scan(&id, &v)
	}
	w.l.reads.Add(1)
	w.l.read(ctx, fmt.Sprintf("key %d", k), err)
	if err == nil && (id != k || v != value(k)) {
		w.l.report("asked for key %d, got %d, %q", k, id, v)
	}
}

// byRange reads some of the worker's rows, and sometimes leaves before the end.
func (w *worker) byRange(ctx context.Context) {
	if len(w.mine) == 0 {
		return
	}
	first := w.mine[w.rnd.IntN(len(w.mine))]
	last := first + 20
	want := 0
	for _, k := range w.mine {
		if k >= first && k < last {
			want++
		}
	}
	leave := w.rnd.IntN(4) == 0
	w.l.reads.Add(1)
	rows, err := w.db.QueryContext(ctx, "select id, v from ledger where id >= $1 and id < $2", first, last)
	if err != nil {
		w.l.read(ctx, "a range", err)
		return
	}
	defer rows.Close()
	seen := map[int]bool{}
	for rows.Next() {
		var id int
		var v string
		if err := rows.Scan(&id, &v); err != nil {
			w.l.report("a range: %v", err)
			return
		}
		if id < first || id >= last || v != value(id) || seen[id] {
			w.l.report("asked for keys %d to %d, got %d, %q (again: %v)", first, last, id, v, seen[id])
		}
		seen[id] = true
		if leave {
			w.l.done(nil)
			return
		}
	}
	if err := rows.Err(); err != nil && len(seen) > 0 {
		w.l.done(err) // a row had been delivered: nobody may run it again
		return
	}
	w.l.read(ctx, "a range", rows.Err())
	if rows.Err() != nil {
		return
	}
	missing := 0
	for _, k := range w.mine {
		if k >= first && k < last && !seen[k] {
			missing++
		}
	}
	if missing > 0 {
		w.l.report("keys %d to %d: %d of %d acknowledged rows are missing, and there was no error", first, last, missing, want)
	}
}

// checkout runs a few statements on one sql.Conn.
func (w *worker) checkout(ctx context.Context) {
	c, err := w.db.Conn(ctx)
	if err != nil {
		w.l.report("db.Conn: %v", err)
		return
	}
	defer c.Close()
	for range 3 {
		k := w.key()
		_, err := c.ExecContext(ctx, "insert into ledger values ($1, $2)", k, value(k))
		w.wrote(err, k)
		if err != nil {
			continue
		}
		var v string
		err = c.QueryRowContext(ctx, "select v from ledger where id = $1", k).Scan(&v)
		w.l.reads.Add(1)
		w.l.read(ctx, fmt.Sprintf("key %d on a sql.Conn", k), err)
		if err == nil && v != value(k) {
			w.l.report("asked for key %d, got %q", k, v)
		}
	}
}
