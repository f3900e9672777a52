package picodata_test

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// The scenarios of mirroring: rows MI1 to MI9 and their neighbours. The shadow is a cluster of its own.

// shadowed is a database with a mirror.
type shadowed struct {
	*sql.DB
	t       *testing.T
	c       *picodata.Connector
	cluster *picotest.Cluster
	shadow  *picotest.Cluster
}

// oneNode is a cluster of a single instance.
var oneNode = picotest.Config{Tiers: []picotest.Tier{{Name: "default"}}, Statements: 20_000}

// startShadowed starts a cluster of three nodes and a shadow of so many, and opens the one with the other
// as its mirror.
func startShadowed(t *testing.T, shadows int, opts ...options.Option) *shadowed {
	t.Helper()
	cfg := oneNode
	cfg.Tiers = []picotest.Tier{{Name: "default", Replicasets: shadows}}
	shadow := picotest.Start(t, cfg)
	cfg.Tiers = three.Tiers
	opts = append([]options.Option{options.WithMirror(shadow.AdminDSN())}, opts...)
	cluster, db, c := startDB(t, cfg, opts...)
	return &shadowed{DB: db, t: t, c: c, cluster: cluster, shadow: shadow}
}

// stats waits until the mirror has nothing to do and checks that every statement is accounted for.
func (s *shadowed) stats() picodata.MirrorStats {
	s.t.Helper()
	m := s.c.Stats().Mirror
	for m.Queued > 0 || m.Running > 0 {
		if s.t.Context().Err() != nil {
			s.t.Fatalf("the mirror doesn't come to rest: %+v", m)
		}
		runtime.Gosched()
		m = s.c.Stats().Mirror
	}
	accounted(s.t, m)
	return m
}

// accounted checks the sums of a mirror at rest.
func accounted(t *testing.T, m picodata.MirrorStats) {
	t.Helper()
	var dropped, failed uint64
	for _, n := range m.Dropped {
		dropped += n
	}
	for _, n := range m.Errors {
		failed += n
	}
	if m.Offered != m.Sent+dropped || m.Sent != m.OK+failed || m.Bytes != 0 || m.Lag != 0 {
		t.Errorf("the sums are wrong: %+v", m)
	}
}

// sequences are the arguments of the statements with this text, joined per connection, in any order.
func sequences(c *picotest.Cluster, text string) []string {
	by := map[string][]string{}
	for _, s := range c.Statements() {
		if s.SQL == text {
			key := fmt.Sprint(s.Node, "/", s.Conn)
			by[key] = append(by[key], fmt.Sprint(s.Args...))
		}
	}
	var all []string
	for _, list := range by {
		all = append(all, strings.Join(list, " "))
	}
	slices.Sort(all)
	return all
}

func (s *shadowed) selects(ctx context.Context, i int) {
	var n int
	if err := s.QueryRowContext(ctx, "select $1", i).Scan(&n); err != nil || n != i {
		s.t.Errorf("select %d: %d, %v", i, n, err)
	}
}

// TestMirrorGetsAll is MI1: a healthy mirror executes all statements of a connection, in their order.
func TestMirrorGetsAll(t *testing.T) {
	s := startShadowed(t, 1, options.WithMirrorQueue(1024))
	inParallel(7, 1000, func(i int) { s.selects(t.Context(), i) })
	m := s.stats()
	if m.Offered != 1000 || m.OK != 1000 || len(m.Dropped) != 0 || m.Off != "" {
		t.Errorf("%+v", m)
	}
	here, there := sequences(s.cluster, "select $1"), sequences(s.shadow, "select $1")
	if len(here) < 3 || !slices.Equal(here, there) {
		t.Errorf("%d connections here, %d on the mirror, with other statements or in another order", len(here), len(there))
	}
}
