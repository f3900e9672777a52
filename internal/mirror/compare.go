package mirror

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

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

// sampleBlock is the number of statements within which the share is exact.
const sampleBlock = 64

// sampler picks a share of the statements: exactly so many of every block, at places that differ from
// block to block. Every tenth statement would be the same one of a program that runs ten in a circle.
type sampler struct {
	ratio float64
	seed  uint64
	n     atomic.Uint64
}

// take decides about the next statement.
func (s *sampler) take() bool {
	return s.ratio >= 1 || s.picks(s.n.Add(1)-1)
}

// picks decides about the i-th statement, counted from 0.
func (s *sampler) picks(i uint64) bool {
	block, at := i/sampleBlock, i%sampleBlock
	// The block's places in an order of its own: an odd factor permutes the numbers below a power of two.
	h := mix(s.seed + block*0x9e3779b97f4a7c15)
	place := (at*(h|1) + h>>32) % sampleBlock
	return place < s.upTo(block+1)-s.upTo(block)
}

// upTo is how many statements of the first so many blocks are picked.
func (s *sampler) upTo(blocks uint64) uint64 {
	return uint64(math.Floor(float64(blocks*sampleBlock) * s.ratio))
}

// mix is the finalizer of splitmix64.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// digest is a result in twenty bytes or so. Rows are added up whatever their order is: without ORDER BY
// a distributed database gives them in another one each time, with it rows that are equal by it.
type digest struct {
	hash maphash.Hash
	rows uint64
	sum  uint64
}

func (d *digest) init(seed maphash.Seed) { d.hash.SetSeed(seed) }

// row adds a row as the driver delivers it.
func (d *digest) row(values []driver.Value) {
	d.hash.Reset()
	for _, v := range values {
		d.value(v)
	}
	d.rows++
	d.sum += mix(d.hash.Sum64())
}

// value adds a value with its type: 1 and "1" are different results. Lengths keep neighbours apart.
func (d *digest) value(v driver.Value) {
	switch v := v.(type) {
	case nil:
		_ = d.hash.WriteByte('n')
	case int64:
		d.number('i', uint64(v))
	case float64:
		if v != v {
			v = math.NaN() // all NaNs are one
		}
		d.number('f', math.Float64bits(v))
	case bool:
		b := byte('0')
		if v {
			b = '1'
		}
		_ = d.hash.WriteByte(b)
	case string:
		d.number('s', uint64(len(v)))
		_, _ = d.hash.WriteString(v)
	case []byte:
		d.number('b', uint64(len(v)))
		_, _ = d.hash.Write(v)
	case time.Time:
		d.number('t', uint64(v.Unix()))
		d.number('t', uint64(v.Nanosecond()))
	default:
		// Not a value that the wire gives.
		_, _ = fmt.Fprintf(&d.hash, "%T %v", v, v)
	}
}

func (d *digest) number(tag byte, n uint64) {
	var b [9]byte
	b[0] = tag
	binary.LittleEndian.PutUint64(b[1:], n)
	_, _ = d.hash.Write(b[:]) // a Hash never fails
}
