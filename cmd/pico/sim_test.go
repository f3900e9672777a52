package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestSim starts the simulation, connects to what it prints, kills a node by command, and interrupts it.
func TestSim(t *testing.T) {
	pipe := func() (*os.File, *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	diagR, diagW := pipe()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"sim", "--tier", "default:1:2"}, inR, outW, diagW)
	}()
	dsn, err := bufio.NewReader(outR).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	diag := bufio.NewReader(diagR)
	if line := readUntil(t, diag, "i2"); !strings.Contains(line, "replica") {
		t.Errorf("i2 is shown as %q", line)
	}
	readUntil(t, diag, "Serving")
	conn, err := pgx.Connect(t.Context(), strings.TrimSpace(dsn))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var version string
	if err := conn.QueryRow(t.Context(), "select version()").Scan(&version); err != nil || !strings.HasPrefix(version, "picodata 26.2") {
		t.Errorf("version %q, %v", version, err)
	}
	_, _ = io.WriteString(inW, "stop i1\nnonsense\nkill i9\nnodes\n")
	readUntil(t, diag, "nonsense: no such command")
	readUntil(t, diag, "kill: no node i9")
	if line := readUntil(t, diag, "i1"); !strings.Contains(line, "Offline") {
		t.Errorf("i1 is shown as %q after its stop", line)
	}
	interrupt()
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
}

func readUntil(t *testing.T, r *bufio.Reader, part string) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("waiting for %q: %v", part, err)
		}
		if strings.Contains(line, part) {
			return line
		}
	}
}

// TestBadFlags says what was expected.
func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"sim --tier x":                  "want NAME:REPLICASETS:REPLICATION_FACTOR",
		"sim --tier x:0:1":              "want NAME:REPLICASETS:REPLICATION_FACTOR",
		"sim --tls maybe":               "want off, on or mutual",
		"sim --server-version 24.1":     "25.2 is the oldest",
		"sim --tier a:1:1 --tier a:1:1": "is there twice",
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if code := run(t.Context(), strings.Fields(args), os.Stdin, os.Stdout, w); code != 1 {
			t.Errorf("%s: exit code %d", args, code)
		}
		_ = w.Close()
		text, _ := io.ReadAll(r)
		_ = r.Close()
		if !strings.Contains(string(text), want) {
			t.Errorf("%s: said %q, want %q", args, text, want)
		}
	}
}
