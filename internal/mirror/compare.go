package mirror

import (
	"database/sql/driver"
	"errors"
	"log/slog"
	"strconv"
	"sync"

	"github.com/lib/pq"
	"github.com/picodata/go-picodata/internal/sqltext"
)

// outcome is what one side made of a statement. The zero outcome is no complete result.
type outcome struct {
	complete bool
	code     string // SQLSTATE of an error
	exec     bool   // rows were touched, not given
	rows     uint64
	sum      uint64
}

// String says it in a log line.
func (o outcome) String() string {
	rows := strconv.FormatUint(o.rows, 10) + " rows"
	if o.rows == 1 {
		rows = "1 row"
	}
	switch {
	case !o.complete:
		return "incomplete"
	case o.code != "":
		return "error " + o.code
	case o.exec:
		return rows + " affected"
	}
	return rows
}

// what names what two complete outcomes differ in.
func (o outcome) what(other outcome) string {
	switch {
	case o.code != other.code:
		return "error"
	case o.rows != other.rows:
		return "rows"
	}
	return "values"
}

// Comparison is one statement's results on both sides. The caller's side calls Row for every row that it
// delivers, then Done, Affected or Failed once. All methods do nothing on nil.
type Comparison struct {
	m   *Mirror
	sql string

	digest digest // the caller's side

	mu           sync.Mutex
	user, mirror *outcome
}

// Row adds a row of the caller's result. It belongs to the statement's goroutine.
func (c *Comparison) Row(values []driver.Value) {
	if c != nil {
		c.digest.row(values)
	}
}

// Done ends the caller's result: whole tells that Row has seen all rows.
func (c *Comparison) Done(whole bool) {
	if c != nil {
		c.settle(&c.user, outcome{complete: whole, rows: c.digest.rows, sum: c.digest.sum})
	}
}

// Affected is the caller's result of a statement without rows.
func (c *Comparison) Affected(n int64) {
	if c != nil {
		c.settle(&c.user, outcome{complete: true, exec: true, rows: uint64(n)})
	}
}

// Failed is the caller's result if it is an error. Only a server's own is one to compare.
func (c *Comparison) Failed(err error) {
	if c != nil {
		c.settle(&c.user, failure(err))
	}
}

// failure is the outcome of an error. What a server says as it goes away (classes 08 and 57) is about
// the server, not about the statement.
func failure(err error) outcome {
	var p *pq.Error
	if !errors.As(err, &p) || p.Code.Class() == "08" || p.Code.Class() == "57" {
		return outcome{}
	}
	return outcome{complete: true, code: string(p.Code)}
}

// settle notes one side's outcome; the second one to come compares. A difference is reported on a goroutine
// of its own, for this one may be the caller's.
func (c *Comparison) settle(side **outcome, o outcome) {
	c.mu.Lock()
	if *side != nil {
		c.mu.Unlock()
		return
	}
	*side = &o
	user, mirror := c.user, c.mirror
	c.mu.Unlock()
	switch {
	case user == nil || mirror == nil:
	case !user.complete || !mirror.complete:
		c.m.count.incomplete.Add(1)
	case *user == *mirror:
		c.m.count.same.Add(1)
	case !c.m.background(func() { c.report(*user, *mirror) }):
		c.m.count.different.Add(1) // too late for more
	}
}

// report counts a difference by its statement and logs the first, the second, the fourth, the eighth…
func (c *Comparison) report(user, mirror outcome) {
	defer c.m.count.different.Add(1) // last: whoever sees it finds the statement in the log and in the list
	info := sqltext.Analyze(c.sql)
	fingerprint := info.Fingerprint()
	n := c.m.count.differs(fingerprint)
	if n&(n-1) != 0 {
		return
	}
	c.m.log.Warn("picodata: mirror: the results differ",
		slog.String("statement", fingerprint), slog.String("in", user.what(mirror)), slog.String("here", user.String()), slog.String("mirror", mirror.String()), slog.Uint64("count", n))
}
