package main

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/options"
)

// wireConnector makes a driver of bare physical connections: what the driver costs without
// its sessions, pool and routing.
type wireConnector struct {
	cfg    *wire.Config
	target wire.Target
}

func newWireConnector(t target) *wireConnector {
	o := options.New()
	o.User, o.Database, o.Password, o.DialFunc = t.user, t.database, t.password, t.dial
	return &wireConnector{cfg: &wire.Config{Options: o}, target: wire.Target{Address: t.address}}
}

func (c *wireConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := wire.Dial(ctx, c.cfg, c.target)
	if err != nil {
		return nil, err
	}
	return &wireConn{conn}, nil
}

func (c *wireConnector) Driver() driver.Driver { return nil }

type wireConn struct{ c *wire.Conn }

func (c *wireConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not needed here") }
func (c *wireConn) Begin() (driver.Tx, error)           { return nil, errors.New("not needed here") }
func (c *wireConn) Close() error                        { return c.c.Close() }
func (c *wireConn) IsValid() bool                       { return c.c.Usable() }

func (c *wireConn) ResetSession(context.Context) error {
	if !c.c.Alive() {
		return driver.ErrBadConn
	}
	return nil
}

func (c *wireConn) CheckNamedValue(nv *driver.NamedValue) error { return wire.CheckNamedValue(nv) }

func (c *wireConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.c.Query(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return rows, nil
}

func (c *wireConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.c.Exec(ctx, query, args)
}
