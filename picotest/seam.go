package picotest

import (
	"context"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// seamStmt answers the few statements a connection needs until the engine does: it goes with the commit that
// brings the engine.
type seamStmt struct {
	sql  string
	text string
}

const unready = "engine: not implemented yet"

func (c *Cluster) seam(s engine.Session, sql string) engine.StmtAPI {
	switch q := strings.ToLower(strings.Trim(sql, "; \n")); {
	case q == "":
		return &seamStmt{sql: sql}
	case q == "select pico_instance_uuid()":
		return &seamStmt{sql, c.Node(s.Instance).uuid}
	case q == "select version()":
		return &seamStmt{sql, s.Version.Build}
	default:
		return &seamStmt{sql, "1"}
	}
}

func (q *seamStmt) Kind() engine.Kind {
	if q.text == "" {
		return engine.Empty
	}
	return engine.DQL
}
func (q *seamStmt) SQL() string         { return q.sql }
func (q *seamStmt) Tag() (string, bool) { return "SELECT", true }
func (q *seamStmt) Params() []uint32    { return make([]uint32, strings.Count(q.sql, "$")) }
func (q *seamStmt) Columns() []engine.Column {
	if q.text == "" {
		return nil
	}
	return []engine.Column{{Name: "col_1", OID: engine.OIDText}}
}
func (q *seamStmt) Returns() bool          { return q.text != "" }
func (q *seamStmt) Key() []engine.KeyParam { return nil }
func (q *seamStmt) Tier() string           { return "" }
func (q *seamStmt) Global() bool           { return false }
func (q *seamStmt) Unlogged() bool         { return false }
func (q *seamStmt) Tables() []string       { return nil }
func (q *seamStmt) Stale() bool            { return false }
func (q *seamStmt) Missing() *engine.Error { return nil }
func (q *seamStmt) Name() string           { return "" }
func (q *seamStmt) Options([]engine.Value) (engine.Options, *engine.Error) {
	return engine.Options{}, nil
}
func (q *seamStmt) Buckets([]engine.Value) (engine.BucketSet, *engine.Error) {
	return engine.BucketSet{}, nil
}
func (q *seamStmt) Bind(_ []int16, raw [][]byte) ([]engine.Value, *engine.Error) {
	args := make([]engine.Value, len(raw))
	for i, b := range raw {
		if b != nil {
			args[i] = string(b)
		}
	}
	return args, nil
}
func (q *seamStmt) Run(context.Context, []engine.Value, engine.View) (*engine.Result, *engine.Error) {
	return &engine.Result{Columns: q.Columns(), Rows: [][]engine.Value{{q.text}}, Tag: "SELECT 1"}, nil
}

func (c *Cluster) account(user string) (engine.Account, bool) {
	if a, ok := c.eng.Account(user); ok {
		return a, true
	}
	if _, bad := c.eng.Prepare(engine.Session{}, "select 1", nil); bad == nil || bad.Message != unready {
		return engine.Account{}, false
	}
	if user == "admin" {
		return engine.Account{Name: user, Method: "md5", Password: c.cfg.AdminPassword, Login: true}, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	u, ok := c.users[user]
	if u.Method == "" {
		u.Method = "md5"
	}
	return engine.Account{Name: user, Method: u.Method, Password: u.Password, Login: true}, ok
}
