package wire

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/lib/pq"
	"github.com/shopspring/decimal"
)

type (
	namedInt    int32
	namedString string
	namedBytes  []byte
	brokenValue struct{}
	nestedValue struct{}
)

func (brokenValue) Value() (driver.Value, error) { return []int{1}, nil }
func (nestedValue) Value() (driver.Value, error) { return uint64(math.MaxUint64), nil }

func TestCheckValue(t *testing.T) {
	text, number := "x", int64(5)
	var noDecimal *decimal.Decimal
	zone := time.FixedZone("", 3*3600)
	for _, tt := range []struct {
		in   any
		want driver.Value
	}{
		{nil, nil}, {int64(1), int64(1)}, {1, int64(1)}, {int8(-1), int64(-1)}, {uint32(7), int64(7)}, {uint64(math.MaxInt64), int64(math.MaxInt64)},
		{namedInt(3), int64(3)}, {true, true}, {"x", "x"}, {namedString("x"), "x"}, {&text, "x"}, {&number, number}, {(*string)(nil), nil},
		{1.5, 1.5}, {float32(0.1), 0.1}, {math.Inf(1), "Infinity"}, {math.Inf(-1), "-Infinity"},
		{[]byte("ab"), "ab"}, {namedBytes("ab"), "ab"}, {[]byte(nil), nil}, {[]byte{}, ""}, {sql.RawBytes("r"), "r"},
		{time.Date(2024, 1, 2, 3, 4, 5, 123456789, zone), "2024-01-02 00:04:05.123456+00"},
		{time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC), "2024-01-02 03:04:05+00"},
		{time.Minute, int64(time.Minute)},
		{uuid.MustParse("f47ac10b-58cc-4372-a567-0e02b2c3d479"), "f47ac10b-58cc-4372-a567-0e02b2c3d479"},
		{[16]byte{0xf4, 0x7a}, "f47a0000-0000-0000-0000-000000000000"},
		{decimal.RequireFromString("1.50"), "1.5"}, {noDecimal, nil}, {big.NewInt(7), "7"}, {(*big.Int)(nil), nil},
		{sql.NullString{}, nil}, {sql.NullString{String: "x", Valid: true}, "x"}, {sql.NullInt32{Int32: 3, Valid: true}, int64(3)},
		{sql.NullTime{Time: time.Unix(0, 0), Valid: true}, "1970-01-01 00:00:00+00"},
		{sql.Null[uint16]{V: 9, Valid: true}, int64(9)},
		{[]int64{1, 2}, "{1,2}"}, {[]int{1, 2}, `{1,2}`}, {[]string{"a", `b"`}, `{"a","b\""}`}, {[]float64{1.5}, "{1.5}"}, {[]bool{true}, "{t}"},
		{[]int64(nil), nil}, {[]string{}, "{}"}, {pq.Array([]int64{1}), "{1}"}, {pq.Array([]string(nil)), nil}, {[2]int64{1, 2}, "{1,2}"},
		{[]any{int64(1), nil, "x"}, `{1,NULL,"x"}`}, {[][]int64{{1}, {2}}, "{{1},{2}}"},
		{[]decimal.Decimal{decimal.NewFromInt(1)}, `{"1"}`},
		{[]uuid.UUID{uuid.MustParse("f47ac10b-58cc-4372-a567-0e02b2c3d479")}, `{"f47ac10b-58cc-4372-a567-0e02b2c3d479"}`},
		{[]time.Time{time.Unix(0, 0)}, `{"1970-01-01 00:00:00+00"}`},
	} {
		got, err := CheckValue(tt.in)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%T %v: got %T %v, %v; want %T %v", tt.in, tt.in, got, got, err, tt.want, tt.want)
		}
	}
}

// What Picodata can't take is refused here, with the way around.
func TestRefusedValues(t *testing.T) {
	for _, tt := range []struct {
		in   any
		says string
	}{
		{uint64(math.MaxInt64) + 1, "DECIMAL"},
		{nestedValue{}, "driver.Value"},
		{json.RawMessage("{}"), "TEXT column"},
		{[]byte{0xff, 0xfe}, "base64"}, {namedBytes{0xff}, "base64"},
		{map[string]int{}, "TEXT column"},
		{struct{ A int }{}, "no encoding for"},
		{&struct{ A int }{}, "no encoding for"},
		{netip.Addr{}, "no encoding for"}, {[32]byte{0xff}, "base64"}, {[4]byte{0xff}, "base64"},
		{brokenValue{}, "driver.Value"},
		{sql.Out{}, "output"},
		{[]map[string]int{{}}, "element 0"},
		{func() {}, "func()"},
		{make(chan int), "chan int"},
		{complex(1, 2), "complex128"},
	} {
		got, err := CheckValue(tt.in)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%T: got %v, %v; want an error with %q", tt.in, got, err, tt.says)
		}
	}
	nv := driver.NamedValue{Name: "id", Ordinal: 2, Value: 1}
	if err := CheckNamedValue(&nv); err == nil || !strings.Contains(err.Error(), "$1") {
		t.Errorf("named arguments: %v", err)
	}
	nv = driver.NamedValue{Ordinal: 2, Value: map[string]int{}}
	if err := CheckNamedValue(&nv); err == nil || !strings.Contains(err.Error(), "$2") {
		t.Errorf("the error doesn't say which argument: %v", err)
	}
}

// Arguments go as text with no type given, in both forms, so that the server decides.
func TestArgumentsTravelAsText(t *testing.T) {
	s := newServer(t)
	type sent struct {
		formats []int16
		params  [][]byte
		oids    []uint32
	}
	got := make(chan sent, 10)
	var oids []uint32
	s.refuse = func(_ *peer, m pgproto3.FrontendMessage, _ string) *pgproto3.ErrorResponse {
		switch m := m.(type) {
		case *pgproto3.Parse:
			oids = m.ParameterOIDs
		case *pgproto3.Bind:
			x := sent{oids: oids}
			x.formats = append(x.formats, m.ParameterFormatCodes...)
			for _, p := range m.Parameters {
				x.params = append(x.params, append([]byte(nil), p...))
			}
			got <- x
		}
		return nil
	}
	cfg := newConfig()
	cfg.Options.StatementCacheThreshold = 1
	c, _ := s.dial(cfg)
	args := []driver.NamedValue{{Ordinal: 1, Value: []byte("bytes\x00")}, {Ordinal: 2, Value: 7}, {Ordinal: 3, Value: nil}, {Ordinal: 4, Value: true}}
	for i := range args {
		if err := CheckNamedValue(&args[i]); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		if _, err := c.Exec(bg, "insert into t values ($1, $2, $3, $4)", args); err != nil {
			t.Fatal(err)
		}
		x := <-got
		for _, f := range x.formats {
			if f != 0 {
				t.Fatalf("formats %v", x.formats)
			}
		}
		if len(x.oids) != 0 || string(x.params[0]) != "bytes\x00" || string(x.params[1]) != "7" || len(x.params[2]) != 0 || string(x.params[3]) != "true" {
			t.Fatalf("sent %q, types %v", x.params, x.oids)
		}
	}
}
