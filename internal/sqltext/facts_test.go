package sqltext

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// facts are what routing and the judge build on.
func facts(i *Info) string {
	return fmt.Sprint(i.Table, i.Columns, i.Values, i.Rows, i.Keys)
}

var noFacts = facts(&Info{})

// texts makes random INSERTs, of a known number of rows.
type texts struct{ *rand.Rand }

func (x texts) pick(from ...string) string { return from[x.IntN(len(from))] }

func (x texts) value(depth int) string {
	if depth > 3 {
		return "$1"
	}
	switch x.IntN(9) {
	case 0:
		return fmt.Sprintf("(select max(id)+%s from u where a in (%s))", x.value(depth+1), x.value(depth+1))
	case 1:
		return fmt.Sprintf("coalesce(%s, %s)", x.value(depth+1), x.value(depth+1))
	case 2:
		return fmt.Sprintf("cast(%s as int)", x.value(depth+1))
	case 3:
		return fmt.Sprintf("case when %s > 1 then %s else %s end", x.value(depth+1), x.value(depth+1), x.value(depth+1))
	case 4:
		return "(" + x.value(depth+1) + ")"
	}
	return x.pick("$1", "$2::int", "?", "5", "-1.5", "null", "'a), (b'", `"q), ("`, "now()", "'it''s'", "a[1]", "/* ), ( */ 7", "x -- ), (\n")
}

func (x texts) insert() (sql string, rows int) {
	rows = 1 + x.IntN(4)
	var b strings.Builder
	b.WriteString("insert into t " + x.pick("", "(a, b) ", `("A", b) `) + "values ")
	for i := range rows {
		if i > 0 {
			b.WriteString(x.pick(",", ", ", " ,\n"))
		}
		fmt.Fprintf(&b, "(%s, %s)", x.value(0), x.value(0))
	}
	b.WriteString(x.pick("", "", " on conflict do nothing", " on conflict (a) do update set b = $1", " returning a", " option (x = 1)", " union all select 1", ";"))
	return b.String(), rows
}

// A text that was read to its end tells how many rows it has; one that wasn't tells nothing at all. An INSERT of several
// rows that counts as one would be taken for a write of one bucket, and run again after it was applied in part.
func TestHalfReadTextsTellNothing(t *testing.T) {
	x := texts{rand.New(rand.NewPCG(1, 2))}
	read := 0
	for range 20_000 {
		sql, rows := x.insert()
		info := Analyze(sql)
		switch {
		case info.Rows == rows:
			read++
		case info.Rows != 0:
			t.Fatalf("%q has %d rows and counts as %d (%s)", sql, rows, info.Rows, info.Reason)
		case facts(&info) != noFacts:
			t.Fatalf("%q wasn't read (%s), and yet: %s", sql, info.Reason, facts(&info))
		}
		if len(info.Values) > 0 && rows != 1 {
			t.Fatalf("%q: values of one row of %d: %+v", sql, rows, info.Values)
		}
	}
	if read < 1000 {
		t.Errorf("only %d texts were read: the test shows nothing", read)
	}
}

// The same of texts with a word, or a part, taken away.
func TestDamagedTextsTellNothing(t *testing.T) {
	x := texts{rand.New(rand.NewPCG(3, 4))}
	whole := []string{
		"insert into t (a, b) values ($1, $2), ((select 1), $3)",
		"update t set a = $1, b = (select max(x) from u) where k = $2 and l = $3",
		"update t set a = a + 1 where k = $1 group by x",
		"delete from t indexed by i where k = $1 and (l = $2)",
		"select a, f(b) from t as x where x.k = $1 and l = $2 order by 1",
	}
	for _, sql := range whole {
		words := strings.Fields(sql)
		for range 2000 {
			i := x.IntN(len(words))
			j := i + 1 + x.IntN(len(words)-i)
			cut := strings.Join(append(append([]string(nil), words[:i]...), words[j:]...), " ")
			info := Analyze(cut)
			if (info.Class == Unknown || info.Reason == ReasonSyntax || info.Reason == ReasonUnterminated) && facts(&info) != noFacts {
				t.Fatalf("%q wasn't read (%s), and yet: %s", cut, info.Reason, facts(&info))
			}
		}
	}
}

// The text that was run four times while a leader changed: its second row isn't read, so its first doesn't count.
func TestSubqueryInTheSecondRow(t *testing.T) {
	info := Analyze("INSERT INTO t VALUES ($1,$2),((SELECT max(id)+1 FROM u),$3),($4,$5)")
	if info.Rows == 1 || info.Bound() || info.Class != Insert {
		t.Errorf("%+v", info)
	}
}
