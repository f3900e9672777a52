package engine

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	sqlite3 "github.com/ncruces/go-sqlite3"
)

// db is the SQLite connection: statement cache, functions, collations. It is used under the engine's lock only.
type db struct {
	conn  *sqlite3.Conn
	stmts map[string]*sqlite3.Stmt
	// fnErr is what a function of ours complained about while the last statement ran.
	fnErr *Error
	run   *runState
}

// maxCachedStmts bounds the cache; it is emptied when full, which costs a prepare of some ten microseconds each.
const maxCachedStmts = 512

// maxMemory bounds what a cluster's rows take, in bytes. It is address space, and memory only as it fills.
func maxMemory() int64 {
	if bits.UintSize < 64 {
		return 64 << 20
	}
	return 4 << 30 // all that SQLite can address there
}

// errFull is what a statement gets that finds no room any more.
var errFull = errors.New("MemoryIssue: Failed to allocate memory: the simulation is full")

func openDB(memory int64) (*db, error) {
	conn, err := sqlite3.OpenContext(sqlite3.WithMaxMemory(context.Background(), memory), ":memory:")
	if err != nil {
		return nil, fmt.Errorf("engine: open an SQLite database in memory: %w", err)
	}
	d := &db{conn: conn, stmts: map[string]*sqlite3.Stmt{}}
	// A name that doesn't resolve shall be an error, not a text.
	_, err1 := conn.Config(sqlite3.DBCONFIG_DQS_DML, false)
	_, err2 := conn.Config(sqlite3.DBCONFIG_DQS_DDL, false)
	if err := errors.Join(err1, err2, conn.CreateCollation("dec", collateDecimal), conn.CreateCollation("dt", collateDatetime), d.defineFunctions()); err != nil {
		return nil, errors.Join(fmt.Errorf("engine: prepare the SQLite database: %w", err), conn.Close())
	}
	return d, nil
}

func (d *db) close() error {
	d.forget()
	return d.conn.Close()
}

// forget closes all cached statements, as a change of the schema asks for.
func (d *db) forget() {
	for k, s := range d.stmts {
		_ = s.Close() // a statement's last error comes again here and was reported when it happened
		delete(d.stmts, k)
	}
}

// errUntranslatable is a text that SQLite refuses: the translation into its language is wrong.
var errUntranslatable = errors.New("engine: SQLite refuses")

func (d *db) prepare(sql string) (*sqlite3.Stmt, error) {
	if s, ok := d.stmts[sql]; ok && !s.Busy() {
		return s, nil
	}
	s, _, err := d.conn.Prepare(sql)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", errUntranslatable, sql, err)
	}
	if len(d.stmts) >= maxCachedStmts {
		d.forget()
	}
	d.stmts[sql] = s
	return s, nil
}

// exec runs a statement that returns no rows; args are bound from 1.
func (d *db) exec(sql string, args ...cell) error {
	s, err := d.prepare(sql)
	if err != nil {
		return err
	}
	for i, a := range args {
		if err := bindCell(s, i+1, a); err != nil {
			return err
		}
	}
	s.Step()
	return s.Reset()
}

// ddl changes SQLite's own schema. Cached statements reprepare themselves.
func (d *db) ddl(format string, args ...any) error {
	return d.conn.Exec(fmt.Sprintf(format, args...))
}

// query runs a statement and gives its rows; steps is SQLite's count of executed opcodes.
func (d *db) query(sql string, args []cell, maxArg int) (rows [][]cell, steps int, err error) {
	defer func() {
		// SQLite's wrapper panics where it can't allocate; nothing of the statement has happened then.
		if r := recover(); r != nil {
			if !strings.Contains(fmt.Sprint(r), "out of memory") {
				panic(r)
			}
			d.forget()
			rows, steps, err = nil, 0, errFull
		}
	}()
	s, err := d.prepare(sql)
	if err != nil {
		return nil, 0, err
	}
	n := s.BindCount()
	for i := 0; i < n && i < len(args) && i < maxArg; i++ {
		if err := bindCell(s, i+1, args[i]); err != nil {
			return nil, 0, err
		}
	}
	s.Status(sqlite3.STMTSTATUS_VM_STEP, true)
	cols := s.ColumnCount()
	for s.Step() {
		row := make([]cell, cols)
		for i := range row {
			row[i] = columnCell(s, i)
		}
		rows = append(rows, row)
	}
	err = s.Err()
	steps = s.Status(sqlite3.STMTSTATUS_VM_STEP, true)
	if e := s.Reset(); err == nil {
		err = e
	}
	return rows, steps, err
}

// quote writes an identifier for SQLite.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quoteText writes a string literal for SQLite.
func quoteText(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }

func collateDecimal(a, b []byte) int {
	x, err1 := ParseDecimal(string(a))
	y, err2 := ParseDecimal(string(b))
	if err1 != nil || err2 != nil {
		return strings.Compare(string(a), string(b))
	}
	return x.Cmp(y)
}

func collateDatetime(a, b []byte) int {
	return strings.Compare(string(a[:min(len(a), dtSortLen)]), string(b[:min(len(b), dtSortLen)]))
}
