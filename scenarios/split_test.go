package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// severalRows is an INSERT of the rows from a number on, and its arguments.
func severalRows(head, tail string, from, rows int) (string, []any) {
	var b strings.Builder
	b.WriteString(head)
	var args []any
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "($%d, $%d)", 2*i+1, 2*i+2)
		args = append(args, from+i, fmt.Sprint("item ", from+i))
	}
	return b.String() + tail, args
}

// untilTablesAreRead waits until the driver knows the table's key.
func untilTablesAreRead(t *testing.T, conn *picodata.Connector) {
	t.Helper()
	query, args := severalRows("insert into items values ", "", 0, 100)
	untilPlanned(t, conn, "several_owners", query, args...)
}

// split_inserts=on: an INSERT of rows of several owners goes to each owner at once, with nothing forwarded, however it is
// written; off, in a Tx, with a hint, and where a value is a literal it goes as it is.
func TestSplitInserts(t *testing.T) {
	c, db, conn := loading(t, picotest.Config{}, options.WithSplitInserts(true), options.WithTransactions(options.TransactionsAutocommit))
	untilTablesAreRead(t, conn)
	next := 0
	insert := func(head, tail string, run func(query string, args []any) (int64, error)) []picotest.Statement {
		t.Helper()
		query, args := severalRows(head, tail, next, 100)
		next += 100
		before := len(c.Statements(picotest.SQL("insert into")))
		n, err := run(query, args)
		if err != nil || n != 100 || countItems(t, db) != int64(next) {
			t.Fatalf("%s: %d, %v; %d rows", head, n, err, countItems(t, db))
		}
		return c.Statements(picotest.SQL("insert into"))[before:]
	}
	plain := func(query string, args []any) (int64, error) {
		r, err := db.ExecContext(t.Context(), query, args...)
		if err != nil {
			return 0, err
		}
		return r.RowsAffected()
	}
	for _, form := range [][2]string{
		{"insert into items values ", ""},
		{"INSERT INTO items (id, name) VALUES ", ""},
		{`insert into "items" ("id", "name") values`, " on conflict do nothing;"},
		{"insert into /* why */ items values ", " -- at the end"},
	} {
		owners := map[string]bool{}
		for _, s := range insert(form[0], form[1], plain) {
			if s.Hops != 0 {
				t.Errorf("%.60q: forwarded", s.SQL)
			}
			owners[s.Node] = true
		}
		if len(owners) != 2 {
			t.Errorf("%s: handed to %v", form[0], owners)
		}
	}
	whole := func(name string, run func(query string, args []any) (int64, error)) {
		if got := insert("insert into items values ", "", run); len(got) != 1 {
			t.Errorf("%s: %d statements", name, len(got))
		}
	}
	whole("a Tx", func(query string, args []any) (int64, error) {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			return 0, err
		}
		r, err := tx.ExecContext(t.Context(), query, args...)
		if err != nil {
			return 0, err
		}
		n, _ := r.RowsAffected()
		return n, tx.Commit()
	})
	whole("a hint", func(query string, args []any) (int64, error) {
		r, err := db.ExecContext(picodata.ToLeader(t.Context()), query, args...)
		if err != nil {
			return 0, err
		}
		return r.RowsAffected()
	})
	whole("a literal", func(query string, args []any) (int64, error) {
		return plain(strings.Replace(query, "$2)", "upper($2))", 1), args)
	})
}

// One owner refuses: the error tells which rows are in and which aren't, and is what it is.
func TestSplitInsertTellsWhatIsApplied(t *testing.T) {
	_, db, conn := loading(t, picotest.Config{}, options.WithSplitInserts(true))
	untilTablesAreRead(t, conn)
	mustExec(t, db, "insert into items values ($1, $2)", 50, "there")
	query, args := severalRows("insert into items values ", "", 0, 100)
	_, err := db.ExecContext(context.Background(), query, args...)
	var e *picodata.InsertError
	if !errors.As(err, &e) || !picodata.IsUniqueViolation(err) || picodata.IsOutcomeUnknown(err) {
		t.Fatal(err)
	}
	r := e.Result
	if r.Rows != 100 || r.Inserted+r.Failed+r.Unsent != 100 || int64(len(r.FailedRows)) != r.Failed || countItems(t, db) != 1+r.Inserted || picodata.MayBePartial(err) != (r.Inserted > 0) {
		t.Errorf("%+v: %d rows, partial %v", r, countItems(t, db), picodata.MayBePartial(err))
	}
}
