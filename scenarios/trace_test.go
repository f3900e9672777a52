package scenarios_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// recorder writes down what it hears, and marks contexts so that a start and its end are seen to belong together.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) note(ctx context.Context, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf(format, args...)
	if m, ok := ctx.Value(markKey{}).(string); ok {
		line = m + " > " + line
	}
	r.lines = append(r.lines, line)
}

func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lines
	r.lines = nil
	return l
}

func (r *recorder) StatementStart(ctx context.Context, s picodata.StatementStart) context.Context {
	r.note(ctx, "begin %s %q args=%d", s.Operation, s.Fingerprint(), s.Args)
	return mark(ctx, s.Operation)
}
func (r *recorder) StatementEnd(ctx context.Context, s picodata.StatementEnd) {
	r.note(ctx, "end node=%s reason=%s attempts=%d rows=%d err=%v", s.Node.Name, s.Reason, s.Attempts, s.Rows, s.Err != nil)
}
func (r *recorder) LeaseStart(ctx context.Context, l picodata.LeaseStart) context.Context {
	r.note(ctx, "lease %s", l.Reason)
	return mark(ctx, "lease")
}
func (r *recorder) LeaseEnd(ctx context.Context, l picodata.LeaseEnd) {
	r.note(ctx, "leased %s", l.Node.Name)
}
func (r *recorder) RouteDecided(ctx context.Context, p picodata.Plan) {
	r.note(ctx, "route %s", p.Reason)
}

type dialRecorder struct{ heard recorder }

func (r *dialRecorder) DialStart(ctx context.Context, d picodata.DialStart) context.Context {
	return mark(ctx, "dial "+d.Node.Name)
}
func (r *dialRecorder) DialEnd(ctx context.Context, d picodata.DialEnd) {
	r.heard.note(ctx, "dialled %s err=%v", d.Node.Name, d.Err != nil)
}
func (r *dialRecorder) TopologyChanged(t picodata.TopologyChange) {
	r.heard.note(context.Background(), "topology old=%v instances=%d", t.Old != nil, len(t.New.Instances))
}

// Every tracer hears of statements, dials and the topology, each start with its end, without values.
func TestTracers(t *testing.T) {
	one := picotest.Config{Tiers: []picotest.Tier{{Replicasets: 1, ReplicationFactor: 1}}}
	var r recorder
	var d dialRecorder
	_, db, _ := startDB(t, one, options.WithTracers(&r), options.WithTracers(&d))
	mustExec(t, db, "create table t (id int primary key, s text) distributed by (id)")
	if got, want := d.heard.take(), []string{"topology old=false instances=1", "dial i1 > dialled i1 err=false"}; !slices.Equal(got, want) {
		t.Errorf("dials and topology:\n got %q\nwant %q", got, want)
	}
	r.take()

	mustExec(t, db, "insert into t values ($1, 'secret')", 1)
	rows, err := db.QueryContext(t.Context(), "select s from t")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
	}
	rows.Close()
	if _, err := db.ExecContext(t.Context(), "selec"); err == nil {
		t.Fatal("no error")
	}
	want := []string{
		`begin exec "insert into t values (?…)" args=1`,
		`exec > route meta_miss`,
		`exec > lease meta_miss`,
		`exec > lease > leased i1`,
		`exec > end node=i1 reason=meta_miss attempts=1 rows=1 err=false`,
		`begin query "select s from t" args=0`,
		`query > route balance`,
		`query > lease balance`,
		`query > lease > leased i1`,
		`query > end node=i1 reason=balance attempts=1 rows=1 err=false`,
		`begin exec "selec" args=0`,
		`exec > route balance`,
		`exec > lease balance`,
		`exec > lease > leased i1`,
		`exec > end node=i1 reason=balance attempts=1 rows=0 err=true`,
	}
	got := r.take()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if strings.Contains(strings.Join(got, "\n"), "secret") {
		t.Error("a literal shows in a fingerprint")
	}
}

// A value that implements no tracer is refused.
func TestTracerThatHearsNothing(t *testing.T) {
	cfg, err := picodata.ParseDSN("picodata://h")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := picodata.NewConnector(cfg, options.WithTracers(sql.ErrNoRows)); err == nil {
		t.Error("a value that implements no tracer was accepted")
	}
}
