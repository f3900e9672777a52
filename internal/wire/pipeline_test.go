package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/picotest"
)

func pipelineCluster(t *testing.T) (*picotest.Cluster, *Conn) {
	t.Helper()
	cluster := picotest.Start(t, picotest.Config{Network: picotest.Memory, Tiers: []picotest.Tier{{Replicasets: 1, ReplicationFactor: 1}}})
	c := dialNode(t, clusterConfig(cluster), cluster.Nodes()[0])
	mustExec(t, c, "create table pl (id int primary key, s text, d double) distributed by (id)")
	return cluster, c
}

func piece(t testing.TB, sql string, args ...any) *Piece {
	return &Piece{SQL: sql, Args: checked(t, args...)}
}

// A hundred statements are one flight, parsed once, and each has its own answer.
func TestPipelineIsOneFlight(t *testing.T) {
	cluster, c := pipelineCluster(t)
	var writes, reads []*Piece
	for i := range 100 {
		writes = append(writes, piece(t, "insert into pl values ($1, $2, $3)", i, fmt.Sprint("s", i), float64(i)+0.5))
		reads = append(reads, piece(t, "select s, d from pl where id = $1", i))
	}
	n := cluster.Nodes()[0]
	for round, pieces := range [][]*Piece{writes, reads, reads} {
		for _, p := range pieces {
			*p = Piece{SQL: p.SQL, Args: p.Args}
		}
		before := n.Counters()
		if err := c.Pipeline(bg, pieces); err != nil {
			t.Fatal(err)
		}
		after := n.Counters()
		if got := after.Flights - before.Flights; got != 1 {
			t.Errorf("round %d: %d flights", round, got)
		}
		for i, p := range pieces {
			if p.Err != nil {
				t.Fatalf("round %d, %d: %v", round, i, p.Err)
			}
			if round == 0 && p.Affected != 1 {
				t.Errorf("%d: %d rows", i, p.Affected)
			}
			if round > 0 && (len(p.Rows) != 1 || p.Rows[0][0] != fmt.Sprint("s", i) || p.Rows[0][1] != float64(i)+0.5) {
				t.Errorf("%d: %v", i, p.Rows)
			}
		}
	}
	if !c.Usable() {
		t.Fatal("not usable")
	}
	rows, err := c.Query(bg, "select s from pl where id = $1", checked(t, 7))
	if got := all(t, rows, err); len(got) != 1 || got[0][0] != "s7" {
		t.Fatal(got)
	}
	// The names of the pipeline are lib/pq's too.
	rows, err = c.Query(bg, "select s, d from pl where id = $1", checked(t, 7))
	if got := all(t, rows, err); len(got) != 1 || got[0][0] != "s7" {
		t.Fatal(got)
	}
}

// An error of one statement neither skips nor undoes its neighbours, and a text that can't be parsed
// fails each of its uses with the server's words for it.
func TestPipelineErrorsStayTheirOwn(t *testing.T) {
	_, c := pipelineCluster(t)
	pieces := []*Piece{
		piece(t, "insert into pl values ($1, $2, $3)", 1, "a", 1.5),
		piece(t, "insert into pl values ($1, $2, $3)", 1, "b", 1.5),
		piece(t, "insert into nowhere values ($1)", 1),
		piece(t, "insert into nowhere values ($1)", 2),
		piece(t, "insert into pl values ($1, $2, $3)", 2, "c", 1.5),
		piece(t, "select count(*) from pl"),
		piece(t, "select 1\x00"),
	}
	if err := c.Pipeline(bg, pieces); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "Duplicate key", "nowhere", "nowhere", "", "", "NUL"} {
		err := pieces[i].Err
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q", i, err, want)
		}
		var pe *pq.Error
		if want != "" && want != "NUL" && !errors.As(err, &pe) {
			t.Errorf("%d: %T", i, err)
		}
	}
	if got := pieces[5].Rows; len(got) != 1 || got[0][0] != int64(2) {
		t.Errorf("rows: %v", got)
	}
	if !c.Usable() {
		t.Fatal("not usable")
	}
	for i := range 4 { // lib/pq's count of names is in step
		mustExec(t, c, "insert into pl values ($1, $2, $3)", 10+i, "x", 0.5)
		mustExec(t, c, "update pl set s = $1 where id = $2", "y", 10+i)
	}
}

// Statements far beyond the window, in both directions, neither stall nor mix.
func TestPipelineBeyondTheWindow(t *testing.T) {
	cluster, c := pipelineCluster(t)
	long := strings.Repeat("x", 5000)
	var pieces []*Piece
	for i := range 100 {
		pieces = append(pieces, piece(t, "insert into pl values ($1, $2, $3)", i, long, 0.5))
		pieces = append(pieces, piece(t, "select id, s from pl where id <= $1", i))
	}
	if err := c.Pipeline(bg, pieces); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(pieces); i += 2 {
		if p := pieces[i]; p.Err != nil || len(p.Rows) != i/2+1 || p.Rows[0][1] != long {
			t.Fatalf("%d: %v, %d rows", i, p.Err, len(p.Rows))
		}
	}
	if f := cluster.Nodes()[0].Counters().Flights; f > 80 {
		t.Errorf("%d flights", f)
	}
}

// A table that was made anew: the name is stale, nothing ran, and the piece runs without a name.
func TestPipelineMeetsStaleNames(t *testing.T) {
	_, c := pipelineCluster(t)
	read := func() []*Piece {
		return []*Piece{piece(t, "select s from pl where id = $1", 1), piece(t, "select s from pl where id = $1", 2)}
	}
	if err := c.Pipeline(bg, read()); err != nil {
		t.Fatal(err)
	}
	mustExec(t, c, "drop table pl")
	mustExec(t, c, "create table pl (id int primary key, s text, d double) distributed by (id)")
	mustExec(t, c, "insert into pl values (1, 'new', 1.5)")
	again := read()
	if err := c.Pipeline(bg, again); err != nil {
		t.Fatal(err)
	}
	if again[0].Err != nil || again[1].Err != nil || len(again[0].Rows) != 1 || len(again[1].Rows) != 0 {
		t.Fatalf("%+v, %+v", again[0], again[1])
	}
}

// A server that dies in the middle: what it answered stands, what it was sent is of unknown outcome, what it
// wasn't sent is told apart.
func TestPipelineCutInTheMiddle(t *testing.T) {
	cluster, c := pipelineCluster(t)
	n := cluster.Nodes()[0]
	var pieces []*Piece
	long := strings.Repeat("y", 20_000)
	for i := range 10 {
		pieces = append(pieces, piece(t, "insert into pl values ($1, $2, $3)", i, long, 0.5))
	}
	ran := 0
	n.CloseAfter(picotest.BeforeAnswer(), picotest.SQL("insert into pl"), func(*picotest.Statement) bool {
		ran++
		return ran == 3
	})
	if err := c.Pipeline(bg, pieces); err != nil {
		t.Fatal(err)
	}
	var good, sent, unsent int
	for _, p := range pieces {
		var e *Error
		switch {
		case p.Err == nil:
			good++
		case errors.As(p.Err, &e) && e.Sent:
			sent++
		default:
			unsent++
		}
	}
	t.Logf("%d good, %d sent, %d unsent", good, sent, unsent)
	if good+sent+unsent != 10 || sent == 0 || unsent == 0 || c.Usable() {
		t.Fatalf("%d good, %d sent, %d unsent, usable %v", good, sent, unsent, c.Usable())
	}
}

// A statement that alone is beyond the window isn't written while an answer is on its way that is too: the server, busy
// with that, wouldn't read it, and nobody would read the answer.
func TestPipelineLongStatementGoesAlone(t *testing.T) {
	cluster := picotest.Start(t, picotest.Config{Tiers: []picotest.Tier{{Replicasets: 1, ReplicationFactor: 1}}})
	c := dialNode(t, clusterConfig(cluster), cluster.Nodes()[0])
	mustExec(t, c, "create table pl (id int primary key, s text, d double) distributed by (id)")
	for i := range 40 {
		mustExec(t, c, "insert into pl values ($1, $2, $3)", i, strings.Repeat("z", 400<<10), 0.5)
	}
	ctx, cancel := context.WithTimeout(bg, 20*time.Second)
	defer cancel()
	pieces := []*Piece{
		piece(t, "select s from pl"),
		piece(t, "select id from pl where s = $1", strings.Repeat("z", 12<<20)),
		piece(t, "select count(*) from pl"),
	}
	if err := c.Pipeline(ctx, pieces); err != nil {
		t.Fatal(err)
	}
	for i, p := range pieces {
		if p.Err != nil {
			t.Errorf("%d: %v", i, p.Err)
		}
	}
}

// A connection that is out of step takes no further pieces: the server would run them, and their answers could not be
// told from others'. They are told apart as unsent.
func TestPipelineWritesNothingOutOfStep(t *testing.T) {
	cluster, c := pipelineCluster(t)
	broken := errors.New("out of step")
	c.g.fail(broken)
	before := cluster.Nodes()[0].Counters().Flights
	written := c.g.written
	p := piece(t, "insert into pl values ($1, $2, $3)", 1, "a", 1.5)
	if err := c.flow([]*Piece{p}); !errors.Is(err, broken) {
		t.Errorf("flow: %v", err)
	}
	if p.size != 0 || c.g.written != written {
		t.Errorf("%d bytes of the piece were written, %d in all", p.size, c.g.written-written)
	}
	if after := cluster.Nodes()[0].Counters().Flights; after != before {
		t.Errorf("%d flights", after-before)
	}
}

// A name that is taken is passed over, at the end of a pipeline too: the next one doesn't stumble over it again.
func TestPipelinePassesTakenNames(t *testing.T) {
	c, p := firstNameTaken(t)
	for range 2 {
		if err := c.Pipeline(bg, []*Piece{piece(t, "select $1", 5)}); err != nil {
			t.Fatal(err)
		}
	}
	wantLog(t, p, "P(1)B(1)DES PBDES P(2)B(2)DES")
}
