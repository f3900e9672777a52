package mirror

import (
	"database/sql/driver"
	"time"
)

// unit is one statement that was handed over. Nobody else holds what it points to.
type unit struct {
	sql   string
	args  []driver.NamedValue
	query bool // it gives rows
	at    time.Time
	size  int
	cmp   *Comparison // nil: not compared
}

// unitOverhead is what a unit costs beside its text and arguments.
const unitOverhead = 128

// sizeOf is the memory that a unit takes, roughly: text, arguments and the unit itself.
func sizeOf(sql string, args []driver.NamedValue) int {
	n := unitOverhead + len(sql)
	for i := range args {
		n += argOverhead
		switch v := args[i].Value.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}

// argOverhead is the size of a driver.NamedValue.
const argOverhead = 40

// copyArgs makes arguments the unit's own. database/sql's slice, and the bytes in it, are the caller's.
func copyArgs(args []driver.NamedValue) []driver.NamedValue {
	if len(args) == 0 {
		return nil
	}
	own := make([]driver.NamedValue, len(args))
	for i, a := range args {
		if b, ok := a.Value.([]byte); ok && b != nil {
			a.Value = append(make([]byte, 0, len(b)), b...)
		}
		own[i] = a
	}
	return own
}

// queue is a ring of units that grows as it fills.
type queue struct {
	ring []unit
	head int
	n    int
}

func (q *queue) push(u unit) {
	if q.n == len(q.ring) {
		grown := make([]unit, max(8, 2*q.n))
		for i := range q.n {
			grown[i] = *q.at(i)
		}
		q.ring, q.head = grown, 0
	}
	q.ring[(q.head+q.n)%len(q.ring)] = u
	q.n++
}

// at is the i-th unit of those that wait, counted from 0.
func (q *queue) at(i int) *unit { return &q.ring[(q.head+i)%len(q.ring)] }

func (q *queue) pop() unit {
	u := q.ring[q.head]
	q.ring[q.head] = unit{}
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	return u
}
