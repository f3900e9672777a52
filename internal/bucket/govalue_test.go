package bucket

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"
	"github.com/shopspring/decimal"
)

type (
	userID   int32
	name     string
	blob     []byte
	valueStr string
	email    struct{ s string }
	failing  struct{}
	pointed  struct{ s string }
	// valueUUID isn't of 16 bytes, but says what it is.
	valueUUID struct{ s string }
)

func (v valueStr) Value() (driver.Value, error)  { return "v:" + string(v), nil }
func (e email) Value() (driver.Value, error)     { return e.s, nil }
func (failing) Value() (driver.Value, error)     { return nil, errors.New("no") }
func (p *pointed) Value() (driver.Value, error)  { return int64(len(p.s)), nil }
func (v valueUUID) Value() (driver.Value, error) { return v.s, nil }

func TestFromGo(t *testing.T) {
	at := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	id := uuid.MustParse("9035910e-8342-4460-8c25-25e5f10d9876")
	n := 7
	var nilPointer *int
	var nilValuer *email
	for _, c := range []struct {
		v      any
		want   driver.Value
		oid    uint32
		reason string
	}{
		{nil, nil, OIDText, ""},
		{7, int64(7), OIDInt8, ""},
		{int64(7), int64(7), OIDInt8, ""},
		{int8(-7), int64(-7), OIDInt8, ""},
		{uint64(7), int64(7), OIDInt8, ""},
		{uint64(math.MaxUint64), nil, 0, ReasonInt},
		{userID(7), int64(7), OIDInt8, ""},
		{&n, int64(7), OIDInt8, ""},
		{nilPointer, nil, OIDText, ""},
		{nilValuer, nil, OIDText, ""},
		{"x", "x", OIDText, ""},
		{name("x"), "x", OIDText, ""},
		{[]byte("x"), "x", OIDText, ""},
		{blob("x"), "x", OIDText, ""},
		{[]byte(nil), nil, OIDText, ""},
		{blob(nil), nil, OIDText, ""},
		{true, true, OIDBool, ""},
		{1.5, 1.5, OIDFloat8, ""},
		{float32(0.1), 0.1, OIDFloat8, ""},
		{at, at, OIDTimestamptz, ""},
		{&at, at, OIDTimestamptz, ""},
		{id, id.String(), OIDUUID, ""},
		{&id, id.String(), OIDUUID, ""},
		{[16]byte(id), id.String(), OIDUUID, ""},
		{uuid.NullUUID{UUID: id, Valid: true}, id.String(), OIDUUID, ""},
		{uuid.NullUUID{}, nil, OIDText, ""},
		{valueUUID{id.String()}, id.String(), OIDUUID, ""},
		{decimal.RequireFromString("1.50"), "1.5", OIDNumeric, ""},
		{decimal.NullDecimal{Decimal: decimal.New(12, -1), Valid: true}, "1.2", OIDNumeric, ""},
		{sql.NullInt64{Int64: 7, Valid: true}, int64(7), OIDInt8, ""},
		{sql.NullString{}, nil, OIDText, ""},
		{sql.Null[time.Time]{V: at, Valid: true}, at, OIDTimestamptz, ""},
		{sql.Null[decimal.Decimal]{V: decimal.New(5, 0), Valid: true}, "5", OIDNumeric, ""},
		{valueStr("x"), "v:x", OIDText, ""},
		{&pointed{"abc"}, int64(3), OIDInt8, ""},
		{email{"x"}, nil, 0, ReasonGoType}, // a string that may stand for anything
		{failing{}, nil, 0, ReasonGoType},
		{pq.Array([]int64{1}), nil, 0, ReasonGoType},
		{struct{}{}, nil, 0, ReasonGoType},
		{map[string]int{}, nil, 0, ReasonGoType},
		{[]int{1}, nil, 0, ReasonGoType},
		{make(chan int), nil, 0, ReasonGoType},
	} {
		v, oid, reason := FromGo(c.v)
		if v != c.want || oid != c.oid || reason != c.reason {
			t.Errorf("FromGo(%T %v) = %T %v, %d, %q, want %v, %d, %q", c.v, c.v, v, v, oid, reason, c.want, c.oid, c.reason)
		}
	}
}

// TestBoundValuesKeepTheirBucket: what database/sql makes of a value and what FromGo makes of
// it, of the same type, lie in one bucket.
func TestBoundValuesKeepTheirBucket(t *testing.T) {
	id := uuid.New()
	for _, v := range []any{
		userID(300), name("x"), uint16(65535), true, id, &id, decimal.RequireFromString("-12.340"),
		sql.NullBool{Bool: true, Valid: true}, sql.Null[int16]{V: 5, Valid: true}, time.Now(), []byte("Ж"), nil,
	} {
		bound, err := driver.DefaultParameterConverter.ConvertValue(v)
		if err != nil {
			t.Fatal(err)
		}
		named, oid, reason := FromGo(v)
		if reason != "" {
			t.Fatalf("%T: %s", v, reason)
		}
		var a, b Key
		if reason := a.Add(bound, oid, DoubleNew) + b.Add(named, oid, DoubleNew); reason != "" {
			t.Fatalf("%T: %s", v, reason)
		}
		if a.Sum() != b.Sum() {
			t.Errorf("%T %v: %d bound, %d named", v, v, a.Sum(), b.Sum())
		}
	}
}
