package engine

import (
	"fmt"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// writer changes one copy of one table. Its changes are undone together when one fails, and only those of a whole success reach
// the copies that follow.
type writer struct {
	s    *Stmt
	t    *table
	copy *dataCopy
	ops  []rowOp
	// block words errors as inside a DO block.
	block bool
}

// writeAll runs f for the copies that rows belong to, one after the other, and adds up what it says. A copy that fails doesn't
// stop the others, for on a cluster they work at the same time; an error of View.Before does.
func (s *Stmt) writeAll(t *table, v View, rows []newRow, f func(w *writer) (int64, *Error)) (int64, *Error) {
	if t.global {
		w := &writer{s: s, t: t, copy: s.eng.store.global}
		return w.transaction(f)
	}
	need := map[string]bool{}
	for _, r := range rows {
		need[r.home] = true
	}
	var total int64
	var failed *Error
	for _, c := range v.Copies {
		if rows != nil && !need[c.Replicaset] {
			continue
		}
		delete(need, c.Replicaset)
		if err := s.outside(v, c, false); err != nil {
			return total, err
		}
		if err := s.recheck(v); err != nil {
			return total, err
		}
		w := &writer{s: s, t: t, copy: s.eng.store.at(c)}
		n, err := w.transaction(f)
		if err != nil {
			if !v.Local && !(s.scattered && c.Instance == v.Instance) {
				err = remote(err, c.Replicaset)
			}
			if failed == nil {
				failed = err
			}
		}
		total += n
		if err := s.outside(v, c, true); err != nil {
			return total, err
		}
	}
	if failed != nil {
		return total, failed
	}
	for home := range need {
		return total, broken(fmt.Errorf("rows of %s belong to replicaset %s, which the view hasn't", t.name, home))
	}
	return total, nil
}

// transaction runs f, undoing all of it if it fails; what succeeds goes to the replicas.
func (w *writer) transaction(f func(w *writer) (int64, *Error)) (int64, *Error) {
	db := w.s.eng.db
	w.s.eng.store.made = nil
	if err := db.exec("SAVEPOINT w"); err != nil {
		return 0, broken(err)
	}
	n, bad := f(w)
	if bad != nil {
		if err := db.exec("ROLLBACK TO w"); err != nil {
			return 0, broken(err)
		}
		if len(w.s.eng.store.made) > 0 {
			w.s.eng.store.unmake()
		}
		n, w.ops = 0, nil
	}
	if err := db.exec("RELEASE w"); err != nil {
		return 0, broken(err)
	}
	for _, op := range w.ops {
		w.s.eng.store.spoil(w.copy, op)
		if err := w.s.eng.store.replicate(w.copy, op); err != nil {
			return 0, broken(err)
		}
	}
	return n, bad
}

func (w *writer) apply(op rowOp) *Error {
	if err := w.s.eng.store.apply(w.copy, op); err != nil {
		return broken(err)
	}
	w.ops = append(w.ops, op)
	return nil
}

// wrong words an error of the storage inside the writing transaction.
func (w *writer) wrong(verb, text string) *Error {
	switch {
	case w.t.global:
		return bare("box error: %s", text)
	case w.block:
		return refuse("invalid transaction: transaction rolled-back: %s", strings.TrimPrefix(strings.TrimPrefix(text, "TupleFound: "), "FieldType: "))
	case strings.HasPrefix(text, "FieldType: "):
		text = "box error: " + text
	}
	return refuse("invalid transaction: transaction rolled-back: failed to %s space: %s", verb, text)
}

// insert stores the rows that belong to this copy.
func (w *writer) insert(rows []newRow, action grammar.ConflictAction) (n int64, err *Error) {
	for _, r := range rows {
		if r.home != w.copy.replicaset {
			continue
		}
		if err := w.fits(r.cells, "insert"); err != nil {
			return n, err
		}
		old, index, e := w.s.eng.store.conflict(w.t, w.copy, r.cells)
		if e != nil {
			return n, broken(e)
		}
		if old != nil {
			if action == grammar.DoNothing {
				continue
			}
			if action != grammar.DoReplace || index != w.t.pkName() {
				return n, w.duplicate("insert", index, old, r.cells)
			}
		}
		if err := w.apply(rowOp{table: w.t, row: r.cells}); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (w *writer) duplicate(verb, index string, old, row []cell) *Error {
	return w.wrong(verb, fmt.Sprintf(`TupleFound: Duplicate key exists in unique index "%s" in space "%s" with old tuple - %s and new tuple - %s`,
		index, w.t.name, w.t.tuple(old), w.t.tuple(row)))
}

// maxTuple is the storage's default for the size of a row, in bytes.
const maxTuple = 1 << 20

// fits holds a row against the columns' types, as the storage does.
func (w *writer) fits(row []cell, verb string) *Error {
	size := 0
	for _, c := range row {
		if s, ok := c.(string); ok {
			size += len(s)
		}
	}
	if size > maxTuple {
		option := "memtx_max_tuple_size"
		if w.t.vinyl {
			option = "vinyl_max_tuple_size"
		}
		return w.wrong(verb, fmt.Sprintf("Failed to allocate %d bytes for tuple: tuple is too large. Check '%s' configuration option.", size, option))
	}
	for i, c := range w.t.columns {
		v := row[c.slot]
		got := ""
		switch {
		case v == nil && !c.nullable:
			got = "nil"
		case v != nil && c.typ.base == tUnsigned && !c.typ.array:
			if n, ok := v.(int64); ok && n < 0 {
				got = "integer"
			}
		}
		if got != "" {
			return w.wrong(verb, fmt.Sprintf("FieldType: Tuple field %d (%s) type does not match one required by operation: expected %s, got %s",
				i+1, c.name, c.typ.fieldName(), got))
		}
	}
	return nil
}

// tuple writes a row as the storage prints it in errors.
func (t *table) tuple(row []cell) string {
	parts := make([]string, len(t.columns))
	for i, c := range t.columns {
		v := fromCell(row[c.slot], c.typ)
		switch x := v.(type) {
		case UUID:
			parts[i] = x.String()
		case Datetime:
			parts[i] = strings.Trim(jsonOf(x), `"`)
		default:
			parts[i] = jsonOf(v)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
