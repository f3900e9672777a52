package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/picodata/go-picodata/picotest"
)

// simulation is a pico sim under way.
type simulation struct {
	t         *testing.T
	in        *io.PipeWriter
	diag      *bufio.Reader
	dsn       string
	code      chan int
	interrupt context.CancelFunc
}

// startSim starts one and reads up to the line that says it serves.
func startSim(t *testing.T, tool *tool, args ...string) *simulation {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	diagR, diagW := io.Pipe()
	ctx, interrupt := context.WithCancel(context.WithoutCancel(t.Context()))
	s := &simulation{t: t, in: inW, diag: bufio.NewReader(diagR), code: make(chan int, 1), interrupt: interrupt}
	go func() {
		code := tool.run(ctx, append([]string{"sim"}, args...), inR, outW, diagW)
		_ = diagW.Close()
		_ = outW.Close()
		s.code <- code
	}()
	t.Cleanup(func() {
		interrupt()
		_ = inW.Close()
		_ = diagR.Close()
	})
	var err error
	if s.dsn, err = bufio.NewReader(outR).ReadString('\n'); err != nil {
		text, _ := io.ReadAll(diagR)
		t.Fatalf("%v: %s", err, text)
	}
	s.dsn = strings.TrimSpace(s.dsn)
	return s
}

// until reads lines up to one with that part, and returns it.
func (s *simulation) until(part string) string {
	s.t.Helper()
	for {
		line, err := s.diag.ReadString('\n')
		if err != nil {
			s.t.Fatalf("waiting for %q: %v", part, err)
		}
		if strings.Contains(line, part) {
			return line
		}
	}
}

func (s *simulation) say(lines string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, lines); err != nil {
		s.t.Fatal(err)
	}
}

// end waits for the exit code while what is still printed is read.
func (s *simulation) end() (code int, rest string) {
	text, _ := io.ReadAll(s.diag)
	return <-s.code, string(text)
}

// TestSim starts the simulation, connects to what it prints, stops a node by command, and interrupts it.
func TestSim(t *testing.T) {
	s := startSim(t, newTool(), "--tier", "default:1:2")
	if line := s.until("i2"); !strings.Contains(line, "replica") {
		t.Errorf("i2 is shown as %q", line)
	}
	s.until("Serving")
	conn, err := pgx.Connect(t.Context(), s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var version string
	if err := conn.QueryRow(t.Context(), "select version()").Scan(&version); err != nil || !strings.HasPrefix(version, "picodata 26.2") {
		t.Errorf("version %q, %v", version, err)
	}
	s.say("stop i1\nnonsense\nkill i9\nswitch default_1\ndelay i2 soon\nversion i2 1.0\nsql create table t (id int primary key)\nsql\nadd default_1\n\nnodes\n")
	if line := s.until("ok: stop i1"); !strings.Contains(line, "i1 is") || !strings.Contains(line, "counts it as Offline") {
		t.Errorf("the confirmation %q", line)
	}
	s.until("nonsense: no such command; help lists them")
	s.until("kill: no node i9")
	s.until("switch: want 2 arguments, got 1")
	s.until("delay: time: invalid duration")
	s.until("version: ")
	s.until("sql: want STATEMENT…")
	s.until("added i3")
	if line := s.until("i1 "); !strings.Contains(line, "Offline") {
		t.Errorf("i1 is shown as %q after its stop", line)
	}
	var n int
	if err := conn.QueryRow(t.Context(), "select count(*) from t").Scan(&n); err != nil && !strings.Contains(err.Error(), "closed") {
		t.Errorf("the table that a command made: %v", err)
	}
	s.interrupt()
	if code, rest := s.end(); code != exitDone {
		t.Errorf("exit code %d: %s", code, rest)
	}
}

// TestSimPrompt: somebody at a terminal is asked for commands, can ask which there are, and sees that they were done.
func TestSimPrompt(t *testing.T) {
	tool := newTool()
	tool.terminal = func(io.Writer) (int, bool) { return 80, true }
	tool.interactive = func(io.Reader) bool { return true }
	s := startSim(t, tool, "--tier", "default:1:1")
	s.until("Serving")
	s.say("help\nsql create table t (id int primary key)\nend\n")
	if line := s.until("who there is"); !strings.HasPrefix(line, "sim>   nodes") {
		t.Errorf("%q", line)
	}
	for _, v := range verbs()[1:] {
		s.until(v.help)
	}
	s.until("ok: sql create table t")
	if code, rest := s.end(); code != exitDone || rest != "sim> " {
		t.Errorf("exit code %d: %q", code, rest)
	}
}

// TestSimEnd: the command end ends it.
func TestSimEnd(t *testing.T) {
	s := startSim(t, newTool(), "--tier", "default:1:1")
	s.until("Serving")
	s.say("end\n")
	if code, rest := s.end(); code != exitDone {
		t.Errorf("exit code %d: %s", code, rest)
	}
}

// TestEveryVerb runs each command of the help once, so that none of them is only written down.
func TestEveryVerb(t *testing.T) {
	lines := map[string]string{
		"nodes": "nodes", "stop": "stop i2", "kill": "kill i4", "start": "start i4", "freeze": "freeze i3", "thaw": "thaw i3", "refuse": "refuse i3",
		"blackhole": "blackhole i3", "accept": "accept i3", "drop": "drop i3", "lag": "lag i4", "catchup": "catchup i4", "delay": "delay i3 1ms",
		"version": "version i3 26.1", "switch": "switch default_1 i2", "add": "add default_2", "expel": "expel i4", "sql": "sql create table t (id int primary key)", "help": "help",
	}
	for _, v := range verbs() {
		if v.name == "end" {
			continue
		}
		line, ok := lines[v.name]
		if !ok {
			t.Errorf("%s isn't tried", v.name)
			continue
		}
		c := picotest.Start(t, picotest.Config{})
		if err := command(c, line, io.Discard); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if args := strings.Fields(line); len(args) > 1 && v.name != "sql" && v.name != "add" {
			args[len(args)-1] = "i9"
			if v.name != "delay" && v.name != "version" {
				if err := command(c, strings.Join(args, " "), io.Discard); err == nil {
					t.Errorf("%s of a node that isn't there succeeds", v.name)
				}
			}
		}
		c.Close()
	}
}

// TestBadFlags says what was expected.
func TestBadFlags(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"sim --tier x":                  {exitUsage, "want NAME:REPLICASETS:REPLICATION_FACTOR"},
		"sim --tier x:0:1":              {exitUsage, "want NAME:REPLICASETS:REPLICATION_FACTOR"},
		"sim --tls maybe":               {exitUsage, "want off, on or mutual"},
		"sim --server-version 24.1":     {exitFailed, "25.2 is the oldest"},
		"sim --tier a:1:1 --tier a:1:1": {exitFailed, "is there twice"},
		"sim here":                      {exitUsage, "1 arguments, and none is known"},
		"sim --scenario nowhere.yaml":   {exitFailed, "nowhere.yaml"},
	} {
		_, diag, code := newSession(nil).run(t, strings.Fields(args)...)
		if code != want.code {
			t.Errorf("%s: exit code %d, want %d", args, code, want.code)
		}
		wants(t, diag, want.text)
	}
}
