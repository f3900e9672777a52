package conformance

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// subject is a target with what was found out about it.
type subject struct {
	target *Target
	db     *sql.DB
	conn   *picodata.Connector
	prefix string // of everything the suite makes

	version  metadata.Version // the oldest of the cluster's
	text     string           // version() of one instance
	topology *metadata.Topology
	grants   []string // GRANTs that the user lacks

	tellsInstance bool // the server has pico_instance_uuid()

	mu     sync.Mutex
	tables []string
	left   map[string]string // tests left out, and why
}

// areas are the parts of the suite.
var areas = []struct {
	name string
	run  func(*testing.T, *subject)
}{
	{"protocol", protocol},
	{"types", types},
	{"errors", serverErrors},
	{"prepared", prepared},
	{"routing", routing},
	{"roles", roles},
	{"limits", limits},
	{"concurrency", concurrency},
	{"cancellation", cancellation},
	{"transactions", transactions},
	{"users", users},
	{"topology", topology},
	{"leader", leaderSwitch}, // the last: it changes the cluster
}

// TestConformance runs the suite against every target that the environment names.
func TestConformance(t *testing.T) {
	targets, err := Targets()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range targets {
		t.Run(o.Name, func(t *testing.T) {
			target, err := o.Open(t.Context())
			if err != nil {
				t.Fatalf("target %s: %v", o.Name, err)
			}
			s := &subject{target: target, left: map[string]string{}}
			t.Cleanup(func() {
				s.close(t)
				if err := target.Close(); err != nil {
					t.Error(err)
				}
				s.report()
			})
			s.discover(t)
			for _, a := range areas {
				t.Run(a.name, func(t *testing.T) { a.run(t, s) })
			}
		})
	}
}

// discover finds out what the cluster is and what the user may.
func (s *subject) discover(t *testing.T) {
	t.Helper()
	s.db, s.conn = s.open(t, s.target.DSN)
	random := make([]byte, 4)
	_, _ = rand.Read(random) // never fails
	s.prefix = "conf_" + hex.EncodeToString(random) + "_"
	if err := s.db.PingContext(t.Context()); err != nil {
		t.Fatalf("the cluster doesn't answer: %v", err)
	}
	s.topology = s.conn.Topology()
	if s.topology.Static {
		t.Fatal("the user may not read _pico_instance: nothing can be said about nodes")
	}
	s.version = s.topology.MinVersion()
	// Functions that old servers lack; what they would say is then left out, or the driver's word is taken.
	var e *picodata.Error
	if err := s.db.QueryRowContext(t.Context(), "SELECT version()").Scan(&s.text); err != nil {
		if !errors.As(err, &e) || e.Kind != picodata.KindQuery {
			t.Errorf("version(): %v", err)
		}
		s.text = s.version.String() + " (of _pico_instance)"
	}
	var uuid string
	err := s.db.QueryRowContext(t.Context(), "SELECT pico_instance_uuid()").Scan(&uuid)
	if err != nil && (!errors.As(err, &e) || e.Kind != picodata.KindQuery) {
		t.Errorf("pico_instance_uuid(): %v", err)
	}
	s.tellsInstance = err == nil
	cfg := s.conn.Config()
	s.grants = s.topology.MissingGrants(cfg.User)
}

// report says what was tested and what wasn't.
func (s *subject) report() {
	fmt.Fprintf(os.Stdout, "\ntarget %s: server %s, %d instances, %d replicasets, roles known: %v, administrator: %v\n", s.target.Name, s.text,
		len(s.topology.Instances), len(s.topology.Replicasets), s.topology.RolesKnown, s.target.AdminDSN != "")
	if len(s.grants) > 0 {
		fmt.Fprintf(os.Stdout, "  rights that would help: %s\n", strings.Join(s.grants, "; "))
	}
	names := make([]string, 0, len(s.left))
	for n := range s.left {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		fmt.Fprintf(os.Stdout, "  left out: %s: %s\n", n, s.left[n])
	}
}

// need leaves a test out, with the reason in the report, unless the target has what it is about.
func (s *subject) need(t *testing.T, has bool, what string) {
	t.Helper()
	if has {
		return
	}
	_, name, _ := strings.Cut(t.Name(), "/")
	_, name, _ = strings.Cut(name, "/")
	s.mu.Lock()
	s.left[name] = "needs " + what
	s.mu.Unlock()
	t.Skip("needs " + what)
}

// open opens a DSN with the driver and closes it with the test.
func (s *subject) open(t *testing.T, dsn string, opts ...options.Option) (*sql.DB, *picodata.Connector) {
	t.Helper()
	cfg, err := picodata.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := picodata.NewConnector(cfg, opts...)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(conn)
	if s.db != nil { // the subject's own is closed by close
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return db, conn
}

// with opens the target's DSN with further options.
func (s *subject) with(t *testing.T, opts ...options.Option) (*sql.DB, *picodata.Connector) {
	t.Helper()
	return s.open(t, s.target.DSN, opts...)
}

// table makes a table for the test and returns its name. Columns are as in CREATE TABLE, the first of them id; what follows
// the closing bracket may be given too.
func (s *subject) table(t *testing.T, columns string, rest ...string) string {
	t.Helper()
	s.mu.Lock()
	name := fmt.Sprintf("%st%d", s.prefix, len(s.tables))
	s.tables = append(s.tables, name)
	s.mu.Unlock()
	s.exec(t, s.db, fmt.Sprintf("CREATE TABLE %s (%s) %s", name, columns, strings.Join(append(rest, "OPTION (TIMEOUT = 60)"), " ")))
	return name
}

// exec runs a statement that has to succeed.
func (s *subject) exec(t *testing.T, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string, args ...any) int64 {
	t.Helper()
	res, err := db.ExecContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		t.Fatalf("%s: RowsAffected: %v", query, err)
	}
	return n
}

// number runs a query for one number.
func (s *subject) number(t *testing.T, db *sql.DB, query string, args ...any) (n int64) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// asker is an *sql.DB or an *sql.Conn.
type asker interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// ranOn is the uuid of the instance that runs a statement: the server's own word.
func (s *subject) ranOn(t *testing.T, ctx context.Context, on asker) (uuid string) {
	t.Helper()
	s.need(t, s.tellsInstance, "the function pico_instance_uuid()")
	if err := on.QueryRowContext(ctx, "SELECT pico_instance_uuid()").Scan(&uuid); err != nil {
		t.Fatal(err)
	}
	return uuid
}

// close drops what the suite made, all at the end: quick drops between creations of tables make DDL slow on a real cluster.
func (s *subject) close(t *testing.T) {
	for _, name := range s.tables {
		if _, err := s.db.Exec("DROP TABLE IF EXISTS " + name + " OPTION (TIMEOUT = 60)"); err != nil {
			t.Errorf("dropping %s: %v", name, err)
		}
	}
	if err := s.db.Close(); err != nil {
		t.Error(err)
	}
	total := s.conn.Stats().Total
	if total.InUse != 0 || total.Idle != 0 || total.Dialing != 0 {
		t.Errorf("after Close: %d connections in use, %d idle, %d dialling", total.InUse, total.Idle, total.Dialing)
	}
}
