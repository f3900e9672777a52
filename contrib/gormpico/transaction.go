package gormpico

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"gorm.io/gorm"

	picodata "github.com/picodata/go-picodata"
)

// ErrSavepoint: Picodata has no savepoints, so that a nested db.Transaction couldn't undo its part.
var ErrSavepoint = errors.New("gormpico: Picodata has no savepoints, so a nested Transaction can't undo its part; gorm.Config.DisableNestedTransaction runs it as a part of the outer one")

// SavePoint is refused.
func (d *Dialector) SavePoint(*gorm.DB, string) error { return ErrSavepoint }

// RollbackTo is refused.
func (d *Dialector) RollbackTo(*gorm.DB, string) error { return ErrSavepoint }

// Transaction is db.Transaction, which keeps for itself that a ROLLBACK undid nothing: if fn fails after a write, the error matches fn's own and
// picodata.ErrNotRolledBack. The connection needs transactions=autocommit.
func Transaction(db *gorm.DB, fn func(tx *gorm.DB) error, opts ...*sql.TxOptions) (err error) {
	tx := db.Begin(opts...)
	if tx.Error != nil {
		return tx.Error
	}
	done := false
	defer func() {
		if !done { // fn panics, which goes on
			tx.Rollback()
		}
	}()
	err = fn(tx)
	done = true
	if err == nil {
		return tx.Commit().Error
	}
	if undone := tx.Rollback().Error; undone != nil && !errors.Is(err, undone) {
		return fmt.Errorf("%w; %w", err, undone)
	}
	return err
}

// connPool gives GORM transactions whose statements know what ran before them.
type connPool struct{ *sql.DB }

var _ gorm.ConnPoolBeginner = (*connPool)(nil)

// GetDBConn is for (*gorm.DB).DB.
func (p *connPool) GetDBConn() (*sql.DB, error) { return p.DB, nil }

// BeginTx begins one.
func (p *connPool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	tx, err := p.DB.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &txPool{Tx: tx}, nil
}

// txPool is a transaction that remembers writes. GORM's Transaction drops the error of its ROLLBACK; that of a statement it
// passes on.
type txPool struct {
	*sql.Tx
	wrote atomic.Bool
}

var _ gorm.Tx = (*txPool)(nil)

// ExecContext runs a statement. One that fails after another has written says that the other stays.
func (t *txPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	result, err := t.Tx.ExecContext(ctx, query, args...)
	if err != nil {
		return nil, t.failed(err)
	}
	t.wrote.Store(true)
	return result, nil
}

// QueryContext is the same for reads.
func (t *txPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := t.Tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, t.failed(err)
	}
	return rows, nil
}

func (t *txPool) failed(err error) error {
	if t.wrote.Load() {
		return fmt.Errorf("%w; what ran before it in this transaction stays: %w", err, picodata.ErrNotRolledBack)
	}
	return err
}
