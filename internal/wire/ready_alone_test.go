package wire

import (
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/lib/pq"
)

// ReadyForQuery with nothing before it says neither that a statement ran nor that it was refused: a middleman lost the
// answer. That is so through Query and Exec, by the simple and the extended protocol.
func TestReadyForQueryAlone(t *testing.T) {
	for _, query := range []bool{false, true} {
		for name, args := range map[string][]driver.NamedValue{"simple": nil, "extended": {{Ordinal: 1, Value: int64(1)}}} {
			s := newServer(t)
			s.handle = answering(idle)
			c, _ := s.dial(newConfig())
			var err error
			if query {
				var rows *Rows
				if rows, err = c.Query(t.Context(), "insert into t values (1)", args); err == nil {
					err = rows.Next(make([]driver.Value, len(rows.Columns())))
					if cerr := rows.Close(); cerr != nil {
						err = cerr
					}
				}
			} else {
				_, err = c.Exec(t.Context(), "insert into t values (1)", args)
			}
			var e *Error
			var pe *pq.Error
			if !errors.As(err, &e) || !e.Sent || e.Local || errors.As(err, &pe) {
				t.Errorf("%s, query %v: %v", name, query, err)
			}
			if c.Usable() {
				t.Errorf("%s, query %v: the connection is kept", name, query)
			}
		}
	}
}
