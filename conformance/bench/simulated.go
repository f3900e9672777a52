package main

import (
	"database/sql"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// simulate starts a simulated cluster of one tier, and gives the Config of its administrator.
func simulate(replicasets, replicas int) (*picotest.Cluster, *options.Config, error) {
	cluster, err := picotest.New(picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: replicasets, ReplicationFactor: replicas}}, Statements: -1})
	if err != nil {
		return nil, nil, err
	}
	cfg, err := picodata.ParseDSN(cluster.AdminDSN())
	if err != nil {
		cluster.Close()
		return nil, nil, err
	}
	return cluster, cfg, nil
}

// routed opens the driver as a user of such a cluster would. stop closes it.
func routed(cfg *options.Config, opts ...options.Option) (conn *picodata.Connector, db *sql.DB, stop func(), err error) {
	if conn, err = picodata.NewConnector(cfg, opts...); err != nil {
		return nil, nil, nil, err
	}
	db = sql.OpenDB(conn)
	db.SetMaxIdleConns(64)
	return conn, db, func() { db.Close(); conn.Close() }, nil
}

// direct opens lib/pq on one node of such a cluster.
func direct(cluster *picotest.Cluster, cfg *options.Config, node string) (*sql.DB, error) {
	dial := cfg.DialFunc
	if dial == nil {
		dial = delayDial(0)
	}
	c, err := openPQ(target{address: cluster.Node(node).Addr(), user: cfg.User, password: cfg.Password, database: "x", dial: dial})
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}
