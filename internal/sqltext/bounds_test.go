package sqltext

import (
	"fmt"
	"strings"
	"testing"
)

// A lone carriage return ends a comment, as in PostgreSQL: the WHERE behind it isn't lost.
func TestCarriageReturnEndsAComment(t *testing.T) {
	for in, want := range map[string]string{
		"DELETE FROM t -- x\rWHERE id = 1":   "DELETE FROM t \nWHERE id = 1",
		"DELETE FROM t -- x\r\nWHERE id = 1": "DELETE FROM t \nWHERE id = 1",
		"-- x\rDELETE FROM t":                "DELETE FROM t",
	} {
		if got, _ := StripComments(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
	if info := Analyze("DELETE FROM t -- x\rWHERE id = $1"); len(info.Keys) != 1 {
		t.Errorf("%+v", info)
	}
}

// What costs more than its length is given up: it has no keys, and nothing else is wrong with it.
func TestReadingIsLinear(t *testing.T) {
	const n = 20_000
	var set, and []string
	for i := range n {
		set, and = append(set, fmt.Sprintf("c%d = $1", i)), append(and, fmt.Sprintf("k%d = $2", i))
	}
	for name, sql := range map[string]string{
		"nested ANDs":        "SELECT * FROM t WHERE " + strings.Repeat("(", n) + "a=$1" + strings.Repeat(" AND b=$1)", n),
		"nested parentheses": "SELECT * FROM t WHERE " + strings.Repeat("(", n) + "a=$1" + strings.Repeat(")", n),
		"SET and WHERE":      "UPDATE t SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(and, " AND "),
		"equalities":         "SELECT * FROM t WHERE " + strings.Join(and, " AND "),
	} {
		info := Analyze(sql)
		if info.Class == Unknown || len(info.Keys) > maxKeys {
			t.Errorf("%s: %v, %d keys, %s", name, info.Class, len(info.Keys), info.Reason)
		}
	}
	deep := "SELECT * FROM t WHERE " + strings.Repeat("(", maxDepth) + "a=$1" + strings.Repeat(")", maxDepth)
	if info := Analyze(deep); len(info.Keys) != 1 {
		t.Errorf("%d levels: %s", maxDepth, info.Reason)
	}
	if info := Analyze("SELECT '" + strings.Repeat("x", maxRead) + "'"); info.Class != Unknown || info.PlainRead || info.Reason != ReasonLong {
		t.Errorf("%v, %s", info.Class, info.Reason)
	}
}

func BenchmarkAnalyzeNested(b *testing.B) {
	for _, size := range []int{8 << 10, 64 << 10, 512 << 10} {
		sql := "SELECT * FROM t WHERE " + strings.Repeat("(", size/12) + "a=$1" + strings.Repeat(" AND b=$1)", size/12)
		b.Run(fmt.Sprint(size>>10, "KB"), func(b *testing.B) {
			b.SetBytes(int64(len(sql)))
			for b.Loop() {
				Analyze(sql)
			}
		})
	}
}

// Literals that Picodata doesn't know hold values too.
func TestFingerprintsHideForeignLiterals(t *testing.T) {
	for _, sql := range []string{
		`SELECT E'it\'s s3cret' FROM t`, `SELECT e'\\\'s3cret' FROM t`, `SELECT X'5ec3' FROM t`, `SELECT 0x5ec3 FROM t`,
		`SELECT U&'s3cret' FROM t`, `SELECT n's3cret' FROM t`, `SELECT 1e5 FROM t`, `SELECT 12ab FROM t`,
	} {
		if got := Normalize(sql); got != "select ? from t" {
			t.Errorf("%s became %s", sql, got)
		}
	}
}
