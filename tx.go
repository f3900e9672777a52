package picodata

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/picodata/go-picodata/internal/exec"
	"github.com/picodata/go-picodata/options"
)

// tx ends a transaction of transactions=autocommit: a checkout whose statements take effect one by one on one
// connection.
type tx struct{ checkout *exec.Checkout }

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
	if s.checkout.Tx != nil {
		return nil, errors.New("picodata: the checkout has a transaction already")
	}
	s.checkout.Tx = &exec.Tx{ReadOnly: opts.ReadOnly}
	return tx{s.checkout}, nil
}

var errIsolation = errors.New("under transactions=autocommit each statement runs by itself, so there is no isolation to choose; use sql.LevelDefault")

// Commit ends the checkout's tie. There is nothing to commit. It gives ErrTxLost if a statement did.
func (t tx) Commit() error {
	was := t.checkout.Tx
	t.checkout.Tx = nil
	if was != nil && was.Lost {
		return ErrTxLost
	}
	return nil
}

// Rollback ends the checkout's tie. After a statement that may have written it gives ErrNotRolledBack.
func (t tx) Rollback() error {
	was := t.checkout.Tx
	t.checkout.Tx = nil
	if was != nil && was.Wrote {
		return ErrNotRolledBack
	}
	return nil
}
