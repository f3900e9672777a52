package grammar

import (
	"strings"
	"testing"
)

// exprOf reads `select <text>` and gives its only column.
func exprOf(t *testing.T, v Version, text string) Expr {
	t.Helper()
	s, err := Parse(v, "select "+text)
	if err != nil {
		t.Fatalf("%s: %q\n%s", v, text, err)
	}
	return s.(*Select).Query.Terms[0].Core.Items[0].Expr
}

func TestExpressions(t *testing.T) {
	for text, want := range map[string]string{
		// Precedence, loosest first: or, and, not, escape, like, similar, between,
		// comparison and in, + and -, * / % ||, is, subscript, cast.
		"a or b and c":                    "(a or (b and c))",
		"not a and b":                     "((not a) and b)",
		"not a = b":                       "(not (a = b))",
		"not not a":                       "(not (not a))",
		"a = not b and c":                 "((a = (not b)) and c)",
		"a + b * c - d":                   "((a + (b * c)) - d)",
		"a || b + c":                      "(a || (b + c))",
		"a % b / c":                       "((a % b) / c)",
		"a < b = c":                       "((a < b) = c)",
		"a != b":                          "(a <> b)",
		"a <= b and c >= d or e <> f":     "(((a <= b) and (c >= d)) or (e <> f))",
		"a + b is null":                   "(a + (b is null))",
		"a = b is not true":               "(a = (b is not true))",
		"not a is unknown":                "(not (a is unknown))",
		"a like b || c escape '!' and d":  `((a like (b || c) escape "!") and d)`,
		"a ilike b":                       "(a ilike b escape -)",
		"a similar b escape c":            "(a similar b escape c)",
		"a between 1 and 2":               "(a between 1 : 2)",
		"a not between b + 1 and c and d": "((a not between (b + 1) : c) and d)",
		"x and a between 1 and 2 and y":   "((x and (a between 1 : 2)) and y)",
		"not a between 1 and 2":           "(not (a between 1 : 2))",
		"a in (1)":                        "(a in row(1))",
		"a not in (1, 2)":                 "(a not in row(1, 2))",
		"a in (select 1)":                 "(a in subquery)",
		"a in (1) and b":                  "((a in row(1)) and b)",
		"a = 1 in (2)":                    "((a = 1) in row(2))",
		"1::int::text":                    "((1::int)::string)",
		"a + 1::decimal":                  "(a + (1::decimal))",
		"cast(a + 1 as numeric(10, 2))":   "((a + 1)::decimal)",
		"cast( '{1}' as int array )":      `("{1}"::int[])`,
		"a[1]::text is null":              "(((a[1])::string) is null)",
		"a::text[][1]":                    "((a::string[])[1])",
		"a[b[1]]":                         "(a[(b[1])])",
		"array[1, 2 + 3, array[]]":        "array(1, (2 + 3), array())",
		"(a)":                             "[a]",
		"( a , b )":                       "row(a, b)",
		"(1, 2) = (a, b)":                 "(row(1, 2) = row(a, b))",
		"(select 1)":                      "subquery",
		"exists (select 1)":               "exists",
		"not exists (select 1)":           "(not exists)",
		"case when a then 1 end":          "(case - when a then 1 else -)",
		"case a when 1 then 2 when 3 then 4 else 5 end": "(case a when 1 then 2 when 3 then 4 else 5)",
		"t.a":                            "t.a",
		`"T"."a b"`:                      "T.a b",
		"F( a , 'x' )":                   `f(a, "x")`,
		"count(*)":                       "count(*)",
		"count(distinct a)":              "count(distinct a)",
		"f()":                            "f()",
		"f(f(f(f(f(f(f(f(1))))))))":      "f(f(f(f(f(f(f(f(1))))))))",
		"count(*) over ()":               "over(count(*) partition() order())",
		"sum(a) filter (where b) over w": "over(sum(a) b w)",
		"row_number() over (partition by a, b order by c desc nulls last)":          "over(row_number() partition(a, b) order(c 2 2))",
		"sum(a) over (order by b rows between 1 preceding and unbounded following)": "over(sum(a) partition() order(b 0 0) frame(0 1 1 to 4 -))",
		"sum(a) over (range current row)":                                           "over(sum(a) partition() order() frame(1 2 -))",
		"trim(a)":                                                                   "trim(0 - a)",
		"trim(both from a)":                                                         "trim(3 - a)",
		"trim(leading 'x' from a)":                                                  `trim(1 "x" a)`,
		"trim('x' from a)":                                                          `trim(0 "x" a)`,
		"substring(a from 1 for 2)":                                                 "substring(0 a 1 2)",
		"substring(a, 1, 2)":                                                        "substring(1 a 1 2)",
		"substring(a for 2)":                                                        "substring(2 a - 2)",
		"substring(a from 1)":                                                       "substring(3 a 1 -)",
		"substring(a, 1)":                                                           "substring(3 a 1 -)",
		"substring(a similar b escape c)":                                           "substring(4 (a similar b escape c) - -)",
		"current_date":                                                              "now(0 -1)",
		"current_timestamp":                                                         "now(2 -1)",
		"current_timestamp (9)":                                                     "now(2 6)",
		"localtimestamp(0)":                                                         "now(4 0)",
		// Literals.
		"-1":          "-1",
		"+1":          "+1",
		"1 -1":        "(1 - 1)",
		"1-1":         "(1 - 1)",
		"1 - -1":      "(1 - -1)",
		"1.":          "dec:1.",
		"-1.50":       "dec:-1.50",
		"1e5":         "dbl:1e5",
		"-1.5E-3":     "dbl:-1.5E-3",
		"'it''s'":     `"it's"`,
		"''":          `""`,
		"'a\nb'":      `"a\nb"`,
		"NULL":        "null",
		"True":        "true",
		"$1 + $2":     "($1 + $2)",
		"? + f(?, ?)": "($1 + f($2, $3))",
		// Names: folded unless quoted; anything goes that isn't an operator or a bracket.
		"FooBar":      "foobar",
		`"FooBar"`:    "FooBar",
		"Имя":         "имя",
		"a$b?c":       "a$b?c",
		"asc_x":       "asc_x",
		"ones":        "ones",
		"orders":      "orders",
		"inside":      "inside",
		"public.f(1)": "f(1)",
	} {
		if got := dump(exprOf(t, V262, text)); got != want {
			t.Errorf("%q is %s; want %s", text, got, want)
		}
	}
}

// A keyword is no name, but what begins with one mostly is.
func TestReservedWords(t *testing.T) {
	for _, k := range keywords {
		_, err := Parse(V262, "create table "+k+" (id int primary key)")
		// These two begin with a shorter one that the server looks for first.
		if free := k == "current_timestamp"; (err == nil) != free {
			t.Errorf("%s as a table's name: error %v", k, err)
		}
		if _, err := Parse(V262, `create table "`+k+`" (id int primary key)`); err != nil {
			t.Errorf("%q quoted as a table's name: %v", k, err)
		}
		if _, err := Parse(V262, "create table "+k+"_x (id int primary key)"); err != nil {
			t.Errorf("%s_x as a table's name: %v", k, err)
		}
	}
	if _, err := Parse(V256, "select array from t"); err != nil {
		t.Errorf("array is a name before 26.1: %v", err)
	}
}

// Spans are what column names and messages are cut from.
func TestSpans(t *testing.T) {
	const sql = "select  a + b * ( c ) , f( x ) as y, not u between 1 and 2 and v  from t"
	s, err := Parse(V262, sql)
	if err != nil {
		t.Fatal(err)
	}
	items := s.(*Select).Query.Terms[0].Core.Items
	for i, want := range []string{"a + b * ( c )", "f( x )", "not u between 1 and 2 and v"} {
		if got := items[i].Expr.Pos().Text(sql); got != want {
			t.Errorf("column %d is %q; want %q", i+1, got, want)
		}
	}
	sum := items[0].Expr.(*Binary)
	if got := sum.R.Pos().Text(sql); got != "b * ( c )" {
		t.Errorf("the product is %q", got)
	}
	and := items[2].Expr.(*Binary)
	if got := and.L.Pos().Text(sql); got != "not u between 1 and 2" {
		t.Errorf("the left side of AND is %q", got)
	}
	Walk(s, func(n Node) bool {
		if p := n.Pos(); p.Start >= p.End || p.End > len(sql) {
			t.Errorf("%T has the span %v", n, p)
		}
		return true
	})
}

// Nested calls are tried under two heads each; without memory the time would
// double with every level.
func TestNestingTakesLinearTime(t *testing.T) {
	text := "1"
	for range 200 {
		text = "f((" + text + "))"
	}
	exprOf(t, V262, text)
	if _, err := Parse(V262, "select "+text+" from"); err == nil {
		t.Error("a dangling FROM is read")
	}
}

func TestDepthIsBounded(t *testing.T) {
	deep := strings.Repeat("(", 100000)
	if _, err := Parse(V262, "select "+deep); err == nil {
		t.Error("open parentheses are read")
	}
}
