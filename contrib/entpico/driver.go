// Package entpico lets code that ent generated run on Picodata: a driver that rewrites what ent's PostgreSQL dialect asks for, and a migration.
//
//	client := store.NewClient(store.Driver(entpico.OpenDB(db, migrate.Tables...)))
//	err := entpico.Create(ctx, db, migrate.Tables...)
//
// Picodata has no sequences: give every entity its key (SetID, or a DefaultFunc of the id field). It has no transactions: ent updates one entity inside one, so
// the database has to be opened with transactions=autocommit.
package entpico

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
)

var (
	// ErrNoID: an entity without a key.
	ErrNoID = errors.New("entpico: Picodata makes no keys: give the entity its id (SetID, or a DefaultFunc of the id field)")
	// ErrUpsert: an upsert that DO REPLACE and DO NOTHING can't express.
	ErrUpsert = errors.New("entpico: Picodata has ON CONFLICT DO NOTHING and DO REPLACE, for conflicts of the primary key: use OnConflictColumns(id).UpdateNewValues(), Ignore() or DoNothing(), and give OpenDB the tables; for anything else picodata.Block")
	// ErrOffset: Picodata has no OFFSET.
	ErrOffset = errors.New("entpico: Picodata has no OFFSET; page by the key: Where(city.IDGT(last)).Order(store.Asc(city.FieldID)).Limit(n)")
	// ErrLocking: Picodata has no SELECT … FOR UPDATE.
	ErrLocking = errors.New("entpico: Picodata has no row locks (ForUpdate, ForShare)")
)

// OpenDB is entsql.OpenDB for Picodata. tables are what ent generated (migrate.Tables); upserts need to know their primary keys.
func OpenDB(db *sql.DB, tables ...*schema.Table) dialect.Driver {
	keys := map[string][]string{}
	for _, t := range tables {
		for _, c := range t.PrimaryKey {
			keys[t.Name] = append(keys[t.Name], c.Name)
		}
	}
	return &drv{entsql.OpenDB(dialect.Postgres, db), rewriter{keys}}
}

type drv struct {
	*entsql.Driver
	r rewriter
}

// Exec runs a statement without rows.
func (d *drv) Exec(ctx context.Context, query string, args, v any) error {
	return d.r.exec(ctx, d.Driver, query, args, v)
}

// Query runs a statement with rows.
func (d *drv) Query(ctx context.Context, query string, args, v any) error {
	return d.r.query(ctx, d.Driver, query, args, v)
}

// Tx begins a transaction, if the DSN says transactions=autocommit.
func (d *drv) Tx(ctx context.Context) (dialect.Tx, error) { return d.BeginTx(ctx, nil) }

// BeginTx is the same with options.
func (d *drv) BeginTx(ctx context.Context, opts *entsql.TxOptions) (dialect.Tx, error) {
	tx, err := d.Driver.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &transaction{tx, d.r}, nil
}

type transaction struct {
	dialect.Tx
	r rewriter
}

// Exec runs a statement without rows.
func (t *transaction) Exec(ctx context.Context, query string, args, v any) error {
	return t.r.exec(ctx, t.Tx, query, args, v)
}

// Query runs a statement with rows.
func (t *transaction) Query(ctx context.Context, query string, args, v any) error {
	return t.r.query(ctx, t.Tx, query, args, v)
}

// rewriter knows the primary keys of tables.
type rewriter struct{ keys map[string][]string }

func (r rewriter) exec(ctx context.Context, on dialect.ExecQuerier, query string, args, v any) error {
	query, err := r.rewrite(query)
	if err != nil {
		return err
	}
	return on.Exec(ctx, query, args, v)
}

// query runs an INSERT … RETURNING id without its end, and answers with the ids, which stand among the arguments.
func (r rewriter) query(ctx context.Context, on dialect.ExecQuerier, query string, args, v any) error {
	m := returning.FindStringSubmatchIndex(query)
	if m == nil {
		query, err := r.rewrite(query)
		if err != nil {
			return err
		}
		return on.Query(ctx, query, args, v)
	}
	insert, id := query[:m[0]], query[m[2]:m[3]]
	list, known := args.([]any)
	rows, into := v.(*entsql.Rows)
	if !known || !into {
		return fmt.Errorf("entpico: RETURNING with %T and %T, which this version of ent doesn't use", args, v)
	}
	ids, err := idsOf(insert, id, list)
	if err != nil {
		return err
	}
	if insert, err = r.rewrite(insert); err != nil {
		return err
	}
	if err := on.Exec(ctx, insert, args, nil); err != nil {
		return err
	}
	*rows = entsql.Rows{ColumnScanner: &idRows{column: id, ids: ids, at: -1}}
	return nil
}

var (
	returning  = regexp.MustCompile(` RETURNING "([^"]+)"$`)
	insertInto = regexp.MustCompile(`^INSERT INTO "([^"]+)" \(([^)]*)\) VALUES `)
	onConflict = regexp.MustCompile(` ON CONFLICT (?:\(([^)]*)\) )?DO (?:(NOTHING)|UPDATE SET (.*))$`)
	assignment = regexp.MustCompile(`^"([^"]+)" = (?:"(excluded|[^"]+)"\.)?"([^"]+)"$`)
	named      = regexp.MustCompile(`"[^"]*"|'(?:[^']|'')*'`)
	offset     = regexp.MustCompile(`\bOFFSET \d`)
	locking    = regexp.MustCompile(`\bFOR (?:UPDATE|SHARE|NO KEY UPDATE|KEY SHARE)\b`)
)

// rewrite makes Picodata's form of a statement of ent's.
func (r rewriter) rewrite(query string) (string, error) {
	bare := named.ReplaceAllString(query, `""`)
	switch {
	case offset.MatchString(bare):
		return "", ErrOffset
	case locking.MatchString(bare):
		return "", ErrLocking
	}
	m := onConflict.FindStringSubmatchIndex(query)
	into := insertInto.FindStringSubmatch(query)
	if m == nil || into == nil {
		return query, nil
	}
	part := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return query[m[2*i]:m[2*i+1]]
	}
	key := r.keys[into[1]]
	if len(key) == 0 || part(1) != "" && !slices.Equal(splitNames(part(1)), key) {
		return "", ErrUpsert
	}
	if part(2) != "" {
		return query[:m[0]] + " ON CONFLICT DO NOTHING", nil
	}
	var fresh, same []string // columns that take the new value, and those that keep theirs
	for _, set := range strings.Split(part(3), ", ") {
		a := assignment.FindStringSubmatch(set)
		switch {
		case a == nil || a[1] != a[3]:
			return "", ErrUpsert
		case a[2] == "excluded":
			fresh = append(fresh, a[1])
		default:
			same = append(same, a[1])
		}
	}
	replaces := len(same) == 0
	for _, column := range splitNames(into[2]) {
		replaces = replaces && (slices.Contains(fresh, column) || slices.Contains(key, column))
	}
	switch {
	case replaces:
		return query[:m[0]] + " ON CONFLICT DO REPLACE", nil
	case len(fresh) == 0:
		return query[:m[0]] + " ON CONFLICT DO NOTHING", nil
	}
	return "", ErrUpsert
}

// splitNames reads "a", "b".
func splitNames(list string) []string {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		names = append(names, strings.Trim(strings.TrimSpace(name), `"`))
	}
	return names
}

// idsOf finds the ids that an INSERT gives its rows.
func idsOf(insert, id string, args []any) ([]any, error) {
	into := insertInto.FindStringSubmatch(insert)
	if into == nil {
		return nil, ErrNoID
	}
	columns := splitNames(into[2])
	at := slices.Index(columns, id)
	if at < 0 {
		return nil, ErrNoID
	}
	values, _, _ := strings.Cut(insert[len(into[0]):], " ON CONFLICT ")
	var ids []any
	for row := range strings.SplitSeq(strings.Trim(values, "()"), "), (") {
		items := strings.Split(row, ", ")
		if len(items) != len(columns) {
			return nil, fmt.Errorf("entpico: a row of %d values for %d columns: %w", len(items), len(columns), ErrNoID)
		}
		n, err := strconv.Atoi(strings.TrimPrefix(items[at], "$"))
		if err != nil || n < 1 || n > len(args) {
			return nil, ErrNoID
		}
		ids = append(ids, args[n-1])
	}
	return ids, nil
}

// idRows are the rows that RETURNING would give.
type idRows struct {
	column string
	ids    []any
	at     int
}

func (r *idRows) Close() error { return nil }
func (r *idRows) ColumnTypes() ([]*sql.ColumnType, error) {
	return nil, errors.New("entpico: no types")
}
func (r *idRows) Columns() ([]string, error) { return []string{r.column}, nil }
func (r *idRows) Err() error                 { return nil }
func (r *idRows) NextResultSet() bool        { return false }
func (r *idRows) Next() bool                 { r.at++; return r.at < len(r.ids) }

// Scan gives the row's id.
func (r *idRows) Scan(dest ...any) error {
	if len(dest) != 1 {
		return fmt.Errorf("entpico: %d destinations for one column", len(dest))
	}
	switch to := dest[0].(type) {
	case sql.Scanner:
		return to.Scan(r.ids[r.at])
	case *any:
		*to = r.ids[r.at]
	case *int64:
		_, err := fmt.Sscan(fmt.Sprint(r.ids[r.at]), to)
		return err
	case *string:
		*to = fmt.Sprint(r.ids[r.at])
	default:
		return fmt.Errorf("entpico: an id into %T", to)
	}
	return nil
}
