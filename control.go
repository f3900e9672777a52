package picodata

import (
	"context"
	"database/sql/driver"
	"io"

	"github.com/picodata/go-picodata/internal/watch"
	"github.com/picodata/go-picodata/internal/wire"
)

// controlConn is the topology's connection: outside the gate and its caps.
type controlConn struct{ w *wire.Conn }

func (c *Connector) dialControl(ctx context.Context, t watch.Target) (watch.Conn, error) {
	w, err := wire.Dial(ctx, c.control, wire.Target{Address: t.Address})
	if err != nil {
		return nil, err
	}
	return controlConn{w}, nil
}

// Query runs one statement by the simple protocol and reads all of its answer.
func (c controlConn) Query(ctx context.Context, sql string) (*watch.Result, error) {
	rows, err := c.w.Query(ctx, sql, nil)
	if err != nil {
		return nil, err
	}
	res := &watch.Result{Columns: rows.Columns()}
	values := make([]driver.Value, len(res.Columns))
	for {
		err := rows.Next(values)
		if err == io.EOF {
			return res, rows.Close()
		}
		if err != nil {
			_ = rows.Close() // the first error tells more
			return nil, err
		}
		row := make([]any, len(values))
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				v = string(b) // valid until the next row only
			}
			row[i] = v
		}
		res.Rows = append(res.Rows, row)
	}
}

// Close closes the socket.
func (c controlConn) Close() error { return c.w.Close() }
