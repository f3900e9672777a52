package wire

import (
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/lib/pq/oid"
)

// What the client can't decode ends the statement, which no other node would answer otherwise, and leaves the
// connection as good as before: the stream is in step.
func TestUndecodableAnswersEndTheStatementAlone(t *testing.T) {
	begin := frame('1', "") + frame('2', "") + frame('T', oneColumn)
	good, end := frame('D', "\x00\x01\x00\x00\x00\x011"), frame('C', "SELECT 3\x00")
	value := func(oid uint32, v string) string {
		return frame('1', "") + frame('2', "") + describeColumn(oid) + rowOf([]byte(v))
	}
	for name, c := range map[string]struct {
		answer  string
		end     string
		column  int
		typ     string
		length  int
		secret  string // must not show
		earlier int    // rows that come before
	}{
		"int8 beyond its range":     {answer: value(20, "18446744073709551615"), column: 1, typ: "INT8", length: 20, secret: "18446744073709551615"},
		"int8 that is none":         {answer: value(20, "s3cret"), column: 1, typ: "INT8", length: 6, secret: "s3cret"},
		"empty int8":                {answer: value(20, ""), column: 1, typ: "INT8"},
		"double beyond its range":   {answer: value(701, "1e999"), column: 1, typ: "FLOAT8", length: 5, secret: "1e999"},
		"empty bool":                {answer: value(16, ""), column: 1, typ: "BOOL"},
		"year below 0":              {answer: value(1184, "-0044-03-15 00:00:00+00"), column: 1, typ: "TIMESTAMPTZ", length: 23, secret: "0044"},
		"empty timestamp":           {answer: value(1184, ""), column: 1, typ: "TIMESTAMPTZ"},
		"date that is none":         {answer: value(1082, "not a date"), column: 1, typ: "DATE", length: 10},
		"month that is none":        {answer: value(1184, "2024-13-01 00:00:00+00"), column: 1, typ: "TIMESTAMPTZ", length: 22, secret: "2024"},
		"day that is none":          {answer: value(1082, "2023-02-29"), column: 1, typ: "DATE", length: 10, secret: "2023"},
		"hour that is none":         {answer: value(1184, "2024-01-01 25:00:00+00"), column: 1, typ: "TIMESTAMPTZ", length: 22, secret: "2024"},
		"second that is none":       {answer: value(1184, "2024-01-01 00:00:99+00"), column: 1, typ: "TIMESTAMPTZ", length: 22, secret: "2024"},
		"time that is none":         {answer: value(1083, "noon"), column: 1, typ: "TIME", length: 4},
		"bytes with an odd digit":   {answer: value(17, `\x1`), column: 1, typ: "BYTEA", length: 3},
		"second row":                {answer: begin + good + rowOf([]byte("x")), column: 1, typ: "INT8", length: 1, earlier: 1},
		"third row, notice between": {answer: begin + good + good + frame('N', "SNOTICE\x00\x00") + rowOf([]byte("x")), column: 1, typ: "INT8", length: 1, earlier: 2},
		"row too short":             {answer: begin + frame('D', "\x00"), typ: "row", length: 1},
		"row with fewer columns":    {answer: begin + frame('D', "\x00\x00"), typ: "row", length: 2},
		"row with more columns":     {answer: begin + frame('D', "\x00\x02\x00\x00\x00\x011\x00\x00\x00\x011"), typ: "row", length: 12},
		"value beyond the row":      {answer: begin + frame('D', "\x00\x01\x00\x00\x00\x091"), typ: "row", length: 7},
		"value of length -2":        {answer: begin + frame('D', "\x00\x01\xff\xff\xff\xfe"), typ: "row", length: 6},
		"bytes after the row":       {answer: begin + good + frame('D', "\x00\x01\x00\x00\x00\x0111"), typ: "row", length: 8, earlier: 1},
		"tag without end":           {answer: begin + good, end: frame('C', "SELECT 1"), typ: "command tag", length: 8, earlier: 1},
		"tag without a number":      {answer: begin, end: frame('C', "SELECT many\x00"), typ: "command tag", length: 12},
		"tag of an insert":          {answer: begin, end: frame('C', "INSERT 1\x00"), typ: "command tag", length: 9},
	} {
		t.Run(name, func(t *testing.T) {
			last := end
			if c.end != "" {
				last = c.end
			}
			s := newServer(t)
			s.handle = answering(c.answer + good + last + idle)
			if c.end != "" {
				s.handle = answering(c.answer + last + idle)
			}
			conn, _ := s.dial(newConfig())
			for range 3 { // the connection lives on
				rows, err := conn.Query(bg, "select $1", named("1"))
				got := 0
				for err == nil {
					if err = rows.Next(make([]driver.Value, 1)); err == nil {
						got++
					}
				}
				if rows != nil {
					if again := rows.Next(make([]driver.Value, 1)); again != err {
						t.Errorf("then %v", again)
					}
					rows.Close()
				}
				var d *DecodeError
				if !errors.As(err, &d) {
					t.Fatalf("not a DecodeError: %v", err)
				}
				if d.Column != c.column || d.Type != c.typ || d.Length != c.length || got != c.earlier {
					t.Errorf("%d rows, then %+v", got, d)
				}
				if c.column > 0 && d.Name != "c" {
					t.Errorf("name %q", d.Name)
				}
				if c.secret != "" && strings.Contains(err.Error(), c.secret) {
					t.Errorf("%v shows the value", err)
				}
				if !conn.Usable() || !conn.Alive() {
					t.Fatal("the connection is lost")
				}
			}
		})
	}
}

// An execution doesn't look at rows, but at the tag.
func TestUndecodableTagOfAnExecution(t *testing.T) {
	for _, args := range [][]driver.NamedValue{nil, named("1")} {
		s := newServer(t)
		answer := frame('C', "INSERT 0 x\x00") + idle
		if args != nil {
			answer = frame('1', "") + frame('2', "") + frame('n', "") + answer
		}
		s.handle = answering(answer)
		c, _ := s.dial(newConfig())
		for range 2 {
			_, err := c.Exec(bg, "insert into t values (1)", args)
			var d *DecodeError
			if !errors.As(err, &d) || !c.Usable() {
				t.Fatalf("usable %v: %v", c.Usable(), err)
			}
		}
	}
}

// Values that lib/pq gives as something else than a number or a text.
func TestRareTypes(t *testing.T) {
	for _, c := range []struct {
		oid        uint32
		text, want string
	}{
		{1184, "infinity", "infinity"},
		{1082, "-infinity", "-infinity"},
		{17, `\x0102`, "\x01\x02"},
		{17, `a\\b\001`, "a\\b\x01"},
		{1083, "04:05:06.5", "0000-01-01 04:05:06.5 +0000 UTC"},
		{1083, "24:00:00", "0000-01-02 00:00:00 +0000 UTC"},
		{1266, "04:05:06+03", "0000-01-01 01:05:06 +0000 UTC"},
		{1266, "04:05:06+03:30", "0000-01-01 00:35:06 +0000 UTC"},
		{1266, "04:05:06+03:30:06", "0000-01-01 00:35:00 +0000 UTC"},
		{1082, "2024-02-29", "2024-02-29 00:00:00 +0000 UTC"},
	} {
		v, err := decoderOf(c.oid, false).decode([]byte(c.text), new(arena))
		if err != nil {
			t.Errorf("%d %q: %v", c.oid, c.text, err)
			continue
		}
		var got string
		switch v := v.(type) {
		case string:
			got = v
		case []byte:
			got = string(v)
		case interface{ String() string }:
			got = v.String()
		}
		if got != c.want {
			t.Errorf("%d %q: %T %q, want %q", c.oid, c.text, v, got, c.want)
		}
	}
}

// Binary integers of every width keep their sign, and one of another width isn't read at all.
func TestBinaryIntegers(t *testing.T) {
	for _, c := range []struct {
		typ  oid.Oid
		hex  string
		want any
	}{
		{oid.T_int2, "ffff", int64(-1)}, {oid.T_int2, "8000", int64(-32768)}, {oid.T_int2, "7fff", int64(32767)},
		{oid.T_int4, "ffffffff", int64(-1)}, {oid.T_int4, "80000000", int64(-1 << 31)}, {oid.T_int4, "7fffffff", int64(1<<31 - 1)},
		{oid.T_int8, "ffffffffffffffff", int64(-1)}, {oid.T_int8, "8000000000000000", int64(-1 << 63)},
		{oid.T_int2, "ff", nil}, {oid.T_int2, "ffffffff", nil}, {oid.T_int4, "ffff", nil}, {oid.T_int8, "ffffffff", nil},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decoderOf(uint32(c.typ), true).decode(b, new(arena))
		if got != c.want || (err != nil) != (c.want == nil) {
			t.Errorf("type %d %s: %v, %v, want %v", c.typ, c.hex, got, err, c.want)
		}
	}
}
