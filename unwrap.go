package picodata

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// Unwrap returns the Connector beneath an *sql.DB, for its Stats, Topology and Explain. It sees through
// wrappers whose driver.Conn has a method Raw() driver.Conn, as otelsql's has.
func Unwrap(db *sql.DB) (*Connector, error) {
	if d, ok := db.Driver().(*Driver); ok && d.of != nil {
		return d.of, nil
	}
	// A wrapper has its own driver.Driver; its sessions lead to ours. Connecting does no I/O.
	conn, err := db.Conn(context.Background())
	if err != nil {
		return nil, fmt.Errorf("picodata: Unwrap: %w", err)
	}
	var c *Connector
	err = errors.Join(conn.Raw(func(dc any) error {
		c, err = connectorOf(dc)
		return err
	}), conn.Close())
	return c, err
}

func connectorOf(dc any) (*Connector, error) {
	// Each turn looks through one wrapper.
	for range 8 {
		switch v := dc.(type) {
		case Conn:
			return v.Connector(), nil
		case interface{ Raw() driver.Conn }:
			dc = v.Raw()
		default:
			return nil, fmt.Errorf("picodata: Unwrap: %T is no session of this driver and has no method Raw() driver.Conn", dc)
		}
	}
	return nil, errors.New("picodata: Unwrap: too many wrappers")
}
