package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// citiesFile is a file of so many cities: their ids count from 0.
func citiesFile(t *testing.T, dir string, rows int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,name\n")
	for i := range rows {
		fmt.Fprintf(&b, "%d,city %d\n", i, i)
	}
	file := filepath.Join(dir, "cities.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestLoadResumes: a load that broke off goes on where it was, loses nothing and doubles nothing, and says what it can't go on with.
func TestLoadResumes(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Statements: 100_000})
	if err := c.Exec("create table cities (id int primary key, name text)"); err != nil {
		t.Fatal(err)
	}
	s := newSession(c)
	dir := t.TempDir()
	const rows = 5000
	file, state := citiesFile(t, dir, rows), filepath.Join(dir, "state")
	load := []string{"load", "--resume", state, "--resume-every", "1000", file, "cities"}
	var seen atomic.Int64
	fault := c.CloseAfter(picotest.BeforeAnswer(), picotest.SQL("INSERT INTO"), func(*picotest.Statement) bool { return seen.Add(1) == 25 })
	_, diag, code := s.run(t, load...)
	if code != exitFaults || fault.Count() != 1 {
		t.Fatalf("exit code %d, %d faults: %s", code, fault.Count(), diag)
	}
	text, err := os.ReadFile(state)
	if err != nil || strings.Contains(string(text), `"rows":0}`) {
		t.Fatalf("%s, %v", text, err)
	}
	_, diag, code = s.run(t, "load", "--resume", state, file, "towns")
	if code != exitFailed {
		t.Errorf("another table: exit code %d", code)
	}
	wants(t, diag, "remove it to begin anew")
	c.ResetCounters()
	s.must(t, load...)
	got, err := c.Query("select count(*), sum(id) from cities")
	if err != nil || fmt.Sprint(got[0][0]) != fmt.Sprint(rows) || fmt.Sprint(got[0][1]) != fmt.Sprint(rows*(rows-1)/2) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Errorf("the state is still there: %v", err)
	}
	// Rows that are refused are remembered over the parts, and reach the rejects.
	left := filepath.Join(dir, "left.csv")
	if err := c.Exec("delete from cities where id > 10"); err != nil {
		t.Fatal(err)
	}
	_, diag, code = s.run(t, append(load, "--max-errors", "20", "--rejects", left)...)
	if code != exitFaults {
		t.Errorf("exit code %d", code)
	}
	wants(t, diag, "11 rows in "+left)
	if got, err := c.Query("select count(*) from cities"); err != nil || fmt.Sprint(got[0][0]) != fmt.Sprint(rows) {
		t.Errorf("%v, %v", got, err)
	}
}
