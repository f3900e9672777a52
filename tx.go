package picodata

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/picodata/go-picodata/options"
)

// tx is what transactions=autocommit makes of a transaction: a checkout whose statements take effect
// one by one on one connection.
type tx struct {
	s        *session
	readOnly bool
	wrote    bool // a statement that may write was handed to the wire
}

// Begin is BeginTx without options.
func (s *session) Begin() (driver.Tx, error) {
	return s.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx is refused with ErrTxUnsupported, or under transactions=autocommit ties the checkout to one
// connection. It does no I/O. Isolation levels are refused; a read-only Tx refuses statements that it doesn't
// recognise as reads.
func (s *session) BeginTx(_ context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if s.c.cfg.Transactions != options.TransactionsAutocommit {
		return nil, ErrTxUnsupported
	}
	if level := sql.IsolationLevel(opts.Isolation); level != sql.LevelDefault {
		return nil, fmt.Errorf("picodata: isolation level %v: %w", level, errIsolation)
	}
	if s.tx != nil {
		return nil, errors.New("picodata: the checkout has a transaction already")
	}
	s.tx = &tx{s: s, readOnly: opts.ReadOnly}
	return s.tx, nil
}

var errIsolation = errors.New("under transactions=autocommit each statement runs by itself, so there is no isolation to choose; use sql.LevelDefault")

// Commit ends the checkout's tie. There is nothing to commit.
func (t *tx) Commit() error {
	t.s.tx = nil
	return nil
}

// Rollback ends the checkout's tie. After a statement that may have written it gives ErrNotRolledBack.
func (t *tx) Rollback() error {
	t.s.tx = nil
	if t.wrote {
		return ErrNotRolledBack
	}
	return nil
}

// admit refuses writes in a read-only Tx and remembers those of another.
func (t *tx) admit(x *text) error {
	if t == nil || !x.writes() {
		return nil
	}
	if t.readOnly {
		return fmt.Errorf("picodata: a read-only transaction refuses the statement: %s isn't recognised as a read", x.info.Class)
	}
	t.wrote = true
	return nil
}
