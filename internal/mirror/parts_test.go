package mirror

import (
	"database/sql/driver"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// The share is exact over any number of blocks and near it in between, it is spread, and a seed repeats it.
func TestSamplerIsExact(t *testing.T) {
	for _, ratio := range []float64{0, 0.001, 0.01, 0.1, 1.0 / 3, 0.5, 0.999, 1} {
		for seed := range uint64(20) {
			s := sampler{ratio: ratio, seed: seed}
			taken := 0
			for i := range uint64(64_000) {
				if s.take() {
					taken++
				}
				if want := ratio * float64(i+1); math.Abs(float64(taken)-want) > sampleBlock {
					t.Fatalf("ratio %v, seed %d: %d of %d", ratio, seed, taken, i+1)
				}
			}
			if want := int(math.Floor(64_000 * ratio)); taken != want {
				t.Errorf("ratio %v, seed %d: %d, want %d", ratio, seed, taken, want)
			}
		}
	}
}

// A program that runs sixteen statements in a circle doesn't always have the same ones mirrored.
func TestSamplerHasNoPeriod(t *testing.T) {
	s := sampler{ratio: 0.1, seed: 3}
	var by [16]int
	for i := range uint64(64_000) {
		if s.picks(i) {
			by[i%16]++
		}
	}
	if slices.Min(by[:]) < 300 || slices.Max(by[:]) > 500 {
		t.Errorf("of each of sixteen statements: %v", by)
	}
}

// The ring keeps the order while it grows and turns.
func TestQueueKeepsOrder(t *testing.T) {
	var q queue
	in, out := 0, 0
	for round := range 200 {
		for range round % 7 * 3 {
			q.push(unit{size: in})
			in++
		}
		for range round % 5 * 4 {
			if q.n == 0 {
				break
			}
			if u := q.pop(); u.size != out {
				t.Fatalf("%d instead of %d", u.size, out)
			}
			out++
		}
	}
	if q.n != in-out || out == 0 {
		t.Errorf("%d in, %d out, %d left", in, out, q.n)
	}
}

func digestOf(seed maphash.Seed, rows ...[]driver.Value) [2]uint64 {
	var d digest
	d.init(seed)
	for _, r := range rows {
		d.row(r)
	}
	return [2]uint64{d.rows, d.sum}
}

// Equal bags of rows have equal digests, whatever their order; everything else has another one.
func TestDigest(t *testing.T) {
	seed := maphash.MakeSeed()
	type row = []driver.Value
	at := time.Unix(1700000000, 5000)
	a, b := row{int64(1), "x", nil}, row{int64(2), "y", []byte("{}")}
	if digestOf(seed, a, b, a) != digestOf(seed, b, a, a) {
		t.Error("the order of rows counts")
	}
	if digestOf(seed, row{at, math.NaN()}) != digestOf(seed, row{at.In(time.FixedZone("", 3600)), math.Float64frombits(math.Float64bits(math.NaN()) | 1)}) {
		t.Error("one instant, or NaN, has several digests")
	}
	different := [][]row{
		{}, {a}, {b}, {a, a}, {a, b}, {a, b, b}, {row{}}, {row{nil}}, {row{nil, nil}}, {row{""}}, {row{[]byte{}}}, {row{"1"}}, {row{[]byte("1")}},
		{row{int64(1)}}, {row{1.0}}, {row{true}}, {row{false}}, {row{int64(0)}}, {row{"ab", "c"}}, {row{"a", "bc"}}, {row{at}}, {row{at.Add(1)}},
		{row{"a"}, row{"b"}}, {row{"a", "b"}},
	}
	seen := map[[2]uint64]int{}
	for i, rows := range different {
		d := digestOf(seed, rows...)
		if j, ok := seen[d]; ok {
			t.Errorf("%v and %v have one digest", different[j], rows)
		}
		seen[d] = i
	}
}

// A unit holds nothing that is the caller's.
func TestCopyArgs(t *testing.T) {
	b := []byte("before")
	args := []driver.NamedValue{{Ordinal: 1, Value: b}, {Ordinal: 2, Value: "s"}, {Ordinal: 3, Value: []byte(nil)}}
	own := copyArgs(args)
	copy(b, "after!")
	args[1].Value = "t"
	if got := fmt.Sprintf("%s %v %v", own[0].Value, own[1].Value, own[2].Value.([]byte) == nil); got != "before s true" {
		t.Error(got)
	}
	if copyArgs(nil) != nil {
		t.Error("no arguments became some")
	}
}

// Fingerprints of differences are bounded.
func TestDifferencesAreBounded(t *testing.T) {
	var c counters
	for i := range 10 * fingerprints {
		c.differs(fmt.Sprint(i))
	}
	c.differs("0")
	var s Stats
	c.fill(&s)
	if len(s.Differences) != fingerprints+1 || s.Differences[otherTexts] != 9*fingerprints || s.Differences["0"] != 2 {
		t.Errorf("%d texts, %d others", len(s.Differences), s.Differences[otherTexts])
	}
}

// A side has one outcome, the first; the second side's compares.
func TestSettlesOnce(t *testing.T) {
	m := newMirror(&fakeMirror{}, nil)
	c := &Comparison{m: m}
	c.Failed(errRefused)
	c.Affected(3)
	c.Done(true)
	c.settle(&c.mirror, outcome{complete: true, exec: true, rows: 3})
	c.settle(&c.mirror, outcome{})
	c.Affected(3)
	if s := m.Stats(); s.Incomplete != 1 || s.Same+s.Different != 0 {
		t.Errorf("%+v", s)
	}
	var none *Comparison
	none.Row(nil)
	none.Done(true)
	none.Affected(1)
	none.Failed(errRefused)
}

// Only an error about the statement is a result to compare.
func TestFailure(t *testing.T) {
	for code, complete := range map[pqerror.Code]bool{"42601": true, "XX000": true, "57P01": false, "08006": false} {
		o := failure(fmt.Errorf("wrapped: %w", &pq.Error{Code: code}))
		if o.complete != complete || complete && o.code != string(code) {
			t.Errorf("%s: %v", code, o)
		}
	}
	if o := failure(errRefused); o != (outcome{}) {
		t.Errorf("%v", o)
	}
}
