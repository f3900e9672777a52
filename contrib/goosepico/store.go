// Package goosepico lets goose, the migration tool, keep its versions in Picodata.
//
//	provider, err := goose.NewProvider(goose.DialectCustom, db, migrations,
//		goose.WithStore(goosepico.NewStore("goose_db_version")), goose.WithIsolateDDL(true))
//
// Picodata has no transactions: begin every SQL migration with "-- +goose NO TRANSACTION", or open the database with
// transactions=autocommit, which runs each statement by itself. Either way a migration that fails half-way leaves what it did.
package goosepico

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pressly/goose/v3/database"

	picodata "github.com/picodata/go-picodata"
)

// DefaultTable is where versions are kept if nothing else is said.
const DefaultTable = "goose_db_version"

// Store implements goose's database.StoreExtender. Its table is global: every instance has a copy, and
// a change is one operation of the cluster. The user needs CREATE TABLE, and READ on _pico_table if the table exists already.
type Store struct{ table string }

var _ database.StoreExtender = (*Store)(nil)

// NewStore makes a store of a table; "" is DefaultTable.
func NewStore(table string) *Store {
	if table == "" {
		table = DefaultTable
	}
	return &Store{table: table}
}

// Tablename is the table's name.
func (s *Store) Tablename() string { return s.table }

func (s *Store) quoted() string { return `"` + strings.ReplaceAll(s.table, `"`, `""`) + `"` }

// CreateVersionTable creates the table.
func (s *Store) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	return s.exec(ctx, db, "CREATE TABLE IF NOT EXISTS %s (version_id INTEGER PRIMARY KEY, is_applied BOOLEAN NOT NULL, tstamp DATETIME NOT NULL) DISTRIBUTED GLOBALLY")
}

// Insert notes that a version was applied.
func (s *Store) Insert(ctx context.Context, db database.DBTxConn, req database.InsertRequest) error {
	return s.exec(ctx, db, "INSERT INTO %s (version_id, is_applied, tstamp) VALUES ($1, $2, $3)", req.Version, true, time.Now().UTC())
}

// Delete forgets a version.
func (s *Store) Delete(ctx context.Context, db database.DBTxConn, version int64) error {
	return s.exec(ctx, db, "DELETE FROM %s WHERE version_id = $1", version)
}

// GetMigration tells about one version.
func (s *Store) GetMigration(ctx context.Context, db database.DBTxConn, version int64) (*database.GetMigrationResult, error) {
	var r database.GetMigrationResult
	err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT tstamp, is_applied FROM %s WHERE version_id = $1", s.quoted()), version).Scan(&r.Timestamp, &r.IsApplied)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: %d", database.ErrVersionNotFound, version)
	}
	if err != nil {
		return nil, fmt.Errorf("goosepico: version %d: %w", version, err)
	}
	return &r, nil
}

// GetLatestVersion is the highest version that was applied.
func (s *Store) GetLatestVersion(ctx context.Context, db database.DBTxConn) (int64, error) {
	var v sql.NullInt64
	if err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT max(version_id) FROM %s", s.quoted())).Scan(&v); err != nil {
		return -1, fmt.Errorf("goosepico: the latest version: %w", err)
	}
	if !v.Valid {
		return -1, database.ErrVersionNotFound
	}
	return v.Int64, nil
}

// ListMigrations are all versions, the highest first.
func (s *Store) ListMigrations(ctx context.Context, db database.DBTxConn) ([]*database.ListMigrationsResult, error) {
	rows, err := db.QueryContext(ctx, fmt.Sprintf("SELECT version_id, is_applied FROM %s ORDER BY version_id DESC", s.quoted()))
	if err != nil {
		return nil, fmt.Errorf("goosepico: versions: %w", err)
	}
	defer rows.Close()
	var list []*database.ListMigrationsResult
	for rows.Next() {
		var r database.ListMigrationsResult
		if err := rows.Scan(&r.Version, &r.IsApplied); err != nil {
			return nil, fmt.Errorf("goosepico: versions: %w", err)
		}
		list = append(list, &r)
	}
	return list, rows.Err()
}

// TableExists asks _pico_table, where the user may read it.
func (s *Store) TableExists(ctx context.Context, db database.DBTxConn) (bool, error) {
	var n int
	err := db.QueryRowContext(ctx, "SELECT count(*) FROM _pico_table WHERE name = $1", s.table).Scan(&n)
	if picodata.IsPermission(err) {
		return false, errors.ErrUnsupported // goose finds out by asking the table itself
	}
	return n > 0, err
}

func (s *Store) exec(ctx context.Context, db database.DBTxConn, format string, args ...any) error {
	if _, err := db.ExecContext(ctx, fmt.Sprintf(format, s.quoted()), args...); err != nil {
		return fmt.Errorf("goosepico: %w", err)
	}
	return nil
}
