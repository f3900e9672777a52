package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// target is a server that everybody runs against.
type target struct {
	name                              string
	address, user, password, database string
	inProcess                         bool
	dial                              func(context.Context, string, string) (net.Conn, error)
}

// startPicotest starts a simulated Picodata of one instance, on loopback.
func startPicotest() (target, func(), error) {
	c, err := picotest.New(picotest.Config{
		Tiers: []picotest.Tier{{}},
		Users: []picotest.User{{Name: "bench", Password: "Passw0rd", Method: "none", Grants: []string{"create table", "drop table", "read table", "write table"}}},
	})
	if err != nil {
		return target{}, nil, err
	}
	return target{name: "picotest", address: c.Node("i1").Addr(), user: "bench", password: "Passw0rd", database: "x", inProcess: true}, c.Close, nil
}

// rival is a driver under measurement.
type rival struct {
	name string
	open func(target) (driver.Connector, error)
}

var rivals = []rival{
	{"picodata", openPicodata},
	{"its wire alone", func(t target) (driver.Connector, error) { return newWireConnector(t), nil }},
	{"pgx", openPgx},
	{"lib/pq", openPQ},
}

// openPicodata opens the driver as a user would, for a server that isn't Picodata.
func openPicodata(t target) (driver.Connector, error) {
	cfg, err := picodata.ParseDSN(fmt.Sprintf("picodata://%s:%s@%s/%s?sslmode=disable&mode=bootstrap&topology=off&routing=off", t.user, t.password, t.address, t.database))
	if err != nil {
		return nil, err
	}
	cfg.DialFunc = t.dial
	return picodata.NewConnector(cfg)
}

func openPgx(t target) (driver.Connector, error) {
	cfg, err := pgx.ParseConfig(fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", t.user, t.password, t.address, t.database))
	if err != nil {
		return nil, err
	}
	cfg.DialFunc = t.dial
	// Its default, cache_statement, is its best mode.
	return stdlib.GetConnector(*cfg), nil
}

func openPQ(t target) (driver.Connector, error) {
	c, err := pq.NewConnector(fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", t.user, t.password, t.address, t.database))
	if err != nil {
		return nil, err
	}
	c.Dialer(pqDialer{t})
	return c, nil
}

type pqDialer struct{ t target }

func (d pqDialer) Dial(network, address string) (net.Conn, error) {
	return d.t.dial(context.Background(), network, address)
}

func (d pqDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.t.dial(ctx, network, address)
}

func (d pqDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.t.dial(ctx, network, address)
}

// openDB opens a rival with room for that many workers.
func (r rival) openDB(t target, workers int) (*sql.DB, error) {
	c, err := r.open(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(workers)
	db.SetMaxIdleConns(workers)
	return db, nil
}
