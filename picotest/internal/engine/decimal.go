package engine

import (
	"errors"
	"math/big"
	"strings"
)

// maxDecimalDigits is the precision of the server's decimals.
const maxDecimalDigits = 38

// Decimal is an exact decimal number, coef · 10^-scale. The scale is part of the value: 1.0 and 1.00 are equal but print and hash
// differently. A negative scale comes from a written exponent (1e2). The zero Decimal is 0.
type Decimal struct {
	coef    *big.Int
	scale   int
	negZero bool // written as -0, which hashes differently from 0
}

var (
	errDecimal  = errors.New("not a decimal")
	errDivision = errors.New("division by zero")
	ten         = big.NewInt(10)
)

// DecimalFromInt makes a decimal of scale 0.
func DecimalFromInt(i int64) Decimal { return Decimal{coef: big.NewInt(i)} }

// ParseDecimal reads digits with an optional sign, point and exponent; at most 38 digits.
func ParseDecimal(s string) (Decimal, error) {
	mant, exp := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mant = s[:i]
		e, neg, ok := s[i+1:], false, true
		if e != "" && (e[0] == '+' || e[0] == '-') {
			neg = e[0] == '-'
			e = e[1:]
		}
		if exp, ok = smallInt(e); !ok {
			return Decimal{}, errDecimal
		}
		if neg {
			exp = -exp
		}
	}
	digits := mant
	if digits != "" && (digits[0] == '+' || digits[0] == '-') {
		digits = digits[1:]
	}
	whole, frac, _ := strings.Cut(digits, ".")
	if whole == "" && frac == "" || !allDigits(whole) || !allDigits(frac) {
		return Decimal{}, errDecimal
	}
	coef, ok := new(big.Int).SetString(whole+frac, 10)
	if !ok {
		return Decimal{}, errDecimal
	}
	if strings.HasPrefix(mant, "-") {
		coef.Neg(coef)
	}
	d := Decimal{coef: coef, scale: len(frac) - exp, negZero: coef.Sign() == 0 && mant[0] == '-'}
	if !d.fits() {
		return Decimal{}, errDecimal
	}
	return d, nil
}

func smallInt(s string) (int, bool) {
	if s == "" || len(s) > 4 || !allDigits(s) {
		return 0, false
	}
	n := 0
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n, true
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func (d Decimal) int() *big.Int {
	if d.coef == nil {
		return new(big.Int)
	}
	return d.coef
}

// fits tells whether the value and its scale are inside the server's 38 digits.
func (d Decimal) fits() bool {
	n := digitCount(d.int())
	if d.scale > maxDecimalDigits || d.int().Sign() != 0 && n-d.scale > maxDecimalDigits || d.scale < -maxDecimalDigits {
		return false
	}
	return n <= maxDecimalDigits
}

func digitCount(i *big.Int) int {
	if i.Sign() == 0 {
		return 1
	}
	return len(new(big.Int).Abs(i).String())
}

// String writes the number without an exponent.
func (d Decimal) String() string {
	s := new(big.Int).Abs(d.int()).String()
	switch {
	case d.scale < 0:
		if d.int().Sign() != 0 {
			s += strings.Repeat("0", -d.scale)
		}
	case d.scale > 0:
		if len(s) <= d.scale {
			s = strings.Repeat("0", d.scale-len(s)+1) + s
		}
		s = s[:len(s)-d.scale] + "." + s[len(s)-d.scale:]
	}
	if d.int().Sign() < 0 || d.negZero {
		s = "-" + s
	}
	return s
}

// exact writes the number so that ParseDecimal gives back the same scale.
func (d Decimal) exact() string {
	if d.scale < 0 {
		return d.int().String() + "e" + big.NewInt(int64(-d.scale)).String()
	}
	return d.String()
}

func pow10(n int) *big.Int { return new(big.Int).Exp(ten, big.NewInt(int64(n)), nil) }

// align gives both coefficients at the larger scale.
func align(a, b Decimal) (x, y *big.Int, scale int) {
	x, y, scale = a.int(), b.int(), max(a.scale, b.scale)
	if a.scale < scale {
		x = new(big.Int).Mul(x, pow10(scale-a.scale))
	}
	if b.scale < scale {
		y = new(big.Int).Mul(y, pow10(scale-b.scale))
	}
	return x, y, scale
}

// Cmp orders by value; the scale plays no part.
func (d Decimal) Cmp(o Decimal) int {
	x, y, _ := align(d, o)
	return x.Cmp(y)
}

func (d Decimal) negative() bool { return d.negZero || d.int().Sign() < 0 }

func (d Decimal) add(o Decimal) Decimal {
	x, y, s := align(d, o)
	return Decimal{coef: new(big.Int).Add(x, y), scale: s}.round()
}

func (d Decimal) sub(o Decimal) Decimal {
	x, y, s := align(d, o)
	return Decimal{coef: new(big.Int).Sub(x, y), scale: s}.round()
}

func (d Decimal) mul(o Decimal) Decimal {
	r := Decimal{coef: new(big.Int).Mul(d.int(), o.int()), scale: d.scale + o.scale}.round()
	r.negZero = r.int().Sign() == 0 && d.negative() != o.negative()
	return r
}

// div divides to 38 significant digits, half up; an exact quotient keeps no more zeros than the operands' scales ask for.
func (d Decimal) div(o Decimal) (Decimal, error) {
	if o.int().Sign() == 0 {
		return Decimal{}, errDivision
	}
	ideal := d.scale - o.scale
	shift := max(0, maxDecimalDigits+1+digitCount(o.int())-digitCount(d.int()))
	num := new(big.Int).Mul(d.int(), pow10(shift))
	q, r := new(big.Int).QuoRem(num, o.int(), new(big.Int))
	res := Decimal{coef: q, scale: ideal + shift}
	if r.Sign() != 0 {
		return res.round(), nil
	}
	for res.scale > ideal {
		t, m := new(big.Int).QuoRem(res.coef, ten, new(big.Int))
		if m.Sign() != 0 {
			break
		}
		res = Decimal{coef: t, scale: res.scale - 1}
	}
	return res.round(), nil
}

// round cuts to 38 digits, half up.
func (d Decimal) round() Decimal {
	over := max(digitCount(d.int())-maxDecimalDigits, d.scale-maxDecimalDigits)
	if over <= 0 {
		return d
	}
	p := pow10(over)
	q, r := new(big.Int).QuoRem(d.int(), p, new(big.Int))
	if r.Abs(r).Lsh(r, 1).Cmp(p) >= 0 {
		q.Add(q, big.NewInt(int64(d.int().Sign())))
	}
	return Decimal{coef: q, scale: d.scale - over}
}

// truncated gives the whole part if it fits an int64.
func (d Decimal) truncated() (int64, bool) {
	x := d.int()
	if d.scale < 0 {
		x = new(big.Int).Mul(x, pow10(-d.scale))
	} else if d.scale > 0 {
		x = new(big.Int).Quo(x, pow10(d.scale))
	}
	return x.Int64(), x.IsInt64()
}

func (d Decimal) float() float64 {
	f, _ := new(big.Float).SetPrec(256).SetString(d.exact())
	if f == nil {
		return 0
	}
	v, _ := f.Float64()
	return v
}
