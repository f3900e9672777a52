package scenarios_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/picodata/go-picodata/picotest"
)

type (
	namedInt   int32
	namedText  string
	namedBool  bool
	namedBytes [16]byte
)

func pointer[T any](v T) *T { return &v }

// oddValues is what programs bind, and what they had better not: every Go type and every notation
// that some column may understand.
func oddValues(random *rand.Rand, n int) []any {
	u := uuid.MustParse("6f1d9b3a-0c55-4f0e-8a11-0123456789ab")
	values := []any{
		1, -1, 0, int64(math.MaxInt64), int64(math.MinInt64), uint8(255), uint64(math.MaxInt64), int8(-128), uint16(65535),
		namedInt(77), pointer(int64(5)), pointer(namedInt(9)), (*int)(nil),
		"42", " 42", "42 ", "+42", "-0", "0x10", "1_000", "1e3", "1E+2", "1E-2", "1e2 ", "00012.5000", "-0.0", "0", "100", "100.0", ".5", "5.",
		"1e30", "1e-30", strings.Repeat("1234567890", 4)[:38], strings.Repeat("1234567890", 4)[:39], "NaN", "inf", "-Infinity", "0.1", "1.5",
		float32(0.1), float32(1e10), 0.1, 1.5, 2.0, -3.0, 1e15, 1e16, 9007199254740993.0, 1e18, 1e19, -1e19, 9.3e18, 1e100, 1e-300,
		math.Inf(1), math.NaN(), math.Copysign(0, -1),
		"true", "t", "T", "yes", "on", "1", "f", "FALSE", "off", "n", true, false, namedBool(true), pointer(true),
		"", "lol", "кл'юч", "𝔘", "\xff", namedText("abc"), pointer("x"), []byte("bytes"), []byte("42"), strings.Repeat("x", 300), strings.Repeat("y", 70_000),
		sql.Null[int64]{V: 4, Valid: true}, sql.NullString{String: "5", Valid: true}, sql.NullFloat64{Float64: 2.5, Valid: true}, sql.Null[string]{V: "true", Valid: true},
		u, pointer(u), [16]byte(u), namedBytes(u), u.String(), strings.ToUpper(u.String()), "{" + u.String() + "}", "urn:uuid:" + u.String(), " " + u.String(),
		strings.ReplaceAll(u.String(), "-", ""), sql.Null[uuid.UUID]{V: u, Valid: true}, uuid.NullUUID{UUID: u, Valid: true},
		decimal.New(1, 2), decimal.New(100, -2), decimal.RequireFromString("-0.000"), decimal.NewNullDecimal(decimal.New(15, -1)), pointer(decimal.New(7, 0)),
		big.NewInt(12345), new(big.Int).Exp(big.NewInt(10), big.NewInt(37), nil),
		time.Unix(0, 0), time.Unix(1700000000, 123456789), time.Unix(1700000000, 999999999).In(time.FixedZone("", 3*3600+1800)),
		time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		"2024-01-02T03:04:05Z", "2024-01-02 03:04:05", "2024-01-02 03:04:05+03", "2024-01-02T03:04:05.123456789+03:30", "2024-01-02", "2024-01-02T03:04:05-0000",
		"2024-01-02T03:04:05.5 Europe/Moscow", "20240102T030405Z", "2024-W01-2",
	}
	for range n {
		values = append(values,
			random.Float64()*math.Pow(10, float64(random.IntN(40)-20)), int64(random.Uint64()),
			fmt.Sprintf("%d.%0*d", random.Int64N(1e9)-5e8, 1+random.IntN(8), random.IntN(10)), fmt.Sprintf("%de%d", random.IntN(1000), random.IntN(20)-10),
			time.Unix(random.Int64N(1e11)-5e10, random.Int64N(1e9)).In(time.FixedZone("", random.IntN(86400)-43200)))
	}
	return values
}

// Every value meets every type of key. The server may refuse it, and
// the driver may be unable to tell its bucket; but where the driver says it can, and the server takes the value, there
// the row lies.
func TestValuesOfAllKindsArriveAtTheirOwner(t *testing.T) {
	random := rand.New(rand.NewPCG(rand.Uint64(), 0))
	n := 100
	if testing.Short() {
		n = 5
	}
	values := oddValues(random, n)
	types := []string{"int", "text", "uuid", "decimal", "datetime", "double", "bool"}
	for _, c := range []struct{ version, user string }{{"26.2", "notices"}, {"25.5", "app"}} {
		t.Run(c.version, func(t *testing.T) {
			cluster := picotest.Start(t, fourShards(c.version))
			for _, typ := range types {
				for _, text := range []string{
					fmt.Sprintf("create table by_%s (k %s, n int, primary key (k, n)) distributed by (k)", typ, typ),
					fmt.Sprintf("grant write on table by_%s to %s", typ, c.user),
				} {
					if err := cluster.Exec(text); err != nil {
						t.Fatal(err)
					}
				}
			}
			r := openRouted(t, cluster, c.user)
			row := 0
			for _, typ := range types {
				text := fmt.Sprintf("insert into by_%s values ($1, $2)", typ)
				routed := 0
				for _, v := range values {
					row++
					plan, planErr := r.c.Explain(t.Context(), text, v, row)
					cluster.ResetCounters()
					_, err := r.ExecContext(t.Context(), text, v, row)
					switch {
					case err != nil:
						continue
					case planErr != nil:
						t.Errorf("%s, %T %.60v: was inserted, but Explain says %v", typ, v, v, planErr)
						continue
					case plan.Reason != "routed":
						continue
					}
					routed++
					if stray, all := r.stray(); len(stray) != 0 || all != 1 {
						t.Errorf("%s, %T %.60v: %s, but it went astray: %+v", typ, v, v, plan, stray)
					}
				}
				if routed < 5 {
					t.Errorf("%s: only %d of %d values were routed", typ, routed, len(values))
				}
			}
		})
	}
}
