package wire

import (
	"context"
	"errors"
	"io"
)

// Probe asks whether somebody answers at a node: it connects, sends an SSLRequest (PostgreSQL's protocol, "SSL Session
// Encryption"), which every server answers with a byte before anybody logs in, and hangs up. Nothing counts as a login,
// and a server that hangs up is there too. The context bounds it.
func Probe(ctx context.Context, cfg *Config, target Target) error {
	d := dialer{cfg: cfg, target: target}
	fail := func(err error) error {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return &Error{Stage: StageDial, Node: target.node(), Address: target.Address, Cause: err}
	}
	nc, err := d.open(ctx)
	if err != nil {
		return fail(err)
	}
	defer nc.Close()
	w := newWatch(nc)
	w.arm(ctx)
	defer w.disarm()
	if _, err := nc.Write(sslRequest[:]); err != nil {
		return fail(err)
	}
	var answer [1]byte
	if _, err := io.ReadFull(nc, answer[:]); err != nil && !errors.Is(err, io.EOF) {
		return fail(err)
	}
	return nil
}
