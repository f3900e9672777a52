package engine

// operation is an arithmetic operator for each kind of number.
type operation struct {
	ints     func(x, y int64) (int64, string)
	doubles  func(x, y float64) (float64, string)
	decimals func(x, y Decimal) (Decimal, error)
}

var arithmetic = map[string]operation{
	"p_add": {addInt, func(x, y float64) (float64, string) { return x + y, "" }, func(x, y Decimal) (Decimal, error) { return x.add(y), nil }},
	"p_sub": {subInt, func(x, y float64) (float64, string) { return x - y, "" }, func(x, y Decimal) (Decimal, error) { return x.sub(y), nil }},
	"p_mul": {mulInt, func(x, y float64) (float64, string) { return x * y, "" }, func(x, y Decimal) (Decimal, error) { return x.mul(y), nil }},
	"p_div": {divInt, divFloat, Decimal.div},
	"p_mod": {ints: modInt},
}

func divFloat(x, y float64) (float64, string) {
	if y == 0 {
		return 0, textDivision
	}
	return x / y, ""
}

// apply computes with the kind of the values: a double on one side makes both doubles, else a decimal makes both decimals.
func (o operation) apply(l, r cell) (cell, string) {
	switch kind := max(numberKind(l), numberKind(r)); {
	case kind > 0 && o.doubles == nil:
		x, _ := convertInt(fromCell(l, typeNumeric))
		y, _ := convertInt(fromCell(r, typeNumeric))
		i, text := o.ints(x.(int64), y.(int64))
		return i, text
	case kind == 1:
		d, err := o.decimals(cellDecimal(l), cellDecimal(r))
		if err != nil {
			return nil, textDivision
		}
		if !d.fits() {
			return nil, "Failed to execute SQL statement: decimal is overflowed"
		}
		return d.exact(), ""
	case kind == 2:
		f, text := o.doubles(cellFloat(l), cellFloat(r))
		return f, text
	}
	i, text := o.ints(l.(int64), r.(int64))
	return i, text
}

// numberKind ranks cells: integers, decimals, doubles.
func numberKind(c cell) int {
	switch c.(type) {
	case string:
		return 1
	case float64:
		return 2
	}
	return 0
}

// toNumber makes a number of another kind of a cell; what isn't a number stays.
func toNumber(c cell, t baseType) cell {
	switch t {
	case tInt:
		switch x := c.(type) {
		case float64:
			return clampInt(x)
		case string:
			if d, err := ParseDecimal(x); err == nil {
				i, _ := d.truncated()
				return i
			}
		}
	case tDouble:
		return cellFloat(c)
	case tNumeric:
		return cellDecimal(c).exact()
	}
	return c
}
