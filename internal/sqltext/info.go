package sqltext

import (
	"strings"
)

// Class is what kind of statement a text is.
type Class uint8

// Classes. Unknown: the text isn't fully understood, Info.Reason says why.
const (
	Unknown Class = iota
	Empty         // blanks, comments and semicolons only
	Read          // SELECT, VALUES, WITH … SELECT, EXPLAIN of these
	Insert
	Update
	Delete
	DDL   // CREATE, DROP, ALTER, TRUNCATE, BACKUP, GRANT, REVOKE, AUDIT
	Block // DO $$ … $$
	Tx    // BEGIN, COMMIT, END, ROLLBACK
	Other // CALL, SET, DEALLOCATE, EXPLAIN of a write
)

var classNames = [...]string{"unknown", "empty", "read", "insert", "update", "delete", "ddl", "block", "tx", "other"}

// String is the class's name in lower case.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// Ref is a parameter of the statement that stands where a value is wanted.
type Ref struct {
	// Param is the parameter's index counted from 0: 0 for $1, or for the first "?". -1: not a
	// parameter but a literal or an expression.
	Param int
	// Cast is the type of $n::T or CAST($n AS T) in lower case without precision, "" without a cast.
	Cast string
}

// KeyEquality is one conjunct "column = parameter" of a WHERE.
type KeyEquality struct {
	Column string // as the server knows it: folded to lower case unless quoted
	Ref    Ref
}

// Info is what Analyze found out about one text. It is immutable once made; share it freely.
type Info struct {
	Class Class
	// PlainRead: the statement reads and does nothing else, so that it may be run again on
	// another node. Only set when every word of it is recognised, see Analyze.
	PlainRead bool
	// Reason says why the text isn't fully understood (Class Unknown), or else why it offers
	// no key to route by. "" if it offers one.
	Reason string

	// Table is the table of an INSERT, UPDATE or DELETE, or of a SELECT of a single table;
	// folded, without "public.". "" otherwise.
	Table string
	// Columns are the target columns of an INSERT that names them; nil: all, in the table's order.
	Columns []string
	// Values are the values of an INSERT … VALUES of exactly one row, in the order of the
	// columns. nil for several rows, a SELECT, or other classes.
	Values []Ref
	// RowValues are the values of an INSERT … VALUES of several rows of equal length, row after row. nil if the
	// rows differ in length or have too many values to be kept.
	RowValues []Ref
	// Rows is the number of rows of INSERT … VALUES; 0 unless the whole text was read.
	Rows int
	// Keys are the equalities between columns and parameters that every row which the WHERE of
	// a SELECT, UPDATE or DELETE lets through must meet. Columns that an UPDATE sets are not among them.
	Keys []KeyEquality

	// Params is the number of parameters: the highest n of $n, or the number of "?". -1: only the server knows.
	Params int
	// Question: the parameters are written "?".
	Question bool

	sql string
}

// shownText bounds what Info.Fingerprint shows of a text, in bytes.
const shownText = 300

// Fingerprint names the statement in errors and logs: Fingerprint of its text, a blank, and
// the beginning of what Normalize makes of it, so that it tells the statement and no value of it.
func (i *Info) Fingerprint() string {
	n := Normalize(i.sql)
	if len(n) > shownText {
		n = strings.ToValidUTF8(n[:shownText], "") + "…"
	}
	return Fingerprint(i.sql) + " " + n
}

// Bound reports whether the statement is of a kind that a sharding key could route:
// an INSERT of one row, or one with equalities.
func (i *Info) Bound() bool { return len(i.Values) > 0 || len(i.Keys) > 0 }

// Row are the values of a row, counted from 0, of an INSERT … VALUES; nil if they aren't known.
func (i *Info) Row(row int) []Ref {
	if i.Rows <= 1 {
		return i.Values
	}
	if i.RowValues == nil {
		return nil
	}
	width := len(i.RowValues) / i.Rows
	return i.RowValues[row*width : (row+1)*width]
}

// Tables are the names that stand where a table may: after FROM, JOIN, INTO and UPDATE, and after a comma of a FROM;
// folded, without "public.". Names of common table expressions are among them: only whoever knows the tables can tell.
// nil for a text that isn't read.
func Tables(sql string) []string {
	if len(sql) > maxRead {
		return nil
	}
	r := reader{s: sql}
	if r.scan() != "" {
		return nil
	}
	var names []string
	from := []bool{false} // by parentheses: a comma here separates tables
	for r.pos = 0; r.peek().kind != end; {
		t := r.peek()
		r.pos++
		listed := false
		switch {
		case opIs(t, '('):
			from = append(from, from[len(from)-1] && r.pos > 1 && opensFrom(r.at(r.pos-2)))
			listed = from[len(from)-1] // FROM (a JOIN b …)
		case opIs(t, ')'):
			if len(from) > 1 {
				from = from[:len(from)-1]
			}
		case opIs(t, ','):
			listed = from[len(from)-1]
		case t.key == kwFrom:
			from[len(from)-1], listed = true, true
		case t.key == kwJoin, t.key == kwInto, t.key == kwUpdate:
			listed = true
		case t.key == kwSelect, t.key == kwWhere, t.key == kwGroup, t.key == kwHaving, t.key == kwWindow, t.key == kwOrder, t.key == kwLimit, t.key == kwSet:
			from[len(from)-1] = false
		}
		if !listed {
			continue
		}
		at := r.pos
		if name, ok := r.table(); ok {
			names = append(names, name)
		} else {
			r.pos = at
		}
	}
	return names
}

// opensFrom: a parenthesis after the token holds tables rather than values.
func opensFrom(t token) bool {
	return t.key == kwFrom || t.key == kwJoin || opIs(t, ',') || opIs(t, '(')
}
