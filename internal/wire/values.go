package wire

import (
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/lib/pq"
)

// CheckValue makes an argument fit to be sent: a nil, int64, float64, bool or string, all
// of which go as text, so that the server decides by the parameter's type what they are.
//
// A []byte becomes a string, if it is UTF-8: lib/pq would send it in binary, whatever the
// parameter is.
// Slices become arrays as pq.Array makes them, times the server's notation in UTC with
// microseconds, [16]byte a UUID. What Picodata has no parameters of is refused with an error
// that names the way around.
func CheckValue(v any) (driver.Value, error) {
	for {
		switch x := v.(type) {
		case nil, int64, bool, string:
			return x, nil
		case int:
			return int64(x), nil
		case float64:
			return checkFloat(x), nil
		case []byte:
			return checkBytes(x)
		case time.Time:
			return timeText(x), nil
		case json.RawMessage:
			return nil, errJSON(v)
		case *big.Int:
			if x == nil {
				return nil, nil
			}
			return x.String(), nil
		case sql.Out:
			return nil, fmt.Errorf("%T: Picodata has no output parameters", v)
		case driver.Valuer:
			value, err := callValuer(x)
			if err != nil {
				return nil, err
			}
			if _, again := value.(driver.Valuer); again || !driver.IsValue(value) {
				return nil, fmt.Errorf("%T: its Value method gave a %T, which isn't a driver.Value", v, value)
			}
			v = value
			continue
		}
		return checkKind(v)
	}
}

// CheckNamedValue makes an argument of database/sql fit to be sent.
func CheckNamedValue(nv *driver.NamedValue) error {
	if nv.Name != "" {
		return fmt.Errorf("named argument %q: Picodata has positional parameters only: $1, $2, …", nv.Name)
	}
	v, err := CheckValue(nv.Value)
	if err != nil {
		return fmt.Errorf("argument $%d: %w", nv.Ordinal, err)
	}
	nv.Value = v
	return nil
}

// checkKind handles named types and pointers.
func checkKind(v any) (driver.Value, error) {
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Pointer:
		if rv.IsNil() {
			return nil, nil
		}
		return CheckValue(rv.Elem().Interface())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return rv.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		u := rv.Uint()
		if u > math.MaxInt64 {
			return nil, fmt.Errorf("%d is beyond Picodata's integers, which end at %d: use a DECIMAL column and pass a string", u, int64(math.MaxInt64))
		}
		return int64(u), nil
	case reflect.Float32:
		// The shortest text of the float32 itself, not of its float64 neighbour.
		f, err := strconv.ParseFloat(strconv.FormatFloat(rv.Float(), 'g', -1, 32), 64)
		if err != nil {
			return nil, err
		}
		return checkFloat(f), nil
	case reflect.Float64:
		return checkFloat(rv.Float()), nil
	case reflect.Bool:
		return rv.Bool(), nil
	case reflect.String:
		return rv.String(), nil
	case reflect.Slice:
		return checkSlice(rv)
	case reflect.Array:
		if rv.Type().Elem().Kind() == reflect.Uint8 && rv.Len() == 16 {
			var u [16]byte
			reflect.Copy(reflect.ValueOf(&u).Elem(), rv)
			return uuidText(u), nil
		}
		if rv.Type().Elem().Kind() == reflect.Uint8 {
			b := make([]byte, rv.Len())
			reflect.Copy(reflect.ValueOf(b), rv)
			return checkBytes(b) // as the slice is
		}
		return pq.Array(v).Value()
	case reflect.Map:
		return nil, errJSON(v)
	case reflect.Struct:
		return nil, fmt.Errorf("there is no encoding for a %T: pass a field of it, its text, or a type with a Value method (driver.Valuer)", v)
	}
	return nil, fmt.Errorf("a %T can't be an argument", v)
}

// checkSlice makes an array of a slice. Its elements go through CheckValue where pq.Array
// wouldn't know them.
func checkSlice(rv reflect.Value) (driver.Value, error) {
	if rv.IsNil() {
		return nil, nil
	}
	elem := rv.Type().Elem()
	switch elem.Kind() {
	case reflect.Uint8:
		return checkBytes(rv.Bytes())
	case reflect.Slice, reflect.Array, reflect.Interface, reflect.Map:
		if elem.Kind() == reflect.Slice && elem.Elem().Kind() != reflect.Uint8 {
			return pq.Array(rv.Interface()).Value() // an array of more dimensions
		}
	}
	switch rv.Interface().(type) {
	case []int64, []int32, []string, []bool, []float64, []float32:
		return pq.Array(rv.Interface()).Value()
	}
	elems := make([]any, rv.Len())
	for i := range elems {
		v, err := CheckValue(rv.Index(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		elems[i] = v
	}
	return pq.GenericArray{A: elems}.Value()
}

// callValuer calls Value, but not on a nil pointer whose type has it by value: that is NULL.
func callValuer(v driver.Valuer) (driver.Value, error) {
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer && rv.IsNil() &&
		rv.Type().Elem().Implements(reflect.TypeFor[driver.Valuer]()) {
		return nil, nil
	}
	return v.Value()
}

// errJSON refuses what would have to be JSON: Picodata has no JSON parameters.
func errJSON(v any) error {
	return fmt.Errorf("a %T can't be an argument: Picodata can't bind JSON; pass its text as a string to a TEXT column, or a type with a Value method", v)
}

// checkBytes makes a string of bytes: Picodata has no type for bytes that aren't text.
func checkBytes(b []byte) (driver.Value, error) {
	if b == nil {
		return nil, nil
	}
	if !utf8.Valid(b) {
		return nil, errors.New("a []byte that isn't UTF-8 can't be an argument: Picodata has no BYTEA; pass its hex or base64 text to a TEXT column")
	}
	return string(b), nil
}

// checkFloat spells the infinities as both Picodata and PostgreSQL read them.
func checkFloat(f float64) driver.Value {
	switch {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return f
}

// timeText writes a time as Picodata and PostgreSQL read it.
func timeText(t time.Time) string {
	t = t.UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		return string(pq.FormatTimestamp(t))
	}
	return t.Format("2006-01-02 15:04:05.999999+00")
}

// uuidText writes a UUID's bytes as text.
func uuidText(u [16]byte) string {
	var b [36]byte
	hex.Encode(b[:8], u[:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:], u[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// boxMost is how many values share an allocation at most: who keeps one of them as an interface keeps its neighbours alive.
const boxMost = 64

// boxes are a result's values as interfaces, many to an allocation. The first row makes do without: most results have one.
type boxes struct {
	ints    box[int64]
	floats  box[float64]
	strings box[string]
	times   box[time.Time]
}

// box makes interfaces of values of one type. Go's own conversion allocates for each of them, which is most of what a
// long result costs a client.
type box[T int64 | float64 | string | time.Time] struct {
	typ  unsafe.Pointer // of the first value's interface
	free []T
	size int
}

// iface is how an interface without methods lies in memory; TestBoxesAreInterfaces looks whether it does.
type iface struct{ typ, data unsafe.Pointer }

func (b *box[T]) value(v T) (boxed driver.Value) {
	if b.typ == nil {
		boxed = v
		b.typ = (*iface)(unsafe.Pointer(&boxed)).typ
		return boxed
	}
	if len(b.free) == 0 {
		b.size = min(max(2*b.size, 8), boxMost)
		b.free = make([]T, b.size)
	}
	b.free[0] = v // once: what an interface holds never changes
	*(*iface)(unsafe.Pointer(&boxed)) = iface{b.typ, unsafe.Pointer(&b.free[0])}
	b.free = b.free[1:]
	return boxed
}
