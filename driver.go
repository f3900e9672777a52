// Package picodata is a database/sql driver for Picodata, a distributed SQL database
// that speaks the PostgreSQL wire protocol.
//
//	db, err := sql.Open("picodata", "picodata://app:secret@node-a,node-b/?max_conns=50")
//
// gives an ordinary *sql.DB that knows the cluster: which instances live, which of them lead
// their replicaset and which buckets they hold. Statements are balanced over the nodes one by
// one, a parametrised INSERT goes straight to the leader that owns its row, nodes of weight 0
// are used only when the others can't take more, and a dying node costs no failed query.
//
// Everything that can be set is a key of the DSN (see ParseDSN) or an option of NewConnector.
package picodata

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// DriverName is the name that the driver is registered under.
const DriverName = "picodata"

func init() {
	sql.Register(DriverName, &Driver{})
}

// Driver is the database/sql driver. Its zero value is ready. The one that (*Connector).Driver gives belongs to that connector: its
// Open and OpenConnector lead to it and don't look at their DSN. That is for wrappers which take a
// driver.Driver; who made the connector closes it then.
type Driver struct {
	// of is the connector that this Driver value was made for: (*sql.DB).Driver leads back to it.
	of *Connector
}

var (
	_ driver.Driver        = (*Driver)(nil)
	_ driver.DriverContext = (*Driver)(nil)
)

// Open makes a connector of its own for one session. database/sql doesn't call it: it
// asks for OpenConnector, whose connector serves all sessions of an *sql.DB.
// Closing the session closes that connector.
func (d *Driver) Open(dsn string) (driver.Conn, error) {
	if d.of != nil {
		return d.of.Connect(context.Background())
	}
	dc, err := d.OpenConnector(dsn)
	if err != nil {
		return nil, err
	}
	c := dc.(*Connector)
	s, err := c.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	s.(*session).owns = true
	return s, nil
}

// OpenConnector reads the DSN and checks it whole; a fault is an *options.ConfigError that
// names the key and the allowed values. It does no I/O.
func (d *Driver) OpenConnector(dsn string) (driver.Connector, error) {
	if d.of != nil {
		return d.of, nil
	}
	cfg, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	return NewConnector(cfg)
}
