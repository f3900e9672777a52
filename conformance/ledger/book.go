package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picodata/go-picodata/conformance/internal/account"
)

// line is what one kind of statement came to over one event.
type line struct {
	kind string

	acknowledged, refused, unknown int
	late                           int            // unknown, and begun after something had died
	causes                         map[string]int // of those that were refused or unknown
	doubled, lost, lied            int
	slowest                        time.Duration
	// elsewhere is the slowest of the statements that needed no replicaset that the event hurts, -1 if there is none that
	// is known not to.
	elsewhere time.Duration
}

// row is what was said about one row.
type row struct {
	kind    int
	said    account.Said
	deleted account.Said // what was said about its DELETE
}

// number is what was said about one counter.
type number struct {
	kind int
	account.Tally
}

// book is the ledger of one event.
type book struct {
	mu      sync.Mutex
	lines   []*line
	rows    map[int]*row
	globals map[int]*row
	numbers map[int]*number
	struck  time.Time // when something died, the zero time before
	notes   []string  // the first things that are wrong, in words
}

func newBook() *book {
	b := &book{rows: map[int]*row{}, globals: map[int]*row{}, numbers: map[int]*number{}}
	for _, k := range kinds {
		b.lines = append(b.lines, &line{kind: k.name, causes: map[string]int{}, elsewhere: -1})
	}
	return b
}

// note counts a call.
func (b *book) note(kind int, healthy bool, began time.Time, err error) {
	took := time.Since(began)
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lines[kind]
	l.slowest = max(l.slowest, took)
	if healthy {
		l.elsewhere = max(l.elsewhere, took)
	}
	switch account.Verdict(err) {
	case account.Acknowledged:
		l.acknowledged++
		return
	case account.InDoubt:
		l.unknown++
		if !b.struck.IsZero() && began.After(b.struck) {
			l.late++
		}
	case account.Refused:
		l.refused++
	}
	l.causes[account.Cause(err)]++
}

// strikes notes that something has just died.
func (b *book) strikes() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.struck = time.Now()
}

// wrote notes what was said about the INSERT of rows that nobody else writes.
func (b *book) wrote(of map[int]*row, kind int, s account.Said, ids ...int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		of[id] = &row{kind: kind, said: s}
	}
}

// removed notes what was said about the DELETE of a row.
func (b *book) removed(id int, s account.Said) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows[id].deleted = s
}

// counted notes what was said about the increment of numbers.
func (b *book) counted(kind int, s account.Said, ids ...int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		n := b.numbers[id]
		if n == nil {
			n = &number{kind: kind}
			b.numbers[id] = n
		}
		n.Add(s)
	}
}

// wrong notes a finding.
func (b *book) wrong(kind int, f account.Finding, by int, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.found(kind, f, by, format, args...)
}

// found is wrong with the lock held. The first few are kept in words.
func (b *book) found(kind int, f account.Finding, by int, format string, args ...any) {
	const most = 20
	l := b.lines[kind]
	switch f {
	case account.Kept:
		return
	case account.Lost:
		l.lost += by
	case account.Doubled:
		l.doubled += by
	case account.Lied:
		l.lied += by
	}
	if len(b.notes) < most {
		b.notes = append(b.notes, l.kind+": "+fmt.Sprintf(format, args...))
	}
}

// contents is what the tables hold: how often each id, and each counter.
type contents struct{ rows, globals, numbers map[int]int }

// settle compares the book with the tables.
func (b *book) settle(c contents) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range []struct {
		said  map[int]*row
		there map[int]int
	}{{b.rows, c.rows}, {b.globals, c.globals}} {
		for _, id := range slices.Sorted(maps.Keys(t.said)) {
			r, n := t.said[id], t.there[id]
			if r.deleted == 0 {
				b.found(r.kind, r.said.Row(n), 1, "row %d, of which was said %q, is there %d times", id, words[r.said], n)
				continue
			}
			// A row was acknowledged before it was deleted.
			switch {
			case n > 1:
				b.found(r.kind, account.Doubled, 1, "row %d is there %d times", id, n)
			case r.deleted == account.Acknowledged && n == 1:
				b.found(r.kind, account.Lost, 1, "row %d was deleted and is there", id)
			case r.deleted == account.Refused && n == 0:
				b.found(r.kind, account.Lied, 1, "row %d isn't there, and its DELETE was refused", id)
			}
		}
		for id := range t.there {
			if t.said[id] == nil && id >= stride {
				b.found((id/stride-1)%len(kinds), account.Lied, 1, "row %d is there and nobody wrote it", id)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.numbers)) {
		n := b.numbers[id]
		f, by := n.Judge(c.numbers[id])
		b.found(n.kind, f, by, "counter %d is %d: %d increments were acknowledged, %d are in doubt", id, c.numbers[id], n.Acknowledged, n.InDoubt)
	}
}

var words = [...]string{"nothing", "acknowledged", "unknown", "refused"}

// reasons are the causes of a line, the most frequent first.
func (l *line) reasons() string {
	var list []string
	for _, c := range slices.SortedFunc(maps.Keys(l.causes), func(a, b string) int {
		if d := l.causes[b] - l.causes[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	}) {
		list = append(list, fmt.Sprintf("%s %d", c, l.causes[c]))
	}
	return strings.Join(list, ", ")
}
