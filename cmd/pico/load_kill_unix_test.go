//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

// TestLoadSurvivesKill: a process that is killed or interrupted in the middle of a load leaves a state that the next one goes on with; nothing is lost or doubled.
func TestLoadSurvivesKill(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	if err := c.Exec("create table cities (id int primary key, name text)"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const rows = 6000
	file, state := citiesFile(t, dir, rows), filepath.Join(dir, "state")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	load := func() (*exec.Cmd, *bytes.Buffer) {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), childArgs+"="+strings.Join([]string{"load", "--dsn", c.DSN(), "--resume", state, "--resume-every", "1000", file, "cities"}, "\n"))
		said := &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = said, said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, said
	}
	count := func() (n, sum string) {
		got, err := c.Query("select count(*), sum(id) from cities")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(got[0][0]), fmt.Sprint(got[0][1])
	}
	for _, end := range []os.Signal{os.Kill, os.Interrupt} {
		var seen atomic.Int64
		// The statement is in, and its answer isn't out, behind the first note and before the last.
		hold := c.HoldAt(picotest.BeforeAnswer(), picotest.SQL("INSERT INTO"), func(*picotest.Statement) bool { return seen.Add(1) > 20 })
		cmd, said := load()
		if err := hold.Wait(ctx, 1); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(end); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || end == os.Interrupt && exit.ExitCode() != exitFaults {
			t.Fatalf("%v: %v\n%s", end, err, said)
		}
		hold.ReleaseAll()
		text, err := os.ReadFile(state)
		if n, _ := count(); err != nil || strings.Contains(string(text), `"rows":0}`) || n == fmt.Sprint(rows) {
			t.Fatalf("%v: %s, %v; %s rows are in", end, text, err, n)
		}
	}
	cmd, said := load()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if n, sum := count(); n != fmt.Sprint(rows) || sum != fmt.Sprint(rows*(rows-1)/2) {
		t.Errorf("%s rows, their sum %s\n%s", n, sum, said)
	}
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Errorf("the state is still there: %v", err)
	}
}
