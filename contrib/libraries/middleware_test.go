package libraries

import (
	"database/sql"
	"testing"

	"github.com/XSAM/otelsql"
	"github.com/newrelic/go-agent/v3/newrelic"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// The first table of docs/libraries/middleware.md, and that statements are spread over the nodes all the same.
func TestWhatMiddlewareLetsThrough(t *testing.T) {
	for _, c := range []struct {
		name                      string
		open                      func(*picodata.Connector) *sql.DB
		validator, closes, unwrap bool
	}{
		{"none", func(c *picodata.Connector) *sql.DB { return sql.OpenDB(c) }, true, true, true},
		{"otelsql", func(c *picodata.Connector) *sql.DB { return otelsql.OpenDB(c) }, true, true, true},
		{"New Relic", func(c *picodata.Connector) *sql.DB {
			return sql.OpenDB(newrelic.InstrumentSQLConnector(c, newrelic.SQLDriverSegmentBuilder{}))
		}, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := picotest.Start(t, picotest.Config{})
			cfg, err := picodata.ParseDSN(cluster.AdminDSN())
			if err != nil {
				t.Fatal(err)
			}
			conn, err := picodata.NewConnector(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			db := c.open(conn)
			for range 41 {
				var n int
				if err := db.QueryRowContext(t.Context(), "select 1 + $1", 1).Scan(&n); err != nil || n != 2 {
					t.Fatalf("%d, %v", n, err)
				}
			}
			if eager := conn.Stats().Eager; eager == c.validator {
				t.Errorf("driver.Validator forwarded: %v, the page says %v", !eager, c.validator)
			}
			if n := conn.Stats().Total.InUse; n != 0 {
				t.Errorf("%d connections in use between statements", n)
			}
			for _, n := range cluster.Nodes() {
				if k := len(cluster.Statements(picotest.SQL("select 1 + $1"), func(s *picotest.Statement) bool { return s.Node == n.Name() })); k < 8 {
					t.Errorf("%s ran %d of 41 statements", n.Name(), k)
				}
			}
			u, err := picodata.Unwrap(db)
			if (err == nil && u == conn) != c.unwrap {
				t.Errorf("Unwrap: %v, the page says %v", err, c.unwrap)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			if closed := conn.Stats().Total.Idle == 0; closed != c.closes {
				t.Errorf("db.Close closes the connector: %v, the page says %v", closed, c.closes)
			}
		})
	}
}
