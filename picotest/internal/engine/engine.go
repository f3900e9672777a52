// Package engine is the database inside the simulated cluster: catalog, types, placement and execution.
package engine

import "context"

// Engine holds the catalog and the data of a cluster. It is safe for concurrent use.
type Engine struct{ cfg Config }

// Stmt is a prepared statement. It is safe for concurrent use.
type Stmt struct{ sql string }

// New makes an engine with an empty catalog: system tables, users admin, guest and pico_service, roles.
func New(cfg Config) (*Engine, error) { return &Engine{cfg: cfg}, nil }

func unready() *Error { return &Error{Code: "XX000", Message: "engine: not implemented yet"} }

func (e *Engine) Prepare(s Session, sql string, oids []uint32) (*Stmt, *Error) { return nil, unready() }
func (e *Engine) Account(name string) (Account, bool)                          { return Account{}, false }
func (e *Engine) Setting(name, scope string) (Value, bool)                     { return nil, false }
func (e *Engine) AddInstance(replicaset, instance, from string)                {}
func (e *Engine) RemoveInstance(replicaset, instance string)                   {}
func (e *Engine) SetLag(replicaset, instance string, lag bool)                 {}
func (e *Engine) Resync(replicaset, instance, from string)                     {}
func (e *Engine) ForgetUnlogged(instance string)                               {}
func (e *Engine) MoveBuckets(tier string, first, last uint64, from, to string) {}
func (e *Engine) Close() error                                                 { return nil }

func (s *Stmt) Kind() Kind                                                 { return Empty }
func (s *Stmt) SQL() string                                                { return s.sql }
func (s *Stmt) Tag() (string, bool)                                        { return "", false }
func (s *Stmt) Params() []uint32                                           { return nil }
func (s *Stmt) Columns() []Column                                          { return nil }
func (s *Stmt) Returns() bool                                              { return false }
func (s *Stmt) Key() []KeyParam                                            { return nil }
func (s *Stmt) Tier() string                                               { return "" }
func (s *Stmt) Global() bool                                               { return false }
func (s *Stmt) Unlogged() bool                                             { return false }
func (s *Stmt) Tables() []string                                           { return nil }
func (s *Stmt) Stale() bool                                                { return false }
func (s *Stmt) Name() string                                               { return "" }
func (s *Stmt) Options(args []Value) (Options, *Error)                     { return Options{}, unready() }
func (s *Stmt) Buckets(args []Value) (BucketSet, *Error)                   { return BucketSet{}, unready() }
func (s *Stmt) Bind(formats []int16, raw [][]byte) ([]Value, *Error)       { return nil, unready() }
func (s *Stmt) Run(_ context.Context, _ []Value, _ View) (*Result, *Error) { return nil, unready() }

var (
	_ API     = (*Engine)(nil)
	_ StmtAPI = (*Stmt)(nil)
)
