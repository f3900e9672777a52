package engine

import (
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// baseType is a type of the server's type system.
type baseType int

const (
	tUnknown baseType = iota
	tBool
	tInt
	tUnsigned // of columns alone; in expressions it is tInt
	tDouble
	tNumeric
	tText
	tUUID
	tDatetime
	tMap
	tArrayAny
	tAny
)

// sqlType is a type, or an array of it.
type sqlType struct {
	base  baseType
	array bool
}

var (
	typeUnknown = sqlType{}
	typeBool    = sqlType{base: tBool}
	typeInt     = sqlType{base: tInt}
	typeDouble  = sqlType{base: tDouble}
	typeNumeric = sqlType{base: tNumeric}
	typeText    = sqlType{base: tText}
	typeUUID    = sqlType{base: tUUID}
	typeDT      = sqlType{base: tDatetime}
	typeMap     = sqlType{base: tMap}
	typeAny     = sqlType{base: tAny}
	typeArrAny  = sqlType{base: tArrayAny}
)

// String gives the name in type errors.
func (t sqlType) String() string {
	s := "unknown"
	switch t.base {
	case tBool:
		s = "bool"
	case tInt, tUnsigned:
		s = "int"
	case tDouble:
		s = "double"
	case tNumeric:
		s = "numeric"
	case tText:
		s = "text"
	case tUUID:
		s = "uuid"
	case tDatetime:
		s = "datetime"
	case tMap:
		s = "map"
	case tArrayAny:
		s = "array(any)"
	case tAny:
		s = "any"
	}
	if t.array {
		s += "[]"
	}
	return s
}

// enumName gives the name in errors about set operators.
func (t sqlType) enumName() string {
	name := t.planName()
	switch t {
	case typeInt:
		name = "integer"
	case typeBool:
		name = "boolean"
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// planName gives the name in EXPLAIN.
func (t sqlType) planName() string {
	if t.array {
		return sqlType{base: t.base}.planName() + "[]"
	}
	switch t.base {
	case tText:
		return "string"
	case tNumeric:
		return "decimal"
	case tUnsigned:
		return "unsigned"
	}
	return t.String()
}

// fieldName gives the storage's name of a column type.
func (t sqlType) fieldName() string {
	if t.array {
		return "array"
	}
	switch t.base {
	case tBool:
		return "boolean"
	case tInt:
		return "integer"
	case tUnsigned:
		return "unsigned"
	case tNumeric:
		return "decimal"
	case tText:
		return "string"
	case tArrayAny:
		return "array"
	}
	return t.String()
}

// oid gives the wire's type.
func (t sqlType) oid() uint32 {
	var o uint32
	switch t.base {
	case tUnknown:
		return OIDUnknown
	case tBool:
		o = OIDBool
	case tInt, tUnsigned:
		o = OIDInt8
	case tDouble:
		o = OIDFloat8
	case tNumeric:
		o = OIDNumeric
	case tText:
		o = OIDText
	case tUUID:
		o = OIDUUID
	case tDatetime:
		o = OIDTimestamptz
	default:
		return OIDJSON
	}
	if t.array {
		return arrayOID[o]
	}
	return o
}

// expr gives the type a column has in expressions.
func (t sqlType) expr() sqlType {
	if t.base == tUnsigned {
		t.base = tInt
	}
	return t
}

// typeOfOID is the type of a parameter; ok is false for 0 and unknown.
func typeOfOID(oid uint32) (t sqlType, ok bool) {
	switch oid {
	case OIDBool:
		return typeBool, true
	case OIDInt2, OIDInt4, OIDInt8:
		return typeInt, true
	case OIDFloat8, 700:
		return typeDouble, true
	case OIDNumeric:
		return typeNumeric, true
	case OIDText, OIDVarchar:
		return typeText, true
	case OIDUUID:
		return typeUUID, true
	case OIDTimestamptz:
		return typeDT, true
	case OIDJSON, 3802:
		return typeMap, true
	}
	if elem, isArray := arrayElem[oid]; isArray {
		if t, ok = typeOfOID(elem); ok {
			t.array = true
		}
		return t, ok
	}
	return typeUnknown, false
}

// typeOfName turns the grammar's type into ours.
func typeOfName(t grammar.Type) sqlType {
	r := sqlType{array: t.Dims > 0}
	switch t.Name {
	case grammar.TypeBool:
		r.base = tBool
	case grammar.TypeDatetime:
		r.base = tDatetime
	case grammar.TypeDecimal:
		r.base = tNumeric
	case grammar.TypeDouble:
		r.base = tDouble
	case grammar.TypeInt:
		r.base = tInt
	case grammar.TypeJSON:
		r.base = tMap
	case grammar.TypeString:
		r.base = tText
	case grammar.TypeUUID:
		r.base = tUUID
	case grammar.TypeUnsigned:
		r.base = tUnsigned
	}
	return r
}

// canCoerce tells whether a value passes for another type without a cast.
func canCoerce(from, to sqlType) bool {
	if from == to {
		return true
	}
	if from.array || to.array {
		return false
	}
	switch from.base {
	case tInt, tUnsigned:
		return to.base == tInt || to.base == tDouble || to.base == tNumeric
	case tDouble:
		return to.base == tNumeric
	case tNumeric:
		return to.base == tDouble
	}
	return false
}
