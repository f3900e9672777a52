package bucket

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// What follows is a second implementation, as plain as can be, written from the description
// of the format and sharing nothing with the first: the whole message hashed at once, integers by
// trying every width, decimals by way of big integers.

func plainMurmur(data []byte) uint32 {
	h := uint32(13)
	rotl := func(x uint32, r uint) uint32 { return x<<r | x>>(32-r) }
	scramble := func(k uint32) uint32 { return rotl(k*0xcc9e2d51, 15) * 0x1b873593 }
	full := len(data) / 4
	for i := range full {
		k := uint32(0)
		for j := 3; j >= 0; j-- {
			k = k<<8 + uint32(data[4*i+j])
		}
		h = rotl(h^scramble(k), 13)*5 + 0xe6546b64
	}
	if rest := data[4*full:]; len(rest) > 0 {
		k := uint32(0)
		for j := len(rest) - 1; j >= 0; j-- {
			k = k<<8 + uint32(rest[j])
		}
		h ^= scramble(k)
	}
	h ^= uint32(len(data))
	for _, step := range []struct{ shift, mul uint32 }{{16, 0x85ebca6b}, {13, 0xc2b2ae35}, {16, 1}} {
		h ^= h >> step.shift
		h *= step.mul
	}
	return h
}

func plainInt(v *big.Int) []byte {
	if v.Sign() >= 0 {
		if v.Cmp(big.NewInt(128)) < 0 {
			return []byte{byte(v.Int64())}
		}
		for i, width := range []uint{1, 2, 4, 8} {
			if v.BitLen() <= int(8*width) {
				return append([]byte{byte(0xcc + i)}, v.FillBytes(make([]byte, width))...)
			}
		}
	}
	if v.Cmp(big.NewInt(-32)) >= 0 {
		return []byte{byte(256 + v.Int64())}
	}
	for i, width := range []uint{1, 2, 4, 8} {
		limit := new(big.Int).Lsh(big.NewInt(1), 8*width-1)
		if new(big.Int).Neg(v).Cmp(limit) <= 0 {
			two := new(big.Int).Add(v, new(big.Int).Lsh(limit, 1))
			return append([]byte{byte(0xd0 + i)}, two.FillBytes(make([]byte, width))...)
		}
	}
	panic(v)
}

func plainDouble(f float64) []byte {
	if f == math.Trunc(f) && math.Abs(f) < 1<<62 {
		i, _ := big.NewFloat(f).Int(nil)
		return plainInt(i)
	}
	b := new(big.Int).SetUint64(math.Float64bits(f))
	return b.FillBytes(make([]byte, 8))
}

// plainDecimal encodes coefficient * 10^-scale.
func plainDecimal(coefficient string, scale int) []byte {
	sign := "c"
	if strings.HasPrefix(coefficient, "-") {
		sign, coefficient = "d", coefficient[1:]
	}
	coefficient = strings.TrimLeft(coefficient, "0")
	if coefficient == "" {
		coefficient = "0"
	}
	nibbles := coefficient + sign
	if len(nibbles)%2 == 1 {
		nibbles = "0" + nibbles
	}
	packed, _ := new(big.Int).SetString(nibbles, 16)
	body := append(plainInt(big.NewInt(int64(scale))), packed.FillBytes(make([]byte, len(nibbles)/2))...)
	if fix, ok := map[int]byte{1: 0xd4, 2: 0xd5, 4: 0xd6, 8: 0xd7, 16: 0xd8}[len(body)]; ok {
		return append([]byte{fix, 1}, body...)
	}
	return append([]byte{0xc7, byte(len(body)), 1}, body...)
}

func plainDatetime(sec int64, nsec, offset int) []byte {
	little := func(v int64, width int) []byte {
		b := make([]byte, width)
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
		return b
	}
	if nsec == 0 && offset == 0 {
		return append([]byte{0xd7, 4}, little(sec, 8)...)
	}
	return bytes.Join([][]byte{{0xd8, 4}, little(sec, 8), little(int64(nsec), 4), little(int64(offset), 2), {0, 0}}, nil)
}

// part is a random part of a key: what the driver gets, its type, and its plain encoding.
type part struct {
	v    any
	oid  uint32
	want []byte
}

func randomPart(r *rand.Rand) part {
	switch r.IntN(12) {
	case 0:
		return part{nil, []uint32{OIDInt8, OIDText, OIDUUID, OIDNumeric}[r.IntN(4)], []byte{0xc0}}
	case 1:
		n := int64(r.Uint64()) >> r.IntN(64)
		return part{n, OIDInt8, plainInt(big.NewInt(n))}
	case 2: // an integer as a string
		n := int64(r.Uint64()) >> r.IntN(64)
		return part{fmt.Sprint(n), OIDInt8, plainInt(big.NewInt(n))}
	case 3:
		s := randomText(r)
		return part{s, OIDText, []byte(s)}
	case 4:
		s := randomText(r)
		return part{[]byte(s), OIDVarchar, []byte(s)}
	case 5:
		b := r.IntN(2) == 1
		v := any(b)
		if r.IntN(2) == 1 {
			v = map[bool][]string{true: {"t", "TRUE", "yes", "1", "on"}, false: {"f", "False", "no", "0", "off"}}[b][r.IntN(5)]
		}
		return part{v, OIDBool, map[bool][]byte{true: {0xc3}, false: {0xc2}}[b]}
	case 6: // whole
		f := float64(r.Int64N(1<<54) - 1<<53)
		return part{f, OIDFloat8, plainDouble(f)}
	case 7: // with a fraction
		f := float64(r.Int64N(1<<40)-1<<39) + float64(1+r.IntN(1023))/1024
		return part{f, OIDFloat8, plainDouble(f)}
	case 8:
		n := strings.Repeat("-", r.IntN(2))
		for range 1 + r.IntN(38) {
			n += string(rune('0' + r.IntN(10)))
		}
		scale := r.IntN(39)
		return part{decimalText(n, scale), OIDNumeric, plainDecimal(n, scale)}
	case 9:
		n, exp := r.Int64N(1_000_000)-500_000, r.IntN(20)
		return part{fmt.Sprintf("%dE+%d", n, exp), OIDNumeric, plainDecimal(fmt.Sprint(n), -exp)}
	case 10:
		u := make([]byte, 16)
		for i := range u {
			u[i] = byte(r.Uint32())
		}
		s := fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
		if r.IntN(2) == 1 {
			s = strings.ToUpper(strings.ReplaceAll(s, "-", ""))
		}
		return part{s, OIDUUID, append([]byte{0xd8, 2}, u...)}
	}
	sec, nsec := r.Int64N(250_000_000_000)-60_000_000_000, []int{0, r.IntN(1_000_000) * 1000, r.IntN(1_000_000_000)}[r.IntN(3)]
	if r.IntN(2) == 1 {
		zone := time.FixedZone("", (r.IntN(25)-12)*3600)
		return part{time.Unix(sec, int64(nsec)).In(zone), OIDTimestamptz, plainDatetime(sec, nsec/1000*1000, 0)}
	}
	offset := r.IntN(27*4)*15 - 12*60
	at := time.Unix(sec, int64(nsec)).In(time.FixedZone("", offset*60))
	return part{at.Format("2006-01-02T15:04:05.999999999-07:00"), OIDTimestamptz, plainDatetime(sec, nsec, offset)}
}

func randomText(r *rand.Rand) string {
	letters := []rune("abcxyz ЯёЖ日本😀\x00'\"")
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteRune(letters[r.IntN(len(letters))])
	}
	return b.String()
}

// decimalText writes coefficient * 10^-scale without an exponent.
func decimalText(coefficient string, scale int) string {
	sign := ""
	if strings.HasPrefix(coefficient, "-") {
		sign, coefficient = "-", coefficient[1:]
	}
	if scale == 0 {
		return sign + coefficient
	}
	if len(coefficient) <= scale {
		coefficient = strings.Repeat("0", scale-len(coefficient)+1) + coefficient
	}
	cut := len(coefficient) - scale
	return sign + coefficient[:cut] + "." + coefficient[cut:]
}

func TestRandomKeysHashAsAnIndependentImplementationSays(t *testing.T) {
	keys := 200_000
	if testing.Short() {
		keys = 20_000
	}
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 13))
		for range keys / 4 {
			var (
				key   Key
				want  []byte
				parts []part
			)
			for range 1 + r.IntN(4) {
				p := randomPart(r)
				parts = append(parts, p)
				want = append(want, p.want...)
				if reason := key.Add(p.v, p.oid, DoubleNew); reason != "" {
					t.Fatalf("seed %d: %T %v of type %d: %s", seed, p.v, p.v, p.oid, reason)
				}
			}
			count := 1 + r.Uint64N(30_000)
			if got, want := key.Bucket(count), uint64(plainMurmur(want))%count+1; got != want {
				t.Fatalf("seed %d: bucket %d, want %d of %d for %+v", seed, got, want, count, parts)
			}
		}
	}
}

func FuzzKey(f *testing.F) {
	f.Add([]byte{}, "", int64(0), 0.0, uint8(0))
	f.Add([]byte("abc"), "defgh", int64(-33), 0.5, uint8(3))
	f.Add([]byte{1, 2, 3, 4, 5}, "-12.50", int64(1)<<40, 1e300, uint8(7))
	f.Add([]byte{}, "2024-01-01 09:00:00.5+03", int64(-1)<<63, math.Copysign(0, -1), uint8(255))
	oids := []uint32{OIDBool, OIDInt8, OIDText, OIDFloat8, OIDTimestamptz, OIDNumeric, OIDUUID, 0}
	f.Fuzz(func(t *testing.T, b []byte, s string, n int64, d float64, pick uint8) {
		// However the bytes are cut into parts, the hash is that of the whole.
		var key Key
		key.write(b)
		key.writeString(s)
		for _, c := range b {
			key.writeByte(c)
		}
		key.writeString(s)
		key.write(b)
		whole := bytes.Join([][]byte{b, []byte(s), b, []byte(s), b}, nil)
		if key.Sum() != plainMurmur(whole) {
			t.Fatalf("%x: %d, want %d", whole, key.Sum(), plainMurmur(whole))
		}
		// Whatever the value and the type, Add and Encode agree, and neither panics.
		oid := oids[int(pick)%len(oids)]
		rule := DoubleRule(pick / 8 % 4)
		for _, v := range []any{s, []byte(s), n, d, time.Unix(n%1e11, int64(pick)), pick%2 == 0, nil, struct{}{}} {
			var key Key
			added := key.Add(v, oid, rule)
			encoded, reason := Encode(nil, v, oid, rule)
			if added != reason {
				t.Fatalf("%v: Add says %q, Encode %q", v, added, reason)
			}
			if reason == "" && key.Sum() != plainMurmur(encoded) {
				t.Fatalf("%v: %d, want %d", v, key.Sum(), plainMurmur(encoded))
			}
		}
		if oid == OIDInt8 {
			if got, _ := Encode(nil, n, oid, rule); !bytes.Equal(got, plainInt(big.NewInt(n))) {
				t.Fatalf("%d: %x", n, got)
			}
		}
	})
}
