package bucket

import (
	"database/sql/driver"
	"encoding/hex"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// FromGo turns a value that a caller names as part of a sharding key into what database/sql
// would hand over for it, and names the type that the key's column must have for the hash to
// be right, since no server says it: integers are INTEGER, strings and []byte TEXT, bool
// BOOLEAN, floats DOUBLE, time.Time DATETIME, [16]byte and UUID types UUID, types named
// Decimal or Numeric DECIMAL. Named types count as what they are made of, pointers as what they
// point to, sql.Null… and the like as what they hold, a driver.Valuer as what it gives.
//
// reason isn't "" if the type can't be told; give a string, an int64 or a decimal type then.
func FromGo(v any) (value driver.Value, oid uint32, reason string) {
	switch v := v.(type) {
	case nil:
		return nil, OIDText, ""
	case int64:
		return v, OIDInt8, ""
	case int:
		return int64(v), OIDInt8, ""
	case string:
		return v, OIDText, ""
	case []byte:
		if v == nil {
			return nil, OIDText, ""
		}
		return string(v), OIDText, ""
	case bool:
		return v, OIDBool, ""
	case float64:
		return v, OIDFloat8, ""
	case time.Time:
		return v, OIDTimestamptz, ""
	}
	return fromReflect(reflect.ValueOf(v))
}

func fromReflect(rv reflect.Value) (driver.Value, uint32, string) {
	if rv.Kind() == reflect.Pointer {
		if rv.IsNil() {
			return nil, OIDText, ""
		}
		if _, ok := rv.Interface().(driver.Valuer); !ok || rv.Type().Elem().Implements(valuer) {
			return FromGo(rv.Elem().Interface())
		}
	}
	if rv.Kind() == reflect.Array && rv.Len() == 16 && rv.Type().Elem().Kind() == reflect.Uint8 {
		var u [16]byte
		reflect.Copy(reflect.ValueOf(&u).Elem(), rv)
		return uuidText(u), OIDUUID, ""
	}
	if inner, valid, ok := nullable(rv); ok {
		if !valid {
			return nil, OIDText, ""
		}
		return FromGo(inner.Interface())
	}
	if v, ok := rv.Interface().(driver.Valuer); ok {
		return fromValuer(v, rv.Type())
	}
	switch rv.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return rv.Int(), OIDInt8, ""
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if u := rv.Uint(); u <= math.MaxInt64 {
			return int64(u), OIDInt8, ""
		}
		return nil, 0, ReasonInt
	case reflect.Float32:
		// The shortest text of the float32 itself is what is sent, not its float64 neighbour.
		f, err := strconv.ParseFloat(strconv.FormatFloat(rv.Float(), 'g', -1, 32), 64)
		if err != nil {
			return nil, 0, ReasonDouble
		}
		return f, OIDFloat8, ""
	case reflect.Float64:
		return rv.Float(), OIDFloat8, ""
	case reflect.Bool:
		return rv.Bool(), OIDBool, ""
	case reflect.String:
		return rv.String(), OIDText, ""
	case reflect.Slice:
		if rv.Type().Elem().Kind() == reflect.Uint8 {
			if rv.IsNil() {
				return nil, OIDText, ""
			}
			return string(rv.Bytes()), OIDText, ""
		}
	}
	return nil, 0, ReasonGoType
}

var valuer = reflect.TypeFor[driver.Valuer]()

// nullable takes sql.Null[T], sql.NullInt64, uuid.NullUUID and the like apart: two exported
// fields, the second being "Valid bool".
func nullable(rv reflect.Value) (inner reflect.Value, valid, ok bool) {
	t := rv.Type()
	if t.Kind() != reflect.Struct || t.NumField() != 2 || !t.Field(0).IsExported() ||
		t.Field(1).Name != "Valid" || t.Field(1).Type.Kind() != reflect.Bool {
		return reflect.Value{}, false, false
	}
	return rv.Field(0), rv.Field(1).Bool(), true
}

// fromValuer asks the value for its form on the wire. A string may stand for anything, so the
// type's name must tell what; a type made of a string is text.
func fromValuer(v driver.Valuer, t reflect.Type) (driver.Value, uint32, string) {
	value, err := v.Value()
	if err != nil {
		return nil, 0, ReasonGoType
	}
	var text string
	switch w := value.(type) {
	case nil:
		return nil, OIDText, ""
	case string:
		text = w
	case []byte:
		text = string(w)
	case driver.Valuer:
		return nil, 0, ReasonGoType
	default:
		return FromGo(w)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := strings.ToLower(t.Name())
	switch {
	case strings.Contains(name, "decimal"), strings.Contains(name, "numeric"):
		return text, OIDNumeric, ""
	case strings.Contains(name, "uuid"):
		return text, OIDUUID, ""
	case t.Kind() == reflect.String:
		return text, OIDText, ""
	}
	return nil, 0, ReasonGoType
}

func uuidText(u [16]byte) string {
	var b [36]byte
	hex.Encode(b[:8], u[:4])
	b[8] = '-'
	hex.Encode(b[9:13], u[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], u[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], u[8:10])
	b[23] = '-'
	hex.Encode(b[24:], u[10:])
	return string(b[:])
}
