package bunpico

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/uptrace/bun"
)

var (
	// ErrReturning: Picodata has no RETURNING. bun would leave the clause out without a word.
	ErrReturning = errors.New("bunpico: Picodata has no RETURNING; make keys in the program, and read the rows by them")
	// ErrOffset: Picodata has no OFFSET.
	ErrOffset = errors.New("bunpico: Picodata has no OFFSET; page by the key: Where(\"id > ?\", last).Order(\"id\").Limit(n)")
	// ErrLocking: Picodata has no SELECT … FOR UPDATE.
	ErrLocking = errors.New("bunpico: Picodata has no row locks (SELECT … FOR UPDATE); compute in the UPDATE itself, or use picodata.Block")
	// ErrDoUpdate: ON CONFLICT DO UPDATE exists from 26.2 on, inside blocks only.
	ErrDoUpdate = errors.New("bunpico: ON CONFLICT DO UPDATE is possible inside picodata.Block only; On(\"CONFLICT DO NOTHING\") and On(\"CONFLICT DO REPLACE\") everywhere")
	// ErrDistinctOn: Picodata has no DISTINCT ON.
	ErrDistinctOn = errors.New("bunpico: Picodata has no DISTINCT ON; use Distinct, or GROUP BY with an aggregate")
	// ErrSetOperation: Picodata has UNION, UNION ALL and EXCEPT, without the parentheses that bun writes.
	ErrSetOperation = errors.New("bunpico: Picodata has neither INTERSECT nor EXCEPT ALL, and reads no parentheses around the parts of a UNION or EXCEPT, as bun writes them: use IN (SELECT …), or NewRaw(\"SELECT … UNION SELECT …\")")
	// ErrRecursive: Picodata has no WITH RECURSIVE.
	ErrRecursive = errors.New("bunpico: Picodata has no WITH RECURSIVE; walk in the program, level by level")
	// ErrTableOption: what CREATE TABLE can't say.
	ErrTableOption = errors.New("bunpico: Picodata has no temporary tables, partitions, tablespaces, foreign keys, defaults, unique constraints or checks in CREATE TABLE; bunpico.CreateTable says where a table lives")
	// ErrUpdateFrom: an UPDATE or DELETE takes no CTE.
	ErrUpdateFrom = errors.New("bunpico: Picodata has no WITH in front of UPDATE and DELETE, and so no Bulk; update the rows one by one, or in a picodata.Batch")
)

// NewDB is bun.NewDB with this dialect and the Hook.
func NewDB(db *sql.DB, opts ...bun.DBOption) *bun.DB {
	return bun.NewDB(db, New(), opts...).WithQueryHook(Hook())
}

// Hook refuses, before anything is sent, what Picodata lacks, with an error that says what to do instead. Without it bun leaves
// RETURNING out without a word, and of the rest the server says no more than where it stopped reading.
func Hook() bun.QueryHook { return hook{} }

type hook struct{}

// BeforeQuery is bun.QueryHook's.
func (hook) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	if err := lacking(event); err != nil {
		return refused{ctx, err}
	}
	return ctx
}

// AfterQuery is bun.QueryHook's.
func (hook) AfterQuery(context.Context, *bun.QueryEvent) {}

// refused is a context that is over: database/sql asks it before it looks for a connection, and returns its error.
type refused struct {
	context.Context
	err error
}

var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done is closed.
func (refused) Done() <-chan struct{} { return over }

// Err says what Picodata lacks.
func (r refused) Err() error { return r.err }

// quoted are strings and names, in which any word may stand.
var quoted = regexp.MustCompile(`'(?:[^']|'')*'|"(?:[^"]|"")*"`)

var lacks = []struct {
	words *regexp.Regexp
	err   error
}{
	{regexp.MustCompile(`(?i)\bRETURNING\b`), ErrReturning},
	{regexp.MustCompile(`(?i)\bOFFSET\s+\d`), ErrOffset},
	{regexp.MustCompile(`(?i)\bFOR\s+(NO\s+KEY\s+UPDATE|UPDATE|SHARE|KEY\s+SHARE)\b`), ErrLocking},
	{regexp.MustCompile(`(?i)\bDO\s+UPDATE\b`), ErrDoUpdate},
	{regexp.MustCompile(`(?i)\bDISTINCT\s+ON\b`), ErrDistinctOn},
	{regexp.MustCompile(`(?i)\b(INTERSECT|EXCEPT\s+ALL)\b|^\s*\(SELECT\b`), ErrSetOperation},
	{regexp.MustCompile(`(?i)^\s*WITH\s+RECURSIVE\b`), ErrRecursive},
	{regexp.MustCompile(`(?i)^\s*WITH\b.*\)\s*(UPDATE|DELETE)\b`), ErrUpdateFrom},
	{regexp.MustCompile(`(?i)^\s*CREATE\s+TEMP|^\s*CREATE\s+TABLE\b.*\b(PARTITION\s+BY|TABLESPACE|REFERENCES|DEFAULT|UNIQUE|CHECK)\b`), ErrTableOption},
}

// lacking says what a query asks for that there isn't.
func lacking(event *bun.QueryEvent) error {
	if returns(event.IQuery) {
		return ErrReturning
	}
	text := quoted.ReplaceAllString(strings.ReplaceAll(event.Query, "\n", " "), "''")
	if len(text) > 3 && strings.EqualFold(text[:3], "DO ") {
		return nil // a block has a language of its own
	}
	for _, l := range lacks {
		if l.words.MatchString(text) {
			return l.err
		}
	}
	return nil
}

// returns reports whether somebody called Returning, which bun keeps in a field of its own: the columns that it would like back by itself, such as
// those with a default, stand elsewhere, and are rightly left out. Returning("") and Returning("NULL") ask for none.
func returns(q bun.Query) bool {
	v := reflect.ValueOf(q)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return false
	}
	list := v.Elem().FieldByName("returning")
	if !list.IsValid() || list.Kind() != reflect.Slice {
		return false
	}
	for i := range list.Len() {
		if text := list.Index(i).FieldByName("Query"); text.IsValid() && text.String() != "" && text.String() != "NULL" {
			return true
		}
	}
	return false
}

// DefaultBatchRows is how many rows InsertBatches puts into one INSERT. A statement that moves more than sql_motion_row_max rows (5000 unless
// the cluster says otherwise) is refused.
const DefaultBatchRows = 1000

// InsertBatches inserts rows with as many INSERTs as it takes, of size rows each; 0 is DefaultBatchRows. change may be nil; it gets each query before it
// runs, for On and the like. It returns how many rows are in. The statements are not atomic together: an error says how many rows went before.
func InsertBatches[T any](ctx context.Context, db bun.IDB, rows []T, size int, change func(*bun.InsertQuery)) (int64, error) {
	if size <= 0 {
		size = DefaultBatchRows
	}
	var in int64
	for from := 0; from < len(rows); from += size {
		part := rows[from:min(from+size, len(rows))]
		q := db.NewInsert().Model(&part)
		if change != nil {
			change(q)
		}
		result, err := q.Exec(ctx)
		if err != nil {
			return in, fmt.Errorf("bunpico: the first %d of %d rows are done: %w", from, len(rows), err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return in, err
		}
		in += n
	}
	return in, nil
}
