package conformance

import (
	"database/sql"
	"errors"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
)

// transactions is about what Picodata has instead of them.
func transactions(t *testing.T, s *subject) {
	table := s.table(t, "id INT PRIMARY KEY, n INT")
	t.Run("reject", func(t *testing.T) {
		if _, err := s.db.BeginTx(t.Context(), nil); !errors.Is(err, picodata.ErrTxUnsupported) {
			t.Errorf("%v", err)
		}
	})
	t.Run("autocommit", func(t *testing.T) {
		db, _ := s.with(t, options.WithTransactions(options.TransactionsAutocommit))
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.exec(t, tx, "INSERT INTO "+table+" VALUES ($1, $2)", 1, 1)
		if err := tx.Rollback(); !errors.Is(err, picodata.ErrNotRolledBack) {
			t.Errorf("Rollback after a write: %v", err)
		}
		// The reason for the error: the row is there.
		if n := s.number(t, s.db, "SELECT count(*) FROM "+table+" WHERE id = 1"); n != 1 {
			t.Errorf("%d rows", n)
		}
		if _, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable}); err == nil {
			t.Error("an isolation level was promised")
		}
	})
	t.Run("the server's BEGIN does nothing", func(t *testing.T) {
		conn, err := s.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		s.exec(t, conn, "BEGIN")
		s.exec(t, conn, "INSERT INTO "+table+" VALUES (2, 2)")
		s.exec(t, conn, "ROLLBACK")
		if n := s.number(t, s.db, "SELECT count(*) FROM "+table+" WHERE id = 2"); n != 1 {
			t.Errorf("%d rows: this server undoes, and the driver need not refuse", n)
		}
	})
	t.Run("block", func(t *testing.T) {
		s.need(t, s.version.HasBlocks(), "blocks, of 26.1")
		s.exec(t, s.db, "INSERT INTO "+table+" VALUES (3, 3)")
		update := picodata.Stmt{SQL: "UPDATE " + table + " SET n = $1 WHERE id = $2", Args: []any{30, 3}}
		res, err := picodata.Block(t.Context(), s.db,
			picodata.Stmt{SQL: "SELECT n FROM " + table + " WHERE id = $1", Args: []any{3}}, update)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Rows) != 1 || res.Rows[0][0] != int64(3) {
			t.Errorf("the block read %v, want 3", res.Rows)
		}
		if n := s.number(t, s.db, "SELECT n FROM "+table+" WHERE id = 3"); n != 30 {
			t.Errorf("n = %d after the block", n)
		}
	})
	t.Run("block undone", func(t *testing.T) {
		s.need(t, s.version.AtLeast(26, 2), "INSERT in blocks, of 26.2")
		s.exec(t, s.db, "INSERT INTO "+table+" VALUES (4, 30)")
		_, err := picodata.Block(t.Context(), s.db,
			picodata.Stmt{SQL: "UPDATE " + table + " SET n = $1 WHERE id = $2", Args: []any{300, 4}},
			picodata.Stmt{SQL: "INSERT INTO " + table + " VALUES ($1, $2)", Args: []any{4, 0}})
		if !picodata.IsUniqueViolation(err) {
			t.Errorf("a duplicate key in a block: %v", err)
		}
		if n := s.number(t, s.db, "SELECT n FROM "+table+" WHERE id = 4"); n != 30 {
			t.Errorf("n = %d: the block wasn't undone", n)
		}
	})
}
