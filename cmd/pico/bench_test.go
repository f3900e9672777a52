package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

// readResult reads what pico bench --json printed.
func readResult(t *testing.T, text string) *result {
	t.Helper()
	var r result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return &r
}

// tables counts the tables of users.
func tables(t *testing.T, c *picotest.Cluster) int {
	t.Helper()
	rows, err := c.Query("select name from _pico_table")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range rows {
		if name := fmt.Sprint(r[0]); !strings.HasPrefix(name, "_pico") {
			n++
		}
	}
	return n
}

// TestBench: the figures are what the servers counted, and the table is gone.
func TestBench(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	if err := c.Exec("create table others (id int primary key)"); err != nil {
		t.Fatal(err)
	}
	s := newSession(c)
	mix := "read=5,insert=3,update=2,delete=1,count=1,one=1"
	out, diag, code := s.run(t, "bench", "--json", "--count", "400", "--workers", "4", "--rows", "50", "--mix", mix)
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	r := readResult(t, out)
	if r.Total.Count != 400 || r.Total.Errors != 0 || len(r.Kinds) != 6 || len(r.Nodes) != 4 || len(r.Errors) != 0 || r.Workers != 4 {
		t.Errorf("%+v", r)
	}
	var kinds, nodes, points uint64
	share := 0.0
	for _, f := range r.Kinds {
		kinds += f.Count
	}
	for _, f := range r.Nodes {
		nodes += f.Count
		share += f.Share
		if f.Role != "leader" && f.Role != "replica" {
			t.Errorf("%s is %q", f.Name, f.Role)
		}
		name, _, _ := strings.Cut(f.Name, "@")
		served := 0
		for _, st := range c.Statements() {
			if st.Node == name && (st.SQL == "SELECT 1" || strings.Contains(st.SQL, ownTable)) && st.Kind != "DDL" {
				served++
			}
		}
		// The servers have also counted the 50 rows of the beginning.
		if uint64(served) < f.Count || uint64(served) > f.Count+50 {
			t.Errorf("%s: %d by the report, %d by the server", name, f.Count, served)
		}
	}
	for _, p := range r.Points {
		points += p.Count
	}
	if kinds != 400 || nodes != 400 || points != 400 || share < 0.999 || share > 1.001 {
		t.Errorf("kinds %d, nodes %d, points %d, shares %v", kinds, nodes, points, share)
	}
	l := r.Total.Latency
	if !(0 < l.Min && l.Min <= l.P50 && l.P50 <= l.P90 && l.P90 <= l.P95 && l.P95 <= l.P99 && l.P99 <= l.P999 && l.P999 <= l.P9999 && l.P9999 <= l.Max) {
		t.Errorf("%+v", l)
	}
	if r.Routing["routed"] == 0 {
		t.Errorf("no insert was routed: %v", r.Routing)
	}
	if n := tables(t, c); n != 1 {
		t.Errorf("%d tables are left, want the one of others", n)
	}
	wants(t, diag, "Table: pico_bench_")
	if strings.Contains(diag, "█") || strings.Contains(diag, "·") {
		t.Errorf("a bar was drawn where there is no terminal: %q", diag)
	}
	// The same for people.
	out = s.must(t, "bench", "--count", "20", "--rows", "5", "--duration", "1m")
	wants(t, out, "STATEMENT", "NODE", "total", "100.0%", "Routing: ", "i1@")
}

// TestBenchInterrupted: what is under way ends, the result is printed and the table dropped.
func TestBenchInterrupted(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := newSession(c)
	hold := c.Hold(picotest.SQL("select payload from pico_bench"))
	ctx, interrupt := context.WithCancel(context.WithoutCancel(t.Context()))
	defer interrupt()
	go func() {
		_ = hold.Wait(t.Context(), 3)
		interrupt()
		hold.ReleaseAll()
	}()
	out, diag, code := s.runContext(ctx, t, "bench", "--json", "--duration", "1h", "--workers", "3", "--rows", "5", "--mix", "read=1")
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	if r := readResult(t, out); r.Total.Count < 3 || r.Total.Errors != 0 {
		t.Errorf("%+v", r.Total)
	}
	if n := tables(t, c); n != 0 {
		t.Errorf("%d tables are left", n)
	}
}

// TestBenchOwnStatements: they are asked about if they may write, and their failures are counted by kind.
func TestBenchOwnStatements(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	if err := c.Exec("create table orders (id int primary key, item text null)"); err != nil {
		t.Fatal(err)
	}
	count := func() string {
		rows, err := c.Query("select count(*) from orders")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(rows[0][0])
	}
	s := newSession(c)
	insert := []string{"bench", "--sql", "INSERT INTO orders VALUES ($1, $2)", "--arg", "{seq 1}", "--arg", "{text 5}", "--count", "30", "--json"}
	for _, answer := range []string{"", "n\n", "no\n"} {
		s.in = strings.NewReader(answer)
		_, diag, code := s.run(t, insert...)
		if code != exitFailed || count() != "0" {
			t.Errorf("answer %q: exit code %d, %s rows", answer, code, count())
		}
		wants(t, diag, "may change data", "INSERT INTO orders", "Go on? [y/N]", "nothing was run")
	}
	s.in = strings.NewReader("y\n")
	if out, diag, code := s.run(t, insert...); code != exitDone || count() != "30" {
		t.Errorf("exit code %d, %s rows: %s%s", code, count(), out, diag)
	}
	// Once more with --yes: now every key is there.
	out, _, code := s.run(t, append(insert, "--yes")...)
	r := readResult(t, out)
	if code != exitFaults || r.Total.Errors != 30 || len(r.Errors) != 1 || r.Errors[0].Kind != "server: unique violation" && !strings.Contains(r.Errors[0].Kind, "unique") {
		t.Errorf("exit code %d, %+v", code, r.Errors)
	}
	// Plain reads aren't asked about.
	file := filepath.Join(t.TempDir(), "shop.yaml")
	text := "- {name: by key, weight: 3, sql: 'SELECT item FROM orders WHERE id = $1', args: ['{int 1..30}']}\n- {sql: SELECT count(*) FROM orders}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r = readResult(t, s.must(t, "bench", "--statements", file, "--count", "40", "--json"))
	if len(r.Kinds) != 2 || r.Kinds[0].Name != "by key" || r.Kinds[1].Name != "statement 2" || r.Kinds[0].Count <= r.Kinds[1].Count || r.Total.Count != 40 {
		t.Errorf("%+v", r.Kinds)
	}
	if n := tables(t, c); n != 1 {
		t.Errorf("%d tables", n)
	}
}

// logWatch is a slog.Handler that tells when a message came.
type logWatch chan string

func (logWatch) Enabled(context.Context, slog.Level) bool { return true }

func (w logWatch) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	select {
	case w <- text:
	default: // nobody waits for what comes after thousands of lines
	}
	return nil
}

func (w logWatch) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w logWatch) WithGroup(string) slog.Handler      { return w }

// until waits for a message with all parts.
func (w logWatch) until(ctx context.Context, parts ...string) {
	for {
		select {
		case text := <-w:
			if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) }) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// TestBenchFaults: what happens to the cluster is in the report, in words and with the names of instances.
func TestBenchFaults(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := newSession(c)
	s.env[dsnVariable] = with(c.DSN(), "topology_update_interval=10ms&instance_ejection_failure_threshold=1")
	log := make(logWatch, 10_000)
	s.tool.logger = slog.New(log)
	ctx, interrupt := context.WithCancel(context.WithoutCancel(t.Context()))
	defer interrupt()
	hold := c.Hold(picotest.SQL("select payload from pico_bench"))
	go func() {
		_ = hold.Wait(t.Context(), 2) // the measuring has begun
		c.Node("i4").Refuse()
		c.Node("i4").DropConnections()
		c.SwitchLeader("default_1", "i2")
		hold.ReleaseAll()
		log.until(t.Context(), "node ejected", "i4")
		_ = c.WaitLeader(t.Context(), "i2")
		c.AddInstance("default_2")
		log.until(t.Context(), "instance joined", "i5") // a reading that began after the switch
		c.AddInstance("default_2")
		log.until(t.Context(), "instance joined", "i6") // and one after that was told to everybody
		interrupt()
	}()
	out, diag, code := s.runContext(ctx, t, "bench", "--json", "--duration", "1h", "--workers", "2", "--rows", "5", "--mix", "read=1")
	if code != exitDone && code != exitFaults {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	r := readResult(t, out)
	var all []string
	for _, f := range r.Faults {
		all = append(all, f.What)
	}
	text := strings.Join(all, "\n")
	wants(t, text, "instance changed role: i2, ", "replicaset has a leader: default_1, ", " → i2", "node ejected: i4@", "instance joined: i5")
	if regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-`).MatchString(text) {
		t.Errorf("uuids instead of names:\n%s", text)
	}
}

// TestHeard: of the driver's log the report has ejections with their causes, and of failed dials the first.
func TestHeard(t *testing.T) {
	began := time.Unix(100, 0)
	rec := newRecorder(began, time.Second)
	log := newEventLog(nil)
	log.onEvent(rec.heard)
	say := func(after time.Duration, level slog.Level, message string, attrs ...slog.Attr) {
		r := slog.NewRecord(began.Add(after), level, "picodata: "+message, 0)
		r.AddAttrs(append(attrs, slog.String("node", "i1"), slog.String("address", "h:1"))...)
		if err := log.Handle(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	refused := slog.Any("error", errors.New("picodata: i1 (h:1): dial: refused"))
	say(time.Second, slog.LevelInfo, "dial failed", refused)
	say(2*time.Second, slog.LevelInfo, "dial failed", refused)
	say(2*time.Second, slog.LevelWarn, "node ejected", slog.Duration("for", time.Second))
	say(3*time.Second, slog.LevelInfo, "node joined")
	say(4*time.Second, slog.LevelInfo, "node readmitted")
	say(60*time.Second, slog.LevelInfo, "dial failed", refused)
	say(200*time.Second, slog.LevelWarn, "node ejected", slog.Duration("for", time.Second))
	var got []string
	for _, f := range rec.faults {
		got = append(got, fmt.Sprintf("%v %s", time.Duration(f.At), f.What))
	}
	want := []string{"1s dial failed: i1@h:1: refused", "2s node ejected: i1@h:1: refused, for 1s", "4s node readmitted: i1@h:1", "1m0s dial failed: i1@h:1: refused", "3m20s node ejected: i1@h:1: its connections failed, for 1s"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for i := range 2 * maxFaults {
		rec.event(began, fmt.Sprint(i))
	}
	if len(rec.faults) != maxFaults || rec.more != maxFaults+len(want) {
		t.Errorf("%d faults and %d more", len(rec.faults), rec.more)
	}
}

// TestRateCountsFromDue: with a rate, a cluster that is slower than it makes statements wait, and their latency
// counts the wait. The time is the bubble's.
func TestRateCountsFromDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := picotest.Start(t, picotest.Config{Network: picotest.Memory, Tiers: []picotest.Tier{{Replicasets: 1, ReplicationFactor: 1}}})
		defer c.Close()
		s := newSession(c)
		s.env[dsnVariable] = with(c.DSN(), "topology_update_interval=1h")
		hold := c.Hold(picotest.SQL("select 'held'"))
		go func() {
			for range 4 {
				_ = hold.Wait(context.Background(), 1)
				time.Sleep(500 * time.Millisecond) // of the bubble: each statement takes half a second
				hold.Release(1)
			}
		}()
		r := readResult(t, s.must(t, "bench", "--json", "--sql", "select 'held'", "--rate", "10", "--duration", "2s", "--workers", "1"))
		// Due at 0, 0.1, 0.2 and 0.3 s; done at 0.5, 1, 1.5 and 2 s.
		if r.Total.Count != 4 || r.Total.Latency.Max < 1690 || r.Total.Latency.Max > 1720 || r.Total.Latency.Min < 499 || r.Total.Latency.Min > 520 {
			t.Errorf("%+v", r.Total)
		}
	})
}

// TestRateIsKept: ten a second for two seconds are twenty.
func TestRateIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := picotest.Start(t, picotest.Config{Network: picotest.Memory})
		defer c.Close()
		s := newSession(c)
		r := readResult(t, s.must(t, "bench", "--json", "--sql", "select 1", "--rate", "10", "--duration", "2s"))
		if r.Total.Count != 20 || r.Seconds < 1.89 || r.Seconds > 2.01 {
			t.Errorf("%d in %v s", r.Total.Count, r.Seconds)
		}
	})
}

// TestProgressBar: on a terminal, in one line, and gone at the end.
func TestProgressBar(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	s := newSession(c)
	s.tool.terminal = func(io.Writer) (int, bool) { return 100, true }
	_, diag, code := s.run(t, "bench", "--count", "20", "--rows", "5")
	if code != exitDone {
		t.Errorf("exit code %d", code)
	}
	wants(t, diag, "\r[", "%", "statements", "0 errors\x1b[K")
	if !strings.HasSuffix(diag, "\r\x1b[K") {
		t.Errorf("the bar is still there: %q", diag)
	}
	b := &bench{load: load{duration: 10 * time.Second}}
	rec := newRecorder(time.Unix(100, 0), time.Second)
	rec.done("read", "n", time.Unix(101, 0), time.Unix(102, 0), nil)
	if got := b.bar(rec, time.Unix(105, 0), 80); got != "[████████████████················]  50%  1 statements  0/s  p99 1.00 s  0 errors" {
		t.Errorf("%q", got)
	}
}

// TestCellsDouble: a run that is longer than foreseen keeps all counts in fewer, wider intervals.
func TestCellsDouble(t *testing.T) {
	began := time.Unix(100, 0)
	rec := newRecorder(began, time.Second)
	for i := range 1000 {
		at := began.Add(time.Duration(i) * time.Second)
		var err error
		if i%10 == 0 {
			err = errors.New("x")
		}
		rec.done("read", []string{"a", "b", ""}[i%3], at, at.Add(time.Millisecond), err)
	}
	if rec.width != 8*time.Second || len(rec.cells) != 125 {
		t.Errorf("%d cells of %v", len(rec.cells), rec.width)
	}
	var good uint64
	var bad, nodes int
	for i := range rec.cells {
		good += rec.cells[i].hist.total
		bad += rec.cells[i].errors
		for _, n := range rec.cells[i].nodes {
			nodes += n
		}
	}
	if good != 900 || bad != 100 || nodes != 900 || rec.nodes[nobody] == nil {
		t.Errorf("%d, %d, %d", good, bad, nodes)
	}
}

func TestGenerators(t *testing.T) {
	for _, bad := range []string{"{int 1}", "{int 5..1}", "{int -9223372036854775808..9223372036854775807}", "{seq}", "{text -1}", "{float 1}", "{text 9999999}", "int:x"} {
		if _, err := generator(bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	c := newChoice([]statement{{name: "a", weight: 3}, {name: "b", weight: 1}})
	if c.total != 4 {
		t.Errorf("%d", c.total)
	}
	for text, want := range map[string]string{
		"- {sql: SELECT 1, wieght: 2}":   "wieght",
		"- {name: x}":                    "no sql",
		"- {sql: SELECT 1, weight: 0}":   "weight 0",
		"- {sql: 'SELECT $1', args: []}": "1 parameters, and 0 arguments",
		"[]":                             "no statements",
		"- {name: a, sql: SELECT 1}\n- {name: a, sql: SELECT 2}": "two statements",
	} {
		file := filepath.Join(t.TempDir(), "x.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readStatements(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
