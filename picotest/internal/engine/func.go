package engine

import (
	"errors"
	"math"
	"math/bits"
	"strings"

	sqlite3 "github.com/ncruces/go-sqlite3"
)

var errFunction = errors.New("function failed")

// fail remembers the server's text for the error that SQLite is about to report.
func (d *db) fail(ctx sqlite3.Context, text string) {
	d.fnErr = &Error{"XX000", text}
	ctx.ResultError(errFunction)
}

const (
	// The storage's integers go up to 2^64-1, but the wire has none for the upper half.
	textUnsigned = "encoding error: out of range integral type conversion attempted"
	textOverflow = "Failed to execute SQL statement: integer is overflowed"
	textRange    = "Failed to compile SQL statement: RANGE must use only UNBOUNDED or CURRENT ROW"
	textMany     = "Failed to execute SQL statement: Expression subquery returned more than 1 row"
	textDivision = "Failed to execute SQL statement: division by zero"
)

// fn defines a function that is NULL if any argument is.
func (d *db) fn(name string, args int, f func(a []cell) (cell, string)) error {
	return d.conn.CreateFunction(name, args, sqlite3.DETERMINISTIC, func(ctx sqlite3.Context, arg ...sqlite3.Value) {
		a := make([]cell, len(arg))
		for i, v := range arg {
			if a[i] = argCell(v); a[i] == nil {
				ctx.ResultNull()
				return
			}
		}
		r, text := f(a)
		if text != "" {
			d.fail(ctx, text)
			return
		}
		resultCell(ctx, r)
	})
}

func (d *db) defineFunctions() error {
	var errs []error
	def := func(name string, args int, f func(a []cell) (cell, string)) { errs = append(errs, d.fn(name, args, f)) }
	for name, op := range arithmetic {
		def(name, 2, func(a []cell) (cell, string) { return op.apply(a[0], a[1]) })
	}
	def("p_number", 2, func(a []cell) (cell, string) { return toNumber(a[0], baseType(a[1].(int64))), "" })
	def("p_compare", 3, func(a []cell) (cell, string) {
		t := typeOfCode(a[1].(int64))
		return nil, "Type mismatch: can not convert " + storageText(fromCell(a[0], t), t) + " to comparable type"
	})
	errs = append(errs, d.conn.CreateFunction("p_sound", 1, sqlite3.DETERMINISTIC, func(ctx sqlite3.Context, arg ...sqlite3.Value) {
		if unreadable(argCell(arg[0])) {
			d.fail(ctx, textSpoilt)
			return
		}
		ctx.ResultInt64(1)
	}))
	def("p_scalar", 1, func(a []cell) (cell, string) {
		return nil, "Type mismatch: can not convert scalar(" + string(encodeText(a[0])) + ") to integer, decimal or double"
	})
	def("p_many", 1, func([]cell) (cell, string) { return nil, textMany })
	def("p_moved", 2, func(a []cell) (cell, string) {
		c := toNumber(a[0], baseType(a[1].(int64)))
		if f, ok := c.(float64); ok {
			c = wholeClamped(f)
		}
		return c, ""
	})
	def("p_abs", 1, func(a []cell) (cell, string) {
		switch x := a[0].(type) {
		case float64:
			return math.Abs(x), ""
		case int64:
			if x == math.MinInt64 {
				return -float64(x), "" // the storage has an unsigned for it
			}
			return max(x, -x), ""
		}
		x := cellDecimal(a[0])
		if x.Cmp(Decimal{}) < 0 {
			x = Decimal{}.sub(x)
		}
		return x.exact(), ""
	})
	def("todec", 1, func(a []cell) (cell, string) { return cellDecimal(a[0]).exact(), "" })
	def("todbl", 1, func(a []cell) (cell, string) { return cellFloat(a[0]), "" })
	def("p_lower", 1, func(a []cell) (cell, string) { return strings.ToLower(cellText(a[0])), "" })
	def("p_upper", 1, func(a []cell) (cell, string) { return strings.ToUpper(cellText(a[0])), "" })
	def("p_like", 3, func(a []cell) (cell, string) {
		esc := []rune(cellText(a[2]))
		if len(esc) != 1 {
			return nil, "Failed to execute SQL statement: ESCAPE expression must be a single character"
		}
		var e rune = -1
		if len(esc) == 1 {
			e = esc[0]
		}
		if likeMatch([]rune(cellText(a[1])), []rune(cellText(a[0])), e) {
			return int64(1), ""
		}
		return int64(0), ""
	})
	errs = append(errs,
		d.conn.CreateFunction("p_cast", 3, sqlite3.DETERMINISTIC, d.castFunction),
		d.conn.CreateWindowFunction("dsum", 1, sqlite3.DETERMINISTIC, func() sqlite3.AggregateFunction { return &sumAgg{} }),
		d.conn.CreateWindowFunction("davg", 1, sqlite3.DETERMINISTIC, func() sqlite3.AggregateFunction { return &sumAgg{mean: true} }),
		d.conn.CreateWindowFunction("eavg", 1, sqlite3.DETERMINISTIC, func() sqlite3.AggregateFunction { return &sumAgg{mean: true, texts: 1} }),
		d.conn.CreateWindowFunction("favg", 1, sqlite3.DETERMINISTIC, func() sqlite3.AggregateFunction { return &sumAgg{mean: true, double: true} }),
		d.conn.CreateWindowFunction("ftotal", 1, sqlite3.DETERMINISTIC, func() sqlite3.AggregateFunction { return &totalAgg{} }),
		d.defineLiveFunctions(), d.defineTextFunctions(), d.defineDocFunctions())
	return errors.Join(errs...)
}

func addInt(x, y int64) (int64, string) {
	s := x + y
	switch {
	case x > 0 && y > 0 && s < 0:
		return 0, textUnsigned
	case x < 0 && y < 0 && s >= 0:
		return 0, textOverflow
	}
	return s, ""
}

func subInt(x, y int64) (int64, string) {
	s := x - y
	switch {
	case x >= 0 && y < 0 && s < 0:
		return 0, textUnsigned
	case x < 0 && y > 0 && s >= 0:
		return 0, textOverflow
	}
	return s, ""
}

func mulInt(x, y int64) (int64, string) {
	hi, lo := bits.Mul64(absInt(x), absInt(y))
	neg := (x < 0) != (y < 0)
	if hi != 0 || neg && lo > 1<<63 {
		return 0, textOverflow
	}
	if !neg && lo > math.MaxInt64 {
		return 0, textUnsigned
	}
	if neg {
		return -int64(lo), ""
	}
	return int64(lo), ""
}

func absInt(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func divInt(x, y int64) (int64, string) {
	if y == 0 {
		return 0, textDivision
	}
	if x == math.MinInt64 && y == -1 {
		return 0, textOverflow
	}
	return x / y, ""
}

func modInt(x, y int64) (int64, string) {
	if y == 0 {
		return 0, textDivision
	}
	if y == -1 {
		return 0, ""
	}
	return x % y, ""
}

func cellDecimal(c cell) Decimal {
	switch x := c.(type) {
	case int64:
		return DecimalFromInt(x)
	case string:
		if d, err := ParseDecimal(x); err == nil {
			return d
		}
	case float64:
		return decimalOfFloat(x)
	}
	return Decimal{}
}

// decimalOfFloat takes the shortest text of a double; infinities and what doesn't fit become 0.
func decimalOfFloat(f float64) Decimal {
	d, err := ParseDecimal(strings.TrimSuffix(shortFloat(f), ".0"))
	if err != nil {
		return Decimal{}
	}
	return d
}

func cellFloat(c cell) float64 {
	switch x := c.(type) {
	case int64:
		return float64(x)
	case float64:
		return x
	case string:
		return cellDecimal(x).float()
	}
	return 0
}

func cellText(c cell) string {
	switch x := c.(type) {
	case string:
		return x
	case nil:
		return ""
	}
	return string(encodeText(c))
}

// likeMatch matches LIKE's % and _; an escaped character stands for itself.
func likeMatch(p, s []rune, esc rune) bool {
	for len(p) > 0 {
		switch {
		case p[0] == esc && len(p) > 1:
			if len(s) == 0 || s[0] != p[1] {
				return false
			}
			p, s = p[2:], s[1:]
		case p[0] == '%':
			for len(p) > 0 && p[0] == '%' {
				p = p[1:]
			}
			for i := 0; i <= len(s); i++ {
				if likeMatch(p, s[i:], esc) {
					return true
				}
			}
			return false
		case len(s) == 0, p[0] != '_' && p[0] != s[0]:
			return false
		default:
			p, s = p[1:], s[1:]
		}
	}
	return len(s) == 0
}

// sumAgg is SUM and AVG. It keeps to the kind of its numbers: the mean of integers is an integer.
type sumAgg struct {
	exact  Decimal
	float  float64
	floats int64 // doubles among the numbers
	texts  int64 // decimals among them; from 1 on the mean is a decimal
	n      int64
	mean   bool
	double bool // the mean is the quotient of two doubles, whatever the numbers are
}

func (a *sumAgg) Step(_ sqlite3.Context, arg ...sqlite3.Value) { a.take(argCell(arg[0]), 1) }

func (a *sumAgg) Inverse(_ sqlite3.Context, arg ...sqlite3.Value) { a.take(argCell(arg[0]), -1) }

func (a *sumAgg) take(c cell, sign int64) {
	if c == nil {
		return
	}
	a.n += sign
	switch numberKind(c) {
	case 1:
		a.texts += sign
	case 2:
		a.floats += sign
	}
	a.float += float64(sign) * cellFloat(c)
	if a.exact = a.exact.add(cellDecimal(c)); sign < 0 {
		a.exact = a.exact.sub(cellDecimal(c)).sub(cellDecimal(c))
	}
}

func (a *sumAgg) Value(ctx sqlite3.Context) {
	n := DecimalFromInt(a.n)
	switch {
	case a.n == 0:
		ctx.ResultNull()
	case a.double:
		sum := a.float
		if a.floats == 0 {
			sum = a.exact.float()
		}
		ctx.ResultFloat(sum / float64(a.n))
	case a.texts == 0 && a.floats > 0 && a.mean:
		ctx.ResultFloat(a.float / float64(a.n))
	case a.texts == 0 && a.floats > 0:
		ctx.ResultFloat(a.float)
	case !a.mean:
		ctx.ResultText(a.exact.exact())
	case a.texts == 0:
		sum, _ := a.exact.truncated()
		ctx.ResultInt64(sum / a.n)
	default:
		r, _ := a.exact.div(n) // n isn't 0
		ctx.ResultText(r.exact())
	}
}

// totalAgg is TOTAL: a double, or the integer 0 when there was nothing to add.
type totalAgg struct {
	sum float64
	n   int64
}

func (a *totalAgg) Step(_ sqlite3.Context, arg ...sqlite3.Value) {
	if c := argCell(arg[0]); c != nil {
		a.sum, a.n = a.sum+cellFloat(c), a.n+1
	}
}

func (a *totalAgg) Inverse(_ sqlite3.Context, arg ...sqlite3.Value) {
	if c := argCell(arg[0]); c != nil {
		a.sum, a.n = a.sum-cellFloat(c), a.n-1
	}
}

func (a *totalAgg) Value(ctx sqlite3.Context) {
	if a.n == 0 {
		ctx.ResultInt64(0)
		return
	}
	ctx.ResultFloat(a.sum)
}
