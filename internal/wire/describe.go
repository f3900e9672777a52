package wire

import (
	"context"
	"encoding/binary"
	"io"
)

// Description is what the server says about a statement.
type Description struct {
	Params  []uint32 // type OIDs of $1, $2, …
	Columns []uint32 // type OIDs of the rows' columns; none = no rows
}

// Describe has a statement parsed and described, not run: one flight that leaves nothing on
// the server. A server that was asked for query metadata sends its notice on the way.
func (c *Conn) Describe(ctx context.Context, sql string) (Description, error) {
	if err := c.begin(ctx); err != nil {
		return Description{}, err
	}
	d, err := Description{}, checkText(sql)
	if err == nil {
		d, err = c.describe(sql)
	}
	return d, c.end(ctx, err)
}

// describe talks beneath lib/pq, which is idle.
func (c *Conn) describe(text string) (d Description, err error) {
	b := make([]byte, 0, len(text)+32)
	b = append(b, 'P')
	b = binary.BigEndian.AppendUint32(b, uint32(4+1+len(text)+1+2))
	b = append(b, 0)
	b = append(b, text...)
	b = append(b, 0, 0, 0)
	b = append(b, 'D', 0, 0, 0, 6, 'S', 0)
	b = append(b, 'S', 0, 0, 0, 4)
	if _, err := c.g.Write(b); err != nil {
		return d, err
	}
	for {
		var header [frameHeader]byte
		if _, err := io.ReadFull(c.g, header[:]); err != nil {
			return d, err
		}
		body := make([]byte, be32(header[1:])-4)
		if _, rerr := io.ReadFull(c.g, body); rerr != nil {
			return d, rerr
		}
		switch header[0] {
		case 'E':
			err = parseError(body)
		case 't':
			d.Params, _ = parameterDescription(body, nil)
		case 'T':
			d.Columns, _, _ = rowDescription(body, nil, nil)
		case 'Z':
			return d, err
		}
	}
}
