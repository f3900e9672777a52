package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// documented is an event as docs/observability.md describes it.
type documented struct {
	levels, attributes []string
}

var eventRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([a-z, ]+) \\| ([^|]*) \\|")

// documentedEvents reads the tables between the marks of a page.
func documentedEvents(t *testing.T, page string) map[string]documented {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(text), "<!-- events:begin -->")
	part, _, closed := strings.Cut(part, "<!-- events:end -->")
	if !ok || !closed {
		t.Fatalf("%s has no list of events", page)
	}
	events := map[string]documented{}
	for _, m := range eventRow.FindAllStringSubmatch(part, -1) {
		var attrs []string
		for _, a := range strings.Split(m[3], ",") {
			if a = strings.Trim(a, " `"); a != "" && a != "–" {
				attrs = append(attrs, a)
			}
		}
		events[m[1]] = documented{strings.Split(m[2], ", "), attrs}
	}
	return events
}

// loggedEvents finds the names of all events in the driver's source: the messages of its log calls.
func loggedEvents(t *testing.T) []string {
	t.Helper()
	var names []string
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"metadata", "balancer", "options", "internal"} {
		err := filepath.WalkDir("../"+dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if at := messageOf(call); at >= 0 {
					names = append(names, namesOf(t, fset, call.Args[at])...)
				}
			}
			return true
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// messageOf says which argument of a call is a log message; -1: it isn't a log call.
func messageOf(call *ast.CallExpr) int {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return -1
	}
	switch x := s.X.(type) { // who logs: something called log, or the result of logger()
	case *ast.Ident:
		if x.Name != "log" {
			return -1
		}
	case *ast.SelectorExpr:
		if x.Sel.Name != "log" && x.Sel.Name != "Logger" {
			return -1
		}
	case *ast.CallExpr:
		if l, ok := x.Fun.(*ast.SelectorExpr); !ok || l.Sel.Name != "logger" {
			return -1
		}
	default:
		return -1
	}
	switch s.Sel.Name {
	case "Debug", "Info", "Warn", "Error":
		return 0
	case "DebugContext", "InfoContext", "WarnContext", "ErrorContext":
		return 1
	case "Log", "LogAttrs":
		return 2
	}
	return -1
}

// namesOf is what a message may be. It is a constant, or a constant and the kind of an event.
func namesOf(t *testing.T, fset *token.FileSet, e ast.Expr) []string {
	prefix := func(l ast.Expr) string {
		lit, ok := l.(*ast.BasicLit)
		if !ok {
			t.Errorf("%s: a message that isn't constant", fset.Position(e.Pos()))
			return ""
		}
		text, _ := strconv.Unquote(lit.Value)
		name, ok := strings.CutPrefix(text, "picodata: ")
		if !ok {
			t.Errorf("%s: %q doesn't begin with picodata:", fset.Position(e.Pos()), text)
		}
		return name
	}
	sum, ok := e.(*ast.BinaryExpr)
	if !ok {
		return []string{prefix(e)}
	}
	var kinds []string
	first := prefix(sum.X)
	switch first {
	case "":
		for k := pool.EventKind(0); k.String() != "unknown event"; k++ {
			kinds = append(kinds, k.String())
		}
	case "topology: ":
		for k := metadata.Joined; k.String() != "unknown event"; k++ {
			kinds = append(kinds, first+k.String())
		}
	default:
		t.Errorf("%s: kinds of what?", fset.Position(e.Pos()))
	}
	return kinds
}

// docs/observability.md, in both languages, lists exactly the events that the driver logs.
func TestEventsAreDocumented(t *testing.T) {
	logged := loggedEvents(t)
	if len(logged) < 30 {
		t.Fatalf("only %d events: the test doesn't see them", len(logged))
	}
	english := documentedEvents(t, "../docs/observability.md")
	russian := documentedEvents(t, "../docs/ru/observability.md")
	for _, name := range logged {
		if _, ok := english[name]; !ok {
			t.Errorf("../docs/observability.md doesn't list %q", name)
		}
	}
	for name, e := range english {
		if !slices.Contains(logged, name) {
			t.Errorf("../docs/observability.md lists %q, which nobody logs", name)
		}
		if r, ok := russian[name]; !ok || !slices.Equal(r.levels, e.levels) || !slices.Equal(r.attributes, e.attributes) {
			t.Errorf("../docs/ru/observability.md has %q with %v, in English %v", name, r, e)
		}
	}
	if len(russian) != len(english) {
		t.Errorf("%d events in Russian, %d in English", len(russian), len(english))
	}
}

// logRecorder is a slog.Handler that keeps what it hears.
type logRecorder struct {
	mu      sync.Mutex
	records []slog.Record
	more    chan struct{} // gets a token with each record, if there is room
}

func newLogRecorder() *logRecorder { return &logRecorder{more: make(chan struct{}, 1)} }

func (l *logRecorder) Enabled(context.Context, slog.Level) bool { return true }
func (l *logRecorder) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logRecorder) WithGroup(string) slog.Handler            { return l }
func (l *logRecorder) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	l.records = append(l.records, r)
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return nil
}

func (l *logRecorder) all() []slog.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.records)
}

// wait waits for an event of this name about a node ("" = any).
func (l *logRecorder) wait(t *testing.T, name, node string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		for _, r := range l.all() {
			if r.Message == "picodata: "+name && (node == "" || attr(r, "node") == node) {
				return
			}
		}
		select {
		case <-l.more:
		case <-ctx.Done():
			for _, r := range l.all() {
				t.Log(r.Message, attr(r, "node"), attr(r, "error"))
			}
			t.Fatalf("no event %q of %q", name, node)
		}
	}
}

func attr(r slog.Record, key string) (value string) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == key {
			value = a.Value.String()
		}
		return a.Key != key
	})
	return value
}

// eventScene is a cluster, and a client whose log is kept.
type eventScene struct {
	cluster *picotest.Cluster
	db      *sql.DB
	log     *logRecorder
}

func (s *eventScene) query(t *testing.T, query string) error {
	rows, err := s.db.QueryContext(t.Context(), query)
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

// In scenes of a cluster's life every event has the levels and attributes that
// docs/observability.md lists, and the ones that the scene is about are there.
func TestEventsAsTheyHappen(t *testing.T) {
	known := documentedEvents(t, "../docs/observability.md")
	for _, scene := range []struct {
		name    string
		cluster picotest.Config
		options []options.Option
		run     func(t *testing.T, s *eventScene)
	}{
		{"membership", picotest.Config{}, nil, func(t *testing.T, s *eventScene) {
			s.log.wait(t, "topology known", "")
			s.log.wait(t, "node joined", "i4")
			in := s.cluster.AddInstance("default_1")
			s.log.wait(t, "topology: instance joined", in.Name())
			s.log.wait(t, "node joined", in.Name())
			if err := s.cluster.SwitchLeader("default_2", "i4").Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.log.wait(t, "topology: instance changed role", "i4")
			s.log.wait(t, "node changed", "i4")
			<-s.cluster.Node("i2").Stop()
			s.log.wait(t, "topology: instance changed state", "i2")
			s.log.wait(t, "node draining", "i2")
			s.log.wait(t, "node gone", "i2")
			if err := s.cluster.Expel("i2"); err != nil {
				t.Fatal(err)
			}
			s.log.wait(t, "topology: instance left", "i2")
		}},
		{"connections", picotest.Config{}, []options.Option{options.WithEjectionFailureThreshold(1), options.WithEjectionDuration(50 * time.Millisecond)}, func(t *testing.T, s *eventScene) {
			s.cluster.Node("i3").Refuse()
			s.cluster.Node("i3").DropConnections()
			for range 12 {
				if err := s.query(t, "select 1"); err != nil {
					t.Fatal(err)
				}
			}
			s.log.wait(t, "dial failed", "i3")
			s.log.wait(t, "node ejected", "i3")
			s.log.wait(t, "probe failed", "i3")
			s.cluster.Node("i3").Accept()
			s.log.wait(t, "node readmitted", "i3")
			s.log.wait(t, "connection opened", "i1")
		}},
		{"retries", picotest.Config{}, []options.Option{options.WithMirrorCompare(true)}, func(t *testing.T, s *eventScene) {
			s.cluster.CloseAfter(picotest.BeforeAnswer(), picotest.SQL("select 'a secret'"))
			if err := s.query(t, "select 'a secret'"); err != nil {
				t.Fatal(err)
			}
			s.log.wait(t, "statement is run again", "")
			s.log.wait(t, "connection closed", "")
			s.log.wait(t, "questionable setting", "")
		}},
		{"overflow", picotest.Config{}, []options.Option{options.WithNodeWeights(options.NodeRule{Selector: "i2", Value: 0}), options.WithMaxConnsPerInstance(1), options.WithMaxConns(3)},
			func(t *testing.T, s *eventScene) {
				hold := s.cluster.Hold(picotest.SQL("select 5"))
				defer hold.ReleaseAll()
				done := make(chan error, 4)
				for range 4 {
					go func() { done <- s.query(t, "select 5") }()
				}
				if err := hold.Wait(t.Context(), 4); err != nil {
					t.Fatal(err)
				}
				s.log.wait(t, "overflow", "i2")
				s.log.wait(t, "cap raised", "")
				hold.ReleaseAll()
				for range 4 {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
			}},
		{"rights", picotest.Config{}, []options.Option{options.WithUser("plain"), options.WithPasswordFunc(func(context.Context) (string, error) { return "Pla1npassword", nil })}, func(t *testing.T, s *eventScene) {
			s.log.wait(t, "degraded: the user may not read a system table", "")
		}},
	} {
		t.Run(scene.name, func(t *testing.T) {
			scene.cluster.Users = append(scene.cluster.Users, picotest.User{Name: "plain", Password: "Pla1npassword"})
			log := newLogRecorder()
			more := append(scene.options, options.WithLogger(slog.New(log)), options.WithTopologyUpdateInterval(100*time.Millisecond))
			cluster, db, _ := startDB(t, scene.cluster, more...)
			if err := db.PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			s := &eventScene{cluster: cluster, db: db, log: log}
			scene.run(t, s)
			for _, r := range s.log.all() {
				checkEvent(t, known, r)
			}
		})
	}
}

func checkEvent(t *testing.T, known map[string]documented, r slog.Record) {
	t.Helper()
	name := strings.TrimPrefix(r.Message, "picodata: ")
	e, ok := known[name]
	if !ok {
		t.Errorf("%q isn't documented", r.Message)
		return
	}
	if level := strings.ToLower(r.Level.String()); !slices.Contains(e.levels, level) {
		t.Errorf("%q has level %s, documented is %s", name, level, e.levels)
	}
	r.Attrs(func(a slog.Attr) bool {
		if !slices.Contains(e.attributes, a.Key) {
			t.Errorf("%q has an attribute %s, documented are %s", name, a.Key, e.attributes)
		}
		if strings.Contains(fmt.Sprint(a.Value), "a secret") {
			t.Errorf("%q shows a literal: %v", name, a.Value)
		}
		return true
	})
}
