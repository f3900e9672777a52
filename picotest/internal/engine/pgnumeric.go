package engine

import (
	"encoding/binary"
	"math/big"
	"strings"
)

// maxBinaryDigits is what the server's reader of binary numerics can hold: 96 bits and a scale of 28.
const maxBinaryScale = 28

var maxBinaryCoef = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 96), big.NewInt(1))

// decodeNumeric reads PostgreSQL's binary numeric: groups of four digits, weight, sign, scale. The server reads it through a
// 96-bit decimal, so positive exponents expand and more than 28 or 29 digits are refused.
func decodeNumeric(b []byte) (Value, bool) {
	if len(b) < 8 {
		return nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	weight := int(int16(binary.BigEndian.Uint16(b[2:])))
	sign := binary.BigEndian.Uint16(b[4:])
	scale := int(binary.BigEndian.Uint16(b[6:]))
	if len(b) != 8+2*n || sign != 0 && sign != 0x4000 || scale > maxBinaryScale {
		return nil, false
	}
	coef, base := new(big.Int), big.NewInt(10000)
	for i := range n {
		g := binary.BigEndian.Uint16(b[8+2*i:])
		if g > 9999 {
			return nil, false
		}
		coef.Mul(coef, base).Add(coef, big.NewInt(int64(g)))
	}
	// coef · 10000^(weight-n+1), wanted at the given scale.
	shift := 4*(weight-n+1) + scale
	if shift > 4*maxDecimalDigits || shift < -4*len(b) {
		return nil, false
	}
	if shift >= 0 {
		coef.Mul(coef, pow10(shift))
	} else {
		coef.Quo(coef, pow10(-shift))
	}
	if coef.Cmp(maxBinaryCoef) > 0 {
		return nil, false
	}
	if sign != 0 {
		coef.Neg(coef)
	}
	return Decimal{coef: coef, scale: scale}, true
}

func encodeNumeric(d Decimal) []byte {
	s := d.String()
	neg := strings.HasPrefix(s, "-")
	whole, frac, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	scale := len(frac)
	whole = strings.TrimLeft(whole, "0")
	for len(whole)%4 != 0 {
		whole = "0" + whole
	}
	for len(frac)%4 != 0 {
		frac += "0"
	}
	weight := len(whole)/4 - 1
	digits := whole + frac
	for strings.HasPrefix(digits, "0000") {
		digits = digits[4:]
		weight--
	}
	for strings.HasSuffix(digits, "0000") {
		digits = digits[:len(digits)-4]
	}
	if digits == "" {
		weight = 0
	}
	b := binary.BigEndian.AppendUint16(nil, uint16(len(digits)/4))
	b = binary.BigEndian.AppendUint16(b, uint16(int16(weight)))
	sign := uint16(0)
	if neg && digits != "" {
		sign = 0x4000
	}
	b = binary.BigEndian.AppendUint16(b, sign)
	b = binary.BigEndian.AppendUint16(b, uint16(scale))
	for ; digits != ""; digits = digits[4:] {
		g := uint16(digits[0]-'0')*1000 + uint16(digits[1]-'0')*100 + uint16(digits[2]-'0')*10 + uint16(digits[3]-'0')
		b = binary.BigEndian.AppendUint16(b, g)
	}
	return b
}
