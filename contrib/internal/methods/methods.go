// Package methods runs what a library's builders ask for against a simulated cluster, and writes the table of what works.
package methods

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// Try uses one method. A wrong result is an error of Want's.
type Try func(ctx context.Context, db *sql.DB) error

// Builder is one type of a library.
type Builder struct {
	Name  string
	Of    reflect.Type // all of whose methods are tried, or are plumbing; nil: those of Tries alone
	Tries map[string]Try
	// Plumbing are methods, apart by blanks, that change nothing of what is sent, or that another builder's row tells.
	Plumbing string
}

// Want is an error unless got is as it should be.
func Want(err error, got, want any) error {
	if err == nil && !reflect.DeepEqual(got, want) {
		return fmt.Errorf("silent: got %v, want %v", got, want)
	}
	return err
}

// Affected wants a number of rows of a result.
func Affected(result sql.Result, err error) func(rows int64) error {
	return func(rows int64) error {
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		return Want(err, n, rows)
	}
}

// Page runs all tries, each beside tables pets and owners of its own, and holds the page's table against what came of them. UPDATE_DOCS=1 writes it.
func Page(t *testing.T, page, test string, builders []Builder) {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| type | methods | outcome | in words |\n| --- | --- | --- | --- |\n")
	for _, builder := range builders {
		if builder.Of != nil {
			untried(t, builder)
		}
		var works, refused []string
		for _, name := range slices.Sorted(maps.Keys(builder.Tries)) {
			err := builder.Tries[name](t.Context(), seeded(t))
			switch words, explained := explanation(err); {
			case err == nil:
				works = append(works, "`"+name+"`")
			case explained:
				refused = append(refused, fmt.Sprintf("| `%s` | `%s` | explained error | %s |\n", builder.Name, name, strings.ReplaceAll(words, "|", `\|`)))
			default:
				t.Errorf("%s.%s fails without an explanation: %v", builder.Name, name, err)
			}
		}
		if len(works) > 0 {
			fmt.Fprintf(&b, "| `%s` | %s | works | |\n", builder.Name, strings.Join(works, ", "))
		}
		b.WriteString(strings.Join(refused, ""))
	}
	fmt.Fprintf(&b, "<!-- holds: %s -->\n\nNone is silent: each was run against a cluster, and its result compared.\n\n", test)
	InDocument(t, page, b.String())
}

// untried complains of methods that nobody uses.
func untried(t *testing.T, b Builder) {
	t.Helper()
	plumbing := strings.Fields(b.Plumbing)
	for i := range b.Of.NumMethod() {
		if name := b.Of.Method(i).Name; b.Tries[name] == nil && !slices.Contains(plumbing, name) {
			t.Errorf("%s.%s isn't tried", b.Name, name)
		}
	}
}

// explanation is what a refusal says to do instead: the driver's, or the library's own.
func explanation(err error) (words string, ok bool) {
	var e *picodata.Error
	switch {
	case err == nil || strings.HasPrefix(err.Error(), "silent: "):
		return "", false
	case errors.As(err, &e):
		return e.Help, e.Help != ""
	}
	return err.Error(), true
}

// seeded is a database with three pets of two owners.
func seeded(t *testing.T) *sql.DB {
	t.Helper()
	c := picotest.Start(t, picotest.Config{})
	db, err := sql.Open("picodata", c.AdminDSN()+"&transactions=autocommit")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, text := range []string{
		"create table owners (id int primary key, name text)",
		"create table pets (id int primary key, owner_id int, name text)",
		"insert into owners values (1, 'one'), (2, 'two')",
		"insert into pets values (1, 1, 'a'), (2, 1, 'b'), (3, 2, 'c')",
	} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// InDocument compares, or with UPDATE_DOCS=1 writes, what stands between the marks of a page.
func InDocument(t *testing.T, page, table string) {
	t.Helper()
	const begin, end = "<!-- methods:begin -->\n", "<!-- methods:end -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	got, after, closed := strings.Cut(rest, end)
	switch {
	case !found || !closed:
		t.Errorf("%s has no marks", page)
	case got == table:
	case os.Getenv("UPDATE_DOCS") == "":
		t.Errorf("%s isn't what running the methods gives; UPDATE_DOCS=1 go test writes it", page)
	default:
		if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Error(err)
		}
	}
}
