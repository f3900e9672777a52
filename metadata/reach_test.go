package metadata

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/options"
)

func TestReach(t *testing.T) {
	reach := func(t *testing.T, c *fakeCluster, alternates ...string) (ControlConn, time.Duration, error) {
		began := time.Now()
		s := NewSource(SourceConfig{})
		conn, err := Reach(t.Context(), options.SystemClock{}, "uuid-1", "10.0.0.1:4327", alternates,
			func(ctx context.Context, a string) (ControlConn, error) { return c.Dial(ctx, Target{Address: a}) },
			func(ctx context.Context, conn ControlConn) (string, error) {
				uuid, _, err := s.Identity(ctx, conn)
				return uuid, err
			},
			func(conn ControlConn) { conn.Close() }, nil)
		took := time.Since(began)
		if err == nil {
			conn.Close()
		}
		synctest.Wait()
		if n := c.openConns(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
		return conn, took, err
	}
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		c.at["nat:1"], c.at["nat:2"] = "uuid-1", "uuid-2"
		if conn, took, err := reach(t, c, "nat:1"); err != nil || took != 0 || conn.(*fakeConn).address != "10.0.0.1:4327" {
			t.Errorf("%v after %v", err, took)
		}
		if len(c.queries) != 0 {
			t.Error("a node that answers at its own address is asked who it is")
		}
		c.hole["10.0.0.1:4327"] = true
		if conn, took, err := reach(t, c, "nat:1"); err != nil || took != DefaultStagger || conn.(*fakeConn).address != "nat:1" {
			t.Errorf("%v after %v", err, took)
		}
		c.hole, c.down = map[string]bool{}, map[string]bool{"10.0.0.1:4327": true}
		if conn, took, err := reach(t, c, "nat:2", "nat:1"); err != nil || took != 0 || conn.(*fakeConn).address != "nat:1" {
			t.Errorf("%v after %v", err, took)
		}
		_, _, err := reach(t, c, "nat:2")
		var wrong *WrongInstanceError
		if !errors.As(err, &wrong) || *wrong != (WrongInstanceError{"nat:2", "uuid-1", "uuid-2"}) || !errors.Is(err, errRefused) {
			t.Error(err)
		}
		if _, _, err := reach(t, c); !errors.Is(err, errRefused) {
			t.Error(err)
		}
	})
}
