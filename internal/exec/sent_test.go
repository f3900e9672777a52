package exec

import (
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/options"
)

// A read that runs again is settled again: its text stays what it was.
func TestSettleTwice(t *testing.T) {
	x := thousandExecutor(t)
	r := run{c: &Checkout{x: x}, x: x, op: opQuery, text: x.texts.get("select d from t where d = $1"),
		hint: &Hint{Limits: Limits{Opcodes: options.NoLimit, MotionRows: 9}}, args: []driver.NamedValue{{Ordinal: 1, Value: 7.5}}}
	const want = "select d from t where d = $1\nOPTION (sql_vdbe_opcode_max = 0, sql_motion_row_max = 9)"
	for range 3 {
		if err := r.settle(); err != nil {
			t.Fatal(err)
		}
		if strings.TrimRight(r.sql, " ") != want || r.sql == want || r.text.SQL != want {
			t.Fatalf("%q of %q", r.sql, r.text.SQL)
		}
	}
}

// A text and its forms are one text: a server's notice about one is known of all, and none is kept twice.
func TestVariantsAreOneText(t *testing.T) {
	x := thousandExecutor(t)
	text := x.texts.get("update t set d = $1, e = $2")
	for _, args := range [][]driver.NamedValue{
		{{Value: 7.5}, {Value: int64(1)}}, {{Value: 7.0}, {Value: 1.5}}, {{Value: 7.5}, {Value: 1.5}}, {{Value: 8.5}, {Value: 2.0}},
	} {
		r := run{x: x, text: text, args: args}
		if got := x.texts.known(x.texts.variant(text, &r)); got != text {
			t.Errorf("%v: %p, want %p", args, got, text)
		}
	}
	if n := x.texts.len(); n != 4 {
		t.Errorf("%d texts, want one and its three forms", n)
	}
}

// Limits are for statements that have an OPTION clause.
func TestLimitsAreRefusedWhereNoneCanBe(t *testing.T) {
	x := thousandExecutor(t)
	l := Limits{MotionRows: 5}
	for sql, want := range map[string]error{
		"select 1": nil, "insert into t values ($1);": nil, "drop table t": ErrLimits, "begin": ErrLimits, "select 1 OPTION (forward = on)": ErrLimitsTwice,
	} {
		if _, err := x.texts.limited(x.texts.get(sql), l); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", sql, err, want)
		}
	}
}

// What the guard costs a statement without fractions.
func BenchmarkSettle(b *testing.B) {
	for name, v := range map[string]driver.Value{"int": int64(7), "whole": 7.0, "fraction": 7.5} {
		for _, on := range []bool{false, true} {
			b.Run(name+map[bool]string{false: "/off", true: "/on"}[on], func(b *testing.B) {
				x := thousandExecutor(b)
				x.Options.FloatGuard = on
				text := x.texts.get("update t set d = $1 where id = $2")
				args := []driver.NamedValue{{Ordinal: 1, Value: v}, {Ordinal: 2, Value: int64(1)}}
				b.ReportAllocs()
				for b.Loop() {
					r := run{x: x, text: text, args: args}
					if err := r.settle(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
