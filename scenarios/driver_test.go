package scenarios_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// opener is a wrapper's connector that knows a driver.Driver and a DSN only.
type opener struct{ d driver.Driver }

func (o opener) Connect(context.Context) (driver.Conn, error) {
	return o.d.Open("what a wrapper passes")
}
func (o opener) Driver() driver.Driver { return o.d }

// Connector.Driver opens sessions of the same connector, for wrappers that know a driver and a DSN only.
func TestTheDriverOfAConnectorLeadsToIt(t *testing.T) {
	c, _, conn := startDB(t, picotest.Config{})
	db := sql.OpenDB(opener{conn.Driver()})
	for range 8 {
		mustExec(t, db, "select 4720")
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if got := userStatements(c, "select 4720"); len(got) != 4 {
		t.Errorf("the sessions don't share the connector's nodes: %v", got)
	}
	if n := conn.Stats().Statements.Succeeded; n != 8 {
		t.Errorf("the connector counts %d statements of 8", n)
	}
	other, err := conn.Driver().(driver.DriverContext).OpenConnector("picodata://elsewhere/")
	if err != nil || other != driver.Connector(conn) {
		t.Errorf("OpenConnector: %v, %v", other, err)
	}
}

// A Config made by hand, without a DSN, opens the same cluster, and says what DSN it is.
func TestConfigMadeByHand(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	parsed, err := picodata.ParseDSN(c.AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	cfg := picodata.NewConfig()
	cfg.Hosts, cfg.User, cfg.Password, cfg.SSLMode = parsed.Hosts, parsed.User, parsed.Password, parsed.SSLMode
	conn, err := picodata.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(conn)
	defer db.Close()
	mustExec(t, db, "select 4721")
	again, err := picodata.ParseDSN(cfg.FormatDSN())
	if err != nil || again.FormatDSN() != cfg.FormatDSN() || again.User != cfg.User || again.Password != cfg.Password {
		t.Errorf("%s: %v", picodata.RedactDSN(cfg.FormatDSN()), err)
	}
}
