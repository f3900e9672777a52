package picodata

import (
	"context"
	"database/sql/driver"

	"github.com/picodata/go-picodata/internal/exec"
	"github.com/picodata/go-picodata/internal/sqltext"
)

// stmt is a prepared statement: a text. It is tied to no node and no connection; the physical
// connections name it on their servers once it repeats.
type stmt struct {
	s    *session
	text *exec.Text
}

var (
	_ driver.Stmt              = (*stmt)(nil)
	_ driver.StmtExecContext   = (*stmt)(nil)
	_ driver.StmtQueryContext  = (*stmt)(nil)
	_ driver.NamedValueChecker = (*stmt)(nil)
)

// Close does nothing: it runs under database/sql's lock, and there is nothing to close.
func (s *stmt) Close() error { return nil }

// NumInput is the number of parameters, or -1 where only the server knows.
func (s *stmt) NumInput() int {
	if s.text.Info.Class == sqltext.Unknown {
		return -1 // it may have more than could be read
	}
	return s.text.Info.Params
}

// CheckNamedValue makes an argument fit to be sent.
func (s *stmt) CheckNamedValue(nv *driver.NamedValue) error { return s.s.CheckNamedValue(nv) }

// ExecContext runs the statement.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.s.ExecContext(ctx, s.text.SQL, args)
}

// QueryContext runs the statement and gives its rows.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.s.QueryContext(ctx, s.text.SQL, args)
}

// Exec is for callers without a context.
func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), named(args))
}

// Query is for callers without a context.
func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), named(args))
}

func named(args []driver.Value) []driver.NamedValue {
	nv := make([]driver.NamedValue, len(args))
	for i, v := range args {
		nv[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return nv
}
