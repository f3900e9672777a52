package mirror

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"sync"
	"testing"

	"github.com/lib/pq"
	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/options"
)

// fakeMirror is a cluster that answers as the test says.
type fakeMirror struct {
	mu      sync.Mutex
	dials   []string // addresses, in order
	ran     []string // texts of statements that were executed
	open    int
	dial    func(ctx context.Context, address string) error          // nil: succeeds
	execute func(ctx context.Context, c *fakeConn, sql string) error // nil: succeeds; called without mu
	uuids   []string                                                 // of its instances; nil: not Picodata
	asked   chan struct{}                                            // if not nil: who it is isn't said before this is closed
}

// fakeConn is a connection to it.
type fakeConn struct {
	f      *fakeMirror
	mu     sync.Mutex
	closed chan struct{}
	dead   bool // the peer is gone; nobody has noticed
}

func (f *fakeMirror) connect(ctx context.Context, address string) (Conn, error) {
	f.mu.Lock()
	f.dials = append(f.dials, address)
	f.mu.Unlock()
	if f.dial != nil {
		if err := f.dial(ctx, address); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	f.open++
	f.mu.Unlock()
	return &fakeConn{f: f, closed: make(chan struct{})}, nil
}

func (f *fakeMirror) log() (dials, ran []string, open int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.dials...), append([]string(nil), f.ran...), f.open
}

func (c *fakeConn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

func (c *fakeConn) Usable() bool { return !c.isClosed() }
func (c *fakeConn) Alive() bool  { return !c.isClosed() }

func (c *fakeConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isClosed() {
		close(c.closed)
		c.f.mu.Lock()
		c.f.open--
		c.f.mu.Unlock()
	}
	return nil
}

func (c *fakeConn) run(ctx context.Context, sql string) error {
	if c.isClosed() || ctx.Err() != nil {
		return &wire.Error{Stage: wire.StageQuery, Cause: wire.ErrClosed}
	}
	if c.dead {
		return &wire.Error{Stage: wire.StageQuery, Cause: io.EOF}
	}
	if c.f.execute != nil {
		if err := c.f.execute(ctx, c, sql); err != nil {
			return err
		}
	}
	c.f.mu.Lock()
	c.f.ran = append(c.f.ran, sql)
	c.f.mu.Unlock()
	return nil
}

func (c *fakeConn) Exec(ctx context.Context, sql string, _ []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), c.run(ctx, sql)
}

func (c *fakeConn) Query(ctx context.Context, sql string, _ []driver.NamedValue) (driver.Rows, error) {
	switch sql {
	case whoAreYou[0], whoAreYou[1]:
		if c.f.asked != nil {
			<-c.f.asked
		}
		if c.f.uuids == nil {
			return nil, &wire.Error{Stage: wire.StageQuery, Sent: true, Cause: &pq.Error{Code: "XX000", Message: "no such function"}}
		}
		return &fakeRows{values: c.f.uuids[:1]}, nil
	case whoIsThere:
		return &fakeRows{values: c.f.uuids}, nil
	}
	if err := c.run(ctx, sql); err != nil {
		return nil, err
	}
	return &fakeRows{values: []string{sql}}, nil
}

// hang blocks until the connection is closed, as a socket does.
func (c *fakeConn) hang(ctx context.Context) error {
	select {
	case <-c.closed:
	case <-ctx.Done():
	}
	return &wire.Error{Stage: wire.StageQuery, Sent: true, Cause: io.ErrUnexpectedEOF}
}

type fakeRows struct{ values []string }

func (r *fakeRows) Columns() []string { return []string{"c"} }
func (r *fakeRows) Close() error      { return nil }
func (r *fakeRows) Next(dest []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	dest[0], r.values = r.values[0], r.values[1:]
	return nil
}

// newMirror is a Mirror of f.
func newMirror(f *fakeMirror, set func(*options.Config)) *Mirror {
	o := options.New()
	if set != nil {
		set(o)
	}
	return New(Config{
		Hosts: []string{"a:1", "b:1", "c:1"}, Dial: f.connect, Options: o, Seed: 7,
		Ours: func(uuid string) bool { return uuid == "ours" },
	})
}

// accounted checks the sums of Stats at rest.
func accounted(t *testing.T, s Stats) {
	t.Helper()
	var dropped, failed uint64
	for _, n := range s.Dropped {
		dropped += n
	}
	for _, n := range s.Errors {
		failed += n
	}
	if s.Queued != 0 || s.Running != 0 || s.Bytes != 0 || s.Lag != 0 || s.Offered != s.Sent+dropped || s.Sent != s.OK+failed {
		t.Errorf("the sums are wrong: %+v", s)
	}
}

func wantEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

var errRefused = errors.New("connection refused")
