package exec

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/picodata/go-picodata/internal/hazard"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/options"
)

// Text is what the connector knows of one SQL text. It is shared by all sessions.
type Text struct {
	SQL      string       // as it is sent: comments stripped where the options say so
	Info     sqltext.Info // the driver's own reading
	keys     atomic.Pointer[keyAnswer]
	route    atomic.Pointer[considered]
	variants atomic.Pointer[variants] // as it is sent with some arguments; nil: always as SQL
	// Writes: the statement may change rows; what isn't understood may.
	Writes bool
	// Overwrites: it may change rows that are there. An INSERT that replaces nothing can't.
	Overwrites bool
	used       atomic.Bool // looked up since the hand of the clock passed
}

// newText reads a text.
func newText(sql string) *Text {
	t := &Text{SQL: sql, Info: sqltext.Analyze(sql)}
	switch t.Info.Class {
	case sqltext.Empty, sqltext.Tx:
	case sqltext.Read:
		t.Writes = !t.Info.PlainRead // it calls what isn't known to be harmless
	default:
		t.Writes = true
	}
	t.Overwrites = t.Info.Class != sqltext.Insert || sqltext.Replaces(sql)
	return t
}

// fingerprintLimit bounds what an error or a log line shows of a statement.
const fingerprintLimit = 500

// Fingerprint is the statement without its literals, fit for errors and logs.
func (t *Text) Fingerprint() string { return Fingerprint(t.SQL) }

// Fingerprint is an SQL text without its literals, shortened.
func Fingerprint(sql string) string {
	f := sqltext.Normalize(sql)
	if len(f) > fingerprintLimit {
		f = strings.ToValidUTF8(f[:fingerprintLimit], "") + "…"
	}
	return f
}

// keyAnswer is what a server said of a text's sharding key. A text without one hasn't been
// answered for; an answer that isn't routable is an answer too.
type keyAnswer struct {
	meta  schema.KeyMeta
	known bool // a notice came; otherwise the server was asked and said nothing
	// epoch is the connector's schema epoch when the answer came. An older answer doesn't count.
	epoch uint64
}

// considered is what a text offers to route by, and of what that was told. It keeps no view alive: a thousand texts may
// have seen as many.
type considered struct {
	view   uint64 // its number
	answer *keyAnswer
	keys   bool
	route.Candidate
}

// textCache keeps the texts used last, approximately: a second chance instead of an exact
// order, so that a hit takes a read lock only.
type textCache struct {
	size  int
	strip bool

	mu   sync.RWMutex
	byQ  map[string]*Text
	ring []string // keys of byQ in the order of the clock
	hand int
}

// textCacheMin is the least number of texts kept. Reading a text costs about what a map look-up of it costs,
// but a text that is forgotten loses its sharding key as well, and that costs a hop.
const textCacheMin = 64

// textLimit is the longest text that is kept. Longer ones are literal-laden bulk statements
// that don't come again.
const textLimit = 64 << 10

func newTextCache(size int, strip bool) *textCache {
	return &textCache{size: max(size, textCacheMin), strip: strip, byQ: make(map[string]*Text)}
}

// get returns the text's entry, reading the text if it isn't known. Texts that differ in their
// comments only share one entry: what tracing adds to a text is different every time.
func (c *textCache) get(query string) *Text {
	if t := c.known(query); t != nil {
		return t
	}
	if c.strip {
		if sql, changed := sqltext.StripComments(query); changed {
			query = sql
			if t := c.known(query); t != nil {
				return t
			}
		}
	}
	return c.add(query)
}

// known returns the entry of a text as it is sent, or nil.
func (c *textCache) known(sql string) *Text {
	c.mu.RLock()
	t := c.byQ[sql]
	c.mu.RUnlock()
	if t != nil && !t.used.Load() {
		t.used.Store(true)
	}
	return t
}

func (c *textCache) add(query string) *Text {
	t := newText(query)
	if len(query) > textLimit {
		return t
	}
	// The caller's string may be a slice of something large; what is kept must not keep that alive.
	key := strings.Clone(query)
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.byQ[query]; old != nil {
		return old
	}
	c.put(key, t)
	return t
}

// put remembers a text, in the place of one that wasn't used for long. mu is held.
func (c *textCache) put(key string, t *Text) {
	if len(c.ring) < c.size {
		c.ring = append(c.ring, key)
	} else {
		for c.byQ[c.ring[c.hand]].used.Swap(false) {
			c.hand = (c.hand + 1) % len(c.ring)
		}
		delete(c.byQ, c.ring[c.hand])
		c.ring[c.hand] = key
		c.hand = (c.hand + 1) % len(c.ring)
	}
	c.byQ[key] = t
}

// len is the number of texts kept.
func (c *textCache) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.byQ)
}

// Limits are what a caller's context says of the server's limits for a statement.
type Limits struct{ Opcodes, MotionRows options.Limit }

// ErrLimits is a statement for which WithLimits can do nothing.
var ErrLimits = errors.New("picodata: WithLimits is for SELECT, INSERT, UPDATE and DELETE: other statements have no OPTION clause; set sql_vdbe_opcode_max or sql_motion_row_max for the connection")

// ErrLimitsTwice is a text that has an OPTION clause already.
var ErrLimitsTwice = errors.New("picodata: WithLimits can't add to a statement that has an OPTION clause of its own: write the limits there")

// limited is the text with an OPTION clause that sets limits.
func (c *textCache) limited(t *Text, l Limits) (*Text, error) {
	switch t.Info.Class {
	case sqltext.Read, sqltext.Insert, sqltext.Update, sqltext.Delete:
	default:
		return nil, ErrLimits
	}
	if sqltext.HasOption(t.SQL) {
		return nil, ErrLimitsTwice
	}
	var set []string
	for _, o := range []struct {
		name  string
		value options.Limit
	}{{"sql_vdbe_opcode_max", l.Opcodes}, {"sql_motion_row_max", l.MotionRows}} {
		if o.value != options.LimitUnset {
			set = append(set, o.name+" = "+strconv.FormatInt(max(int64(o.value), 0), 10)) // NoLimit is the server's 0
		}
	}
	return c.get(withOption(t.SQL, strings.Join(set, ", "))), nil
}

// withOption is a text that has no OPTION clause with one: on a line of its own, for a comment may end the text.
func withOption(sql, option string) string {
	return strings.TrimRight(sql, " \t\r\n;") + "\nOPTION (" + option + ")"
}

// variants are the texts that one text is sent as, by hazard.Pattern.
type variants [hazard.Variants]atomic.Pointer[string]

// variant is the text as it is sent with these arguments; see package hazard.
func (c *textCache) variant(t *Text, r *run) string {
	n := hazard.Pattern(r.args)
	switch {
	case n == 0:
		return t.SQL
	case n < 0:
		if t.Info.Rows > 1 && r.x.routing.sharded(t) {
			return t.SQL // rows inserted into a sharded table keep their fractions, and a bulk's patterns are all different
		}
		return t.SQL + hazard.Suffix(r.args)
	}
	all := t.variants.Load()
	if all == nil {
		t.variants.CompareAndSwap(nil, new(variants))
		all = t.variants.Load()
	}
	if sql := all[n].Load(); sql != nil {
		return *sql
	}
	sql := t.SQL + hazard.Suffix(r.args)
	all[n].Store(&sql)
	c.alias(sql, t)
	return sql
}

// alias lets a text be found by what it is sent as: a server's notice names that.
func (c *textCache) alias(sql string, t *Text) {
	if len(sql) > textLimit {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byQ[sql] == nil {
		c.put(sql, t)
	}
}
