package scenarios_test

import (
	"errors"
	"strings"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// What other databases have and Picodata's grammar hasn't is named, with what to write instead, before the server's
// list of tokens.
func TestWhatThePicodataGrammarLacks(t *testing.T) {
	_, db, _ := startDB(t, picotest.Config{})
	mustExec(t, db, "create table t (id int primary key, v text)")
	for _, c := range []struct {
		text string
		args []any
		says string
	}{
		{"select * from t limit $1", []any{1}, "no parameter in LIMIT"},
		{"select * from t limit 1 offset 2", nil, "no OFFSET"},
		{"insert into t values (1, 'x') returning id", nil, "no RETURNING"},
		{"listen jobs", nil, "no LISTEN"},
		{"selec 1", nil, ""},
	} {
		_, err := db.ExecContext(t.Context(), c.text, c.args...)
		var e *picodata.Error
		if !errors.As(err, &e) || !strings.Contains(e.Help, c.says) || (c.says == "") != (e.Help == "") {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if !strings.HasPrefix(err.Error(), "picodata: "+e.Help) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// db.Prepare of a block knows how many arguments it takes.
func TestPreparedBlock(t *testing.T) {
	_, db, _ := startDB(t, picotest.Config{})
	mustExec(t, db, "create table t (id int primary key, v text)")
	stmt, err := db.PrepareContext(t.Context(), "do $$ begin insert into t values ($1, $2); end $$")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	for i := range 5 {
		if _, err := stmt.Exec(i, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stmt.Exec(1); err == nil {
		t.Error("one argument is taken for two")
	}
}
