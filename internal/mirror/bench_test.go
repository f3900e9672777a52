package mirror

import (
	"context"
	"database/sql/driver"
	"testing"
)

// What a caller pays for handing a statement over, and for one that is dropped at the door. The target of both is a
// microsecond: a statement takes dozens over loopback.
func BenchmarkOffer(b *testing.B) {
	args := []driver.NamedValue{{Ordinal: 1, Value: int64(1)}, {Ordinal: 2, Value: "some text"}}
	for name, hung := range map[string]bool{"taken": false, "full": true} {
		b.Run(name, func(b *testing.B) {
			f := &fakeMirror{}
			f.execute = func(ctx context.Context, c *fakeConn, _ string) error {
				if hung {
					return c.hang(ctx)
				}
				return nil
			}
			m := newMirror(f, nil)
			defer m.Close()
			l := m.Line("")
			b.ReportAllocs()
			for b.Loop() {
				l.Offer("select a, b from t where id = $1 and s = $2", args, true)
			}
		})
	}
}
