package exec

import (
	"context"
	"database/sql/driver"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/picodata/go-picodata/internal/mirror"
	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/options"
)

// mirrored is a physical connection whose statements go to a mirror as well. Everything that closes
// the one ends the other.
type mirrored struct {
	*wire.Conn
	line *mirror.Line
}

// Close closes the connection and lets the mirror finish what it was handed, for a second.
func (m *mirrored) Close() error {
	m.line.Close()
	return m.Conn.Close()
}

// CloseWait is Close that waits for the server, not for the mirror.
func (m *mirrored) CloseWait(d time.Duration) bool {
	m.line.Close()
	return m.Conn.CloseWait(d)
}

// wireOf is the connection to the node, mirrored or not.
func wireOf(c pool.Conn) *wire.Conn {
	if m, ok := c.(*mirrored); ok {
		return m.Conn
	}
	return c.(*wire.Conn)
}

// StartMirror makes the mirror. login is how its connections are made, hosts are the addresses of its nodes.
// executed, unless nil, hears of each statement that is over there. It is called before the first statement.
func (x *Executor) StartMirror(login *wire.Config, hosts []string, executed func(mirror.Executed)) {
	x.mirror = mirror.New(mirror.Config{
		Hosts: hosts,
		Dial: func(ctx context.Context, address string) (mirror.Conn, error) {
			w, err := wire.Dial(ctx, login, wire.Target{Address: address})
			if err != nil {
				return nil, err
			}
			return mirrorConn{w}, nil
		},
		Ours:       x.ours,
		OnExecuted: executed,
		Options:    x.Options,
		Clock:      x.Clock,
		Logger:     x.Options.Logger,
		Seed:       rand.Uint64(),
	})
	// The same address is the same server, which needs no question.
	for _, m := range x.Options.MirrorMap {
		hosts = append(hosts, hostPort(m.To))
	}
	for _, h := range x.Options.Hosts {
		if slices.Contains(hosts, h.Address()) {
			x.mirror.TurnOff(mirror.SameCluster())
			break
		}
	}
}

// ours tells whether an instance is one of the cluster's own.
func (x *Executor) ours(uuid string) bool {
	t := x.Cluster.Topology()
	if t == nil || uuid == "" {
		return false
	}
	if _, ok := t.Instance(uuid); ok {
		return true
	}
	for i := range t.Seeds {
		if t.Seeds[i].InstanceUUID == uuid {
			return true
		}
	}
	return false
}

// WithMirror gives a new connection its mirror, if its node has one.
func (x *Executor) WithMirror(w *wire.Conn, n pool.NodeSpec) pool.Conn {
	if x.mirror == nil {
		return w
	}
	if line := x.mirror.Line(x.mirrorOf(n)); line != nil {
		return &mirrored{Conn: w, line: line}
	}
	return w
}

// mirrorOf is the address that mirror_map gives a node, by its name or one of its addresses; "" = none.
func (x *Executor) mirrorOf(n pool.NodeSpec) string {
	names := []string{n.Name, n.Address}
	if t := x.Cluster.Topology(); t != nil {
		if in, ok := t.Instance(n.ID); ok {
			names = append(names, hostPort(in.Advertised))
		}
	}
	for _, m := range x.Options.MirrorMap {
		if slices.Contains(names, m.From) || slices.Contains(names, hostPort(m.From)) {
			return hostPort(m.To)
		}
	}
	return ""
}

// hostPort writes an address with its port; what is none stays as it is.
func hostPort(address string) string {
	if h, err := options.ParseAddress(address); err == nil {
		return h.Address()
	}
	return address
}

// mirrorConn is a connection to the mirror.
type mirrorConn struct{ *wire.Conn }

// Query runs a statement and gives its rows.
func (c mirrorConn) Query(ctx context.Context, sql string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// offer hands the statement to its connection's mirror, at its first attempt: with the connection of
// that, and before the server is asked, so that both work at it at the same time.
func (r *run) offer() {
	m, ok := r.lease.Conn().(*mirrored)
	if !ok || r.offered || !r.op.executes() {
		return
	}
	r.offered = true
	if r.x.Options.MirrorMode == options.MirrorReads {
		if !r.text.Info.PlainRead {
			return
		}
	} else if class := r.text.Info.Class; class == sqltext.Empty || class == sqltext.Tx {
		return // nothing happens on either side
	}
	r.shadow = m.line.Offer(r.sql, r.args, r.op == opQuery)
}

// compare tells the mirror how the statement ended here: with an error, or so many rows touched.
func (r *run) compare(err error) {
	switch {
	case r.shadow == nil:
	case err != nil:
		r.shadow.Failed(err)
	default:
		r.shadow.Affected(r.affected)
	}
}

// compare tells it of a query's end.
func (r *Rows) compare(err error) {
	switch {
	case r.shadow == nil:
	case err != nil:
		r.shadow.Failed(err)
	case r.err != nil:
		r.shadow.Failed(r.err)
	default:
		r.shadow.Done(r.answer.Complete())
	}
}
