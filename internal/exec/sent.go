package exec

import (
	"errors"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/picodata/go-picodata/internal/hazard"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/options"
)

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
