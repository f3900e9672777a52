package engine

import "fmt"

// A UUID whose ninth byte begins with three ones is one that the storage writes and can't read back: scans that meet the row fail, and
// replicas can't apply it and follow no more.

const textSpoilt = "Failed to execute SQL statement: Invalid MsgPack - uuid"

// unreadable tells whether a cell of a uuid column is such a UUID.
func unreadable(c cell) bool {
	s, ok := c.(string)
	return ok && len(s) == 36 && (s[19] == 'e' || s[19] == 'f')
}

// spoil notes what a change that was written does to its copy and to those that follow.
func (s *store) spoil(c *dataCopy, op rowOp) {
	if op.del {
		return
	}
	for _, col := range op.table.columns {
		if col.typ != typeUUID || !unreadable(op.row[col.slot]) {
			continue
		}
		s.spoilt[op.table.id] = true
		if c == s.global {
			continue
		}
		for _, f := range s.copies[c.replicaset] {
			if f != c {
				f.cut, f.stopped = true, true
			}
		}
	}
}

// sound is the condition that a row can be read, "" where all can.
func (s *store) sound(t *table) string {
	if !s.spoilt[t.id] {
		return ""
	}
	cond := ""
	for _, c := range t.columns {
		if c.typ == typeUUID {
			cond += fmt.Sprintf(" AND p_sound(c%d)", c.slot)
		}
	}
	return " WHERE 1" + cond
}
