package wire

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"
	"github.com/shopspring/decimal"

	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// clusterConfig is a configuration for the admin of a simulated cluster.
func clusterConfig(c *picotest.Cluster) *Config {
	cfg := newConfig()
	cfg.Options.Password = "T0psecret"
	cfg.Options.DialFunc = c.DialContext
	return cfg
}

func dialNode(t testing.TB, cfg *Config, n *picotest.Node) *Conn {
	t.Helper()
	c, err := Dial(bg, cfg, Target{Address: n.Addr(), NodeName: n.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func mustExec(t testing.TB, c *Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(bg, sql, checked(t, args...)); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// SY1, SY2, SY4: ten thousand statements to one of six nodes are ten thousand flights, writes
// and Syncs there and not a byte anywhere else.
func TestStatementsTouchOneNode(t *testing.T) {
	cluster := picotest.Start(t, picotest.Config{
		Network: picotest.Memory,
		Tiers:   []picotest.Tier{{Replicasets: 3, ReplicationFactor: 2}},
	})
	cfg := clusterConfig(cluster)
	conns := map[string]*Conn{}
	for _, n := range cluster.Nodes() {
		conns[n.Name()] = dialNode(t, cfg, n)
	}
	c := conns["i1"]
	mustExec(t, c, "create table sy (id int primary key, s text) distributed globally")
	mustExec(t, c, "insert into sy values (1, 'x')")
	cluster.ResetCounters()
	count := 10_000
	if testing.Short() {
		count = 1000
	}
	for i := range count {
		if !c.Alive() {
			t.Fatal("not alive")
		}
		rows, err := c.Query(bg, "select s from sy where id = $1", named(int64(1)))
		if got := all(t, rows, err); len(got) != 1 || got[0][0] != "x" {
			t.Fatalf("%d: %v", i, got)
		}
	}
	for _, n := range cluster.Nodes() {
		k := n.Counters()
		if n.Name() != "i1" {
			if k.BytesReceived != 0 || k.BytesSent != 0 {
				t.Errorf("%s: %d bytes in, %d out", n.Name(), k.BytesReceived, k.BytesSent)
			}
			continue
		}
		if k.Flights != count || k.Writes != count || k.Received["S"] != count || k.Received["H"] != 0 || k.Received["Q"] != 0 {
			t.Errorf("%d statements: %d flights, %d writes, messages %v", count, k.Flights, k.Writes, k.Received)
		}
		if k.Received["P"] != cfg.Options.StatementCacheThreshold+1 || k.Received["B"] != count {
			t.Errorf("messages %v", k.Received)
		}
	}
}

// A table that changed under a named statement costs a second flight, not an error.
func TestClusterInvalidatesStatements(t *testing.T) {
	cluster := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	cfg := clusterConfig(cluster)
	cfg.Options.StatementCacheThreshold = 0
	cfg.StartupOptions = "pico_stmt_invalidation=true"
	n := cluster.Node("i1")
	c, other := dialNode(t, cfg, n), dialNode(t, cfg, n)
	mustExec(t, other, "create table st (id int primary key, a int)")
	for i := range 3 {
		mustExec(t, c, "insert into st (id, a) values ($1, $2)", i, i)
	}
	if len(c.stmts.named) != 1 {
		t.Fatalf("%d names", len(c.stmts.named))
	}
	mustExec(t, other, "alter table st add column b int")
	mustExec(t, c, "insert into st (id, a) values ($1, $2)", 10, 10)
	rows, err := c.Query(bg, "select count(*) from st", nil)
	if got := all(t, rows, err); got[0][0] != int64(4) {
		t.Fatalf("rows: %v", got)
	}
}

// A node whose storage is full of other clients' statements is still of use.
func TestClusterStorageFull(t *testing.T) {
	cluster := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	cfg := clusterConfig(cluster)
	cfg.Options.StatementCacheThreshold = 0
	n := cluster.Node("i1")
	c := dialNode(t, cfg, n)
	mustExec(t, c, "create table f (id int primary key, a int)")
	for i := range 5 {
		mustExec(t, c, fmt.Sprintf("insert into f (id, a) values ($1, %d)", i), i)
	}
	n.FillStatements(0)
	for i := range 5 {
		mustExec(t, c, fmt.Sprintf("insert into f (id, a) values ($1, %d + 100)", i), i+100)
	}
	if len(c.stmts.named) != 0 {
		t.Fatalf("%d names are left", len(c.stmts.named))
	}
}

// The notice that a Parse brings reaches the handler before the answer does.
func TestClusterMetadataNotice(t *testing.T) {
	cluster := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	cfg := clusterConfig(cluster)
	cfg.StartupOptions = "pico_query_metadata=true"
	var got []options.Notice
	cfg.OnNotice = func(_ *Conn, n options.Notice) { got = append(got, n) }
	c := dialNode(t, cfg, cluster.Node("i1"))
	mustExec(t, c, "create table m (id int primary key)")
	for range 3 {
		if _, err := c.Describe(bg, "insert into m values ($1)"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 {
		mustExec(t, c, "insert into m values ($1)", i)
	}
	// Three Describes, three unnamed executions, one that names.
	if len(got) != 7 || got[0].Node != "i1" || got[0].Message == "" {
		t.Fatalf("%d notices: %+v", len(got), got)
	}
}

// Every type that a column of Picodata can have, there and back, in all forms.
func TestClusterTypes(t *testing.T) {
	cluster := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	cfg := clusterConfig(cluster)
	cfg.Options.StatementCacheThreshold = 1
	c := dialNode(t, cfg, cluster.Node("i1"))
	id := uuid.MustParse("f47ac10b-58cc-4372-a567-0e02b2c3d479")
	at := time.Date(2024, 1, 2, 3, 4, 5, 123456000, time.UTC)
	for i, tt := range []struct {
		typ  string
		in   any
		want any
		name string
	}{
		{"int", int64(math.MinInt64), int64(math.MinInt64), "INT8"},
		{"unsigned", uint64(math.MaxInt64), int64(math.MaxInt64), "INT8"},
		{"double", 1.5, 1.5, "FLOAT8"},
		{"decimal", decimal.RequireFromString("12345678901234567890.123456789"), "12345678901234567890.123456789", "NUMERIC"},
		{"text", "строка", "строка", "TEXT"},
		{"text", []byte("bytes"), "bytes", "TEXT"},
		{"varchar(20)", "x", "x", "TEXT"},
		{"bool", true, true, "BOOL"},
		{"datetime", at, at, "TIMESTAMPTZ"},
		{"uuid", id, id.String(), "UUID"},
		{"text", nil, nil, "TEXT"},
	} {
		table := fmt.Sprintf("ty%d", i)
		mustExec(t, c, fmt.Sprintf("create table %s (id int primary key, v %s)", table, tt.typ))
		for id := range 4 {
			mustExec(t, c, fmt.Sprintf("insert into %s values ($1, $2)", table), id, tt.in)
		}
		for _, args := range [][]driver.NamedValue{nil, named(int64(-1)), named(int64(-1)), named(int64(-1))} {
			sql := "select v from " + table
			if args != nil {
				sql += " where id > $1"
			}
			rows, err := c.Query(bg, sql, args)
			if err != nil {
				t.Fatal(err)
			}
			if n := rows.ColumnTypeDatabaseTypeName(0); n != tt.name {
				t.Errorf("%s: name %s", tt.typ, n)
			}
			got := all(t, rows, nil)
			if len(got) != 4 {
				t.Fatalf("%s: %d rows", tt.typ, len(got))
			}
			for _, row := range got {
				if !reflect.DeepEqual(row[0], tt.want) {
					t.Errorf("%s: %T %v, want %T %v", tt.typ, row[0], row[0], tt.want, tt.want)
				}
			}
		}
	}
	rows, err := c.Query(bg, "select current_state from _pico_instance where name = $1", named("i1"))
	if got := all(t, rows, err); got[0][0] != `["Online",1]` {
		t.Errorf("JSON: %v", got)
	}
}

// Every sslmode against a cluster without TLS, with TLS, and with client certificates.
func TestClusterTLS(t *testing.T) {
	modes := []options.SSLMode{options.SSLDisable, options.SSLAllow, options.SSLPrefer, options.SSLRequire, options.SSLVerifyCA, options.SSLVerifyFull}
	for _, tt := range []struct {
		server picotest.TLSMode
		cert   bool
		want   string // by mode: p plain, e encrypted, r refused at login, x TLS error
	}{
		{picotest.TLSOff, false, "pppxxx"},
		{picotest.TLSOn, false, "reeeee"},
		{picotest.TLSMutual, false, "rxxxxx"},
		{picotest.TLSMutual, true, "reeeee"},
	} {
		cluster := picotest.Start(t, picotest.Config{TLS: tt.server, Tiers: []picotest.Tier{{}}})
		for i, mode := range modes {
			t.Run(fmt.Sprintf("server %d, certificate %v, %v", tt.server, tt.cert, mode), func(t *testing.T) {
				cfg := clusterConfig(cluster)
				cfg.Options.SSLMode = mode
				cfg.Options.SSLRootCert = cluster.CAFile()
				if tt.cert {
					cfg.Options.SSLCert, cfg.Options.SSLKey = cluster.ClientCertFiles()
				}
				n := cluster.Node("i1")
				c, err := Dial(bg, cfg, Target{Address: n.Addr(), NodeName: "i1"})
				got := "p"
				switch {
				case err == nil && c.Encrypted():
					got = "e"
				case err == nil:
				case wireError(t, err).LoginRefused():
					got = "r"
				case wireError(t, err).Stage == StageTLS:
					got = "x"
				}
				if want := tt.want[i : i+1]; got != want {
					t.Fatalf("got %s (%v), want %s", got, err, want)
				}
				if err == nil {
					defer c.Close()
					rows, err := c.Query(bg, "select 1", nil)
					all(t, rows, err)
				}
			})
		}
	}
}

// All ways in which Picodata asks for a password.
func TestClusterLogins(t *testing.T) {
	for _, network := range []picotest.Network{picotest.TCP, picotest.Memory} {
		cluster := picotest.Start(t, picotest.Config{Network: network, Users: []picotest.User{
			{Name: "m", Password: "Passw0rd", Method: "md5"},
			{Name: "s", Password: "Passw0rd", Method: "scram-sha-256"},
			{Name: "l", Password: "Passw0rd", Method: "ldap"},
		}})
		n := cluster.Node("i1")
		for _, tt := range []struct {
			user, password string
			cleartext      bool
			refused, fails bool
		}{
			{"m", "Passw0rd", false, false, false}, {"m", "x", false, true, true},
			{"s", "Passw0rd", false, false, false}, {"s", "x", false, true, true},
			{"l", "Passw0rd", true, false, false}, {"l", "x", true, true, true}, {"l", "Passw0rd", false, false, true},
			{"nobody", "x", false, true, true},
		} {
			cfg := clusterConfig(cluster)
			cfg.Options.User, cfg.Options.Password, cfg.Options.AllowCleartextPassword = tt.user, tt.password, tt.cleartext
			cfg.Options.Hosts = hostOf(n.Addr())
			c, err := Dial(bg, cfg, Target{Address: n.Addr()})
			if (err != nil) != tt.fails || err != nil && wireError(t, err).LoginRefused() != tt.refused {
				t.Errorf("%+v: %v", tt, err)
			}
			if err == nil {
				c.Close()
			}
		}
	}
}

// A frozen node: the deadline ends the call on the bubble's clock, to the millisecond.
func TestClusterFrozenNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := picotest.Start(t, picotest.Config{Network: picotest.Memory})
		n := cluster.Node("i1")
		c := dialNode(t, clusterConfig(cluster), n)
		n.Freeze()
		start := time.Now()
		ctx, cancel := context.WithTimeout(bg, 250*time.Millisecond)
		defer cancel()
		_, err := c.Exec(ctx, "select 1", nil)
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 250*time.Millisecond {
			t.Fatalf("after %v: %v", took, err)
		}
		n.Thaw()
		cluster.Close()
	})
}

// The two ends of a connection that dies at every point of an answer: once written, the
// statement is never written again, and the error says so.
func TestClusterConnectionDiesAtEveryPoint(t *testing.T) {
	cluster := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	n := cluster.Node("i1")
	cfg := clusterConfig(cluster)
	setup := dialNode(t, cfg, n)
	mustExec(t, setup, "create table d (id int primary key)")
	for name, point := range map[string]picotest.Point{
		"parse": picotest.OnParse(), "execute": picotest.OnExecute(), "before the answer": picotest.BeforeAnswer(), "before ready": picotest.BeforeReady(),
	} {
		c := dialNode(t, cfg, n)
		fault := n.CloseAfter(point, picotest.SQL("insert into d"))
		before := n.Counters().Received["E"]
		_, err := c.Exec(bg, "insert into d values ($1)", named(int64(len(name))))
		e := wireError(t, err)
		if fault.Count() != 1 || !e.Sent || errors.Is(err, driver.ErrBadConn) || c.Usable() {
			t.Errorf("%s: happened %d times, sent %v, usable %v: %v", name, fault.Count(), e.Sent, c.Usable(), err)
		}
		if sent := n.Counters().Received["E"] - before; sent > 1 {
			t.Errorf("%s: executed %d times", name, sent)
		}
	}
}

// Server errors come through whole, as *pq.Error, and cost nothing.
func TestClusterErrors(t *testing.T) {
	cluster := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	c := dialNode(t, clusterConfig(cluster), cluster.Node("i1"))
	for range 5 {
		_, err := c.Exec(bg, "insert into nosuch values ($1)", named(int64(1)))
		var pe *pq.Error
		if !errors.As(err, &pe) || pe.Code != "XX000" || !c.Usable() {
			t.Fatalf("usable %v: %v", c.Usable(), err)
		}
	}
}

// Whatever time has passed, a connection that lives is used as it is: one flight for the
// statement, none to find out. (pgx asks "-- ping" first, which Picodata can't parse, and
// dials anew.)
func TestClusterIdleConnectionIsUsedAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := picotest.Start(t, picotest.Config{Network: picotest.Memory})
		n := cluster.Node("i1")
		c := dialNode(t, clusterConfig(cluster), n)
		n.ResetCounters()
		for i := range 3 {
			time.Sleep(time.Hour)
			if !c.Alive() {
				t.Fatal("not alive")
			}
			rows, err := c.Query(bg, "select name from _pico_instance where name = $1", named("i1"))
			all(t, rows, err)
			if k := n.Counters(); k.Flights != i+1 || k.Ever != 0 {
				t.Fatalf("after %d statements: %d flights, %d new connections", i+1, k.Flights, k.Ever)
			}
		}
		c.Close()
		cluster.Close()
	})
}
