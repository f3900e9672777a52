package picodata

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/internal/sqltext"
)

// Stmt is one statement of a Block.
type Stmt struct {
	// SQL is the statement, its parameters numbered from $1 (or written ?) for itself.
	SQL string
	// Args are its arguments.
	Args []any
}

// BlockResult is what a Block returned.
type BlockResult struct {
	Columns []string
	Rows    [][]any // values as a Scan into *any gives them
}

// BlockError says which statement of a Block can't be in one. Nothing was sent.
type BlockError struct {
	Statement int // counted from 0; -1 = the block as a whole
	Reason    string
}

// Error names the statement.
func (e *BlockError) Error() string {
	if e.Statement < 0 {
		return "picodata: Block: " + e.Reason
	}
	return fmt.Sprintf("picodata: Block: statement %d: %s", e.Statement, e.Reason)
}

// Block runs statements as one atomic block, DO $$ BEGIN … END $$: all of them take effect or
// none. It is what Picodata has instead of transactions, on servers from 26.1 on.
//
// The server's rules: all statements write rows of one bucket (give the tables the same sharding key, and the
// statements the same value for it); reads come before writes; INSERT, UPDATE and DELETE only, and from 26.2 on LET and
// IF. A SELECT becomes RETURN QUERY, whose rows are the result; RETURN QUERY and LET may be written out too.
// What can be checked here is checked before anything is sent (*BlockError).
//
// The block goes to a node chosen by the policy; picodata.ShardKey or ToBucket in the context sends it to its owner.
func Block(ctx context.Context, db *sql.DB, statements ...Stmt) (*BlockResult, error) {
	conn, err := Unwrap(db)
	if err != nil {
		return nil, err
	}
	if t := conn.Topology(); t != nil {
		if v := t.MinVersion(); v.Known() && !v.HasBlocks() {
			return nil, &BlockError{Statement: -1, Reason: fmt.Sprintf("blocks need servers of 26.1 or newer; the oldest of this cluster is %v", v)}
		}
	}
	text, args, err := blockText(statements)
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, explainBlock(err)
	}
	defer rows.Close()
	res := &BlockResult{}
	if res.Columns, err = rows.Columns(); err != nil {
		return nil, err
	}
	for rows.Next() {
		row := make([]any, len(res.Columns))
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		res.Rows = append(res.Rows, row)
	}
	if err := rows.Err(); err != nil {
		return nil, explainBlock(err)
	}
	return res, nil
}

// blockText joins the statements, their parameters renumbered.
func blockText(statements []Stmt) (string, []any, error) {
	if len(statements) == 0 {
		return "", nil, &BlockError{Statement: -1, Reason: "no statement"}
	}
	var b strings.Builder
	var args []any
	wrote := -1
	b.WriteString("DO $$ BEGIN ")
	for i, s := range statements {
		text, params, ok := sqltext.Renumber(s.SQL, len(args))
		switch {
		case !ok:
			return "", nil, &BlockError{i, "the text isn't one statement, or mixes $n and ?"}
		case text == "":
			return "", nil, &BlockError{i, "the statement is empty"}
		case strings.Contains(text, "$$"):
			return "", nil, &BlockError{i, `the text contains "$$", which would end the block`}
		case params != len(s.Args):
			return "", nil, &BlockError{i, fmt.Sprintf("%d parameters, %d arguments", params, len(s.Args))}
		}
		info := sqltext.Analyze(text)
		switch info.Class {
		case sqltext.Read:
			if wrote >= 0 {
				return "", nil, &BlockError{i, fmt.Sprintf("a read after statement %d, which writes: reads come first in a block", wrote)}
			}
			b.WriteString("RETURN QUERY ")
		case sqltext.Insert, sqltext.Update, sqltext.Delete:
			if wrote < 0 {
				wrote = i
			}
		case sqltext.Unknown:
			// RETURN QUERY, LET, IF, or something that the server will name.
		default:
			return "", nil, &BlockError{i, fmt.Sprintf("a block holds SELECT, INSERT, UPDATE and DELETE, not %s", info.Class)}
		}
		b.WriteString(text)
		b.WriteString("; ")
		args = append(args, s.Args...)
	}
	b.WriteString("END $$")
	return b.String(), args, nil
}

// explainBlock adds what to do to the server's words about blocks.
func explainBlock(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	for _, x := range []struct {
		cause  servererr.Cause
		advice string
	}{
		{servererr.DifferentBuckets, "all writes of a block must lie in one bucket: distribute the tables by the same key and give the statements the same value for it"},
		{servererr.ReadAfterWrite, "put the reads first"},
		{servererr.Syntax, "blocks need servers of 26.1 or newer; LET and IF those of 26.2"},
	} {
		if e.report.Cause == x.cause {
			return fmt.Errorf("picodata: Block: %w; %s", err, x.advice)
		}
	}
	return err
}
