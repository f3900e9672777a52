package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// shop starts a cluster with two tables and an index.
func shop(t *testing.T) *session {
	t.Helper()
	c := picotest.Start(t, picotest.Config{})
	for _, text := range []string{
		"create table orders (id int not null, item text, price decimal, primary key (id)) distributed by (id)",
		"create table words (a text primary key, b int) distributed globally",
		"create index orders_item on orders (item)",
		"insert into orders values (1, 'tea', 1.50), (2, null, 20)",
	} {
		if err := c.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	return newSession(c)
}

// TestShell: statements over several lines, what they answer, where they ran; an error is told and the rest goes on.
func TestShell(t *testing.T) {
	s := shop(t)
	s.in = strings.NewReader(`
-- a comment; with a semicolon
SELECT id, item,
  price FROM orders WHERE item = 'tea' OR item = 'a;b';
\route
\timing
insert into orders values (3, 'x;y', 1); SELECT nonsense;
delete from orders where id = 3;
create table third (id int primary key);
\d
\route INSERT INTO orders VALUES (1, 'a', 2)
\nonsense
select 'no semicolon at the end'`)
	out, diag, code := s.run(t, "shell")
	if code != exitFaults {
		t.Errorf("exit code %d, want that of a failed statement", code)
	}
	wants(t, out, " id | item | price ", "  1 | tea  | 1.5", "no semicolon at the end", " orders | by (id) in tier default | memtx  |       3 ", " third ", " words  | global", "reason")
	wants(t, diag, "(1 row)", "route is on", "1 row changed", "Route: i", "@", "Time: ", "ERROR: ", "nonsense", `no such command; \? lists them`, "ok\n")
}

// TestShellDescribe: tables and indexes in words, from the system tables, where psql's own queries fail.
func TestShellDescribe(t *testing.T) {
	s := shop(t)
	out, diag, code := s.run(t, "shell", "-c", `\d ORDERS`, "-c", `\di`, "-c", `\di words`)
	if code != exitDone {
		t.Errorf("exit code %d: %s", code, diag)
	}
	wants(t, out, " id     | INTEGER | not null | primary key 1", " item   | TEXT    |", " price  | DECIMAL |", "orders_item", "true")
	wants(t, diag, "Table orders, distributed by (id) in tier default, engine memtx", "Index orders_item: tree (item)")
	if strings.Contains(out, "bucket_id") {
		t.Errorf("the server's own column is shown:\n%s", out)
	}
	_, diag, code = s.run(t, "shell", "-c", `\d absent`)
	if code != exitFaults {
		t.Errorf("exit code %d", code)
	}
	wants(t, diag, "there is no table absent")
}

// TestShellFormats: what a program reads is on standard output alone.
func TestShellFormats(t *testing.T) {
	s := shop(t)
	query := "SELECT id, item, price FROM orders ORDER BY id"
	if out := s.must(t, "shell", "--format", "csv", "-c", query); out != "id,item,price\n1,tea,1.5\n2,,20\n" && out != "id,item,price\n1,tea,1.50\n2,,20\n" {
		t.Errorf("%q", out)
	}
	out := s.must(t, "shell", "-c", `\format json`, "-c", query)
	if !strings.HasPrefix(out, `{"id":1,"item":"tea","price":`) || !strings.Contains(out, "\n"+`{"id":2,"item":null,`) {
		t.Errorf("%q", out)
	}
	_, diag, code := s.run(t, "shell", "--format", "xml")
	if code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	wants(t, diag, "want table, csv or json")
}

// TestShellFile: \i runs a file, \q ends.
func TestShellFile(t *testing.T) {
	s := shop(t)
	file := filepath.Join(t.TempDir(), "a.sql")
	if err := os.WriteFile(file, []byte("insert into orders values (10, 'a', 1);\nselect count(*) from orders"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.in = strings.NewReader(`\i ` + file + "\n" + `\q` + "\nnever run;")
	out, diag, code := s.run(t, "shell")
	if code != exitDone {
		t.Errorf("exit code %d: %s", code, diag)
	}
	wants(t, out, "3")
	wants(t, diag, "1 row changed")
}

func TestSplitStatements(t *testing.T) {
	for text, want := range map[string]string{
		"a; b;c":                      "a| b//c",
		"'a;b';":                      "'a;b'//",
		"'it''s;';x":                  "'it''s;'//x",
		`"a;b" /* ; */ -- ;` + "\n;":  `"a;b" /* ; */ -- ;` + "\n//",
		"do $$ begin a; b; end $$; c": "do $$ begin a; b; end $$// c",
		"'open;":                      "//'open;",
		"/* open;":                    "///* open;",
		"":                            "//",
	} {
		list, rest := splitStatements(text)
		if got := strings.Join(list, "|") + "//" + rest; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzSplitStatements(f *testing.F) {
	for _, text := range []string{"a;b", "'a;", "$$;$$;", "--\n;", "/*;*/;", `";";`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, rest := splitStatements(text)
		if got := strings.Join(append(list, rest), ";"); got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func TestCompletion(t *testing.T) {
	asked := 0
	v := &vocabulary{read: func(context.Context) []string { asked++; return []string{"orders", "id", "item", "id"} }}
	for _, x := range []struct{ line, head, want, tail string }{
		{"select * from or", "select * from ", "orders|or|order", ""},
		{"SEL", "", "SELECT ", ""},
		{"select orders.i", "select orders.", "id|item|in|index|inner|insert|into|is", ""},
		{`\t`, "", `\timing|\topology`, ""},
		{"sélect i", "sélect ", "id|item|in|index|inner|insert|into|is", ""},
	} {
		head, words, tail := v.complete(t.Context(), x.line, len([]rune(x.line)))
		if head != x.head || strings.Join(words, "|") != x.want || tail != x.tail {
			t.Errorf("%q: %q %q %q", x.line, head, words, tail)
		}
	}
	if asked != 1 {
		t.Errorf("the tables were read %d times", asked)
	}
	if v.forget(); v.known {
		t.Error("DDL leaves the old names")
	}
	if !slices.IsSorted(metaNames) {
		t.Error("unsorted")
	}
	for _, m := range metaNames {
		wants(t, shellHelp, m+" ")
	}
	if !secretText("alter user a with password 'x'") || secretText("select 1") {
		t.Error("what goes into the history")
	}
}
