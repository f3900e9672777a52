package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	got := parse("goos: linux\nBenchmarkA/x=1-2   \t  226335\t       126.1 ns/op\t       0 B/op\nBenchmarkB\t 2 \t 1.5e+06 ns/op\nPASS\n")
	if want := map[string]float64{"BenchmarkA/x=1": 126.1, "BenchmarkB": 1.5e6}; !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// One slice that something else disturbed decides nothing.
func TestRatioIsAMedian(t *testing.T) {
	for _, c := range []struct {
		now, before []float64
		want        float64
		ok          bool
	}{
		{[]float64{10, 11, 90}, []float64{10, 10, 10}, 1.1, true},
		{[]float64{10, 12}, []float64{10, 10}, 1.1, true},
		{[]float64{20, 20, 20}, []float64{10, 20, 40}, 1, true},
		{nil, []float64{1}, 0, false},
		{[]float64{1}, nil, 0, false},
	} {
		if got, ok := ratio(c.now, c.before); got != c.want || ok != c.ok {
			t.Errorf("ratio(%v, %v) = %v, %v", c.now, c.before, got, ok)
		}
	}
}

func TestMeant(t *testing.T) {
	name := filepath.Join(t.TempDir(), "slower.txt")
	if m, err := readMeant(name); len(m) != 0 || err != nil {
		t.Errorf("no file: %v, %v", m, err)
	}
	if err := os.WriteFile(name, []byte("# people\n\nBenchmarkA/x it checks more now\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := readMeant(name); m["BenchmarkA/x"] != "it checks more now" || err != nil {
		t.Errorf("%v, %v", m, err)
	}
	if err := os.WriteFile(name, []byte("BenchmarkA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readMeant(name); err == nil {
		t.Error("a name without a reason was read")
	}
	if _, err := readMeant("../../.ci/slower.txt"); err != nil {
		t.Error(err)
	}
}

// A tree with a benchmark that takes ten times as long as in the revision before is told from one that doesn't.
func TestTellsTheSlowFromTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles and measures")
	}
	was := watched
	defer func() { watched = was }()
	watched = watched[:0:0]
	watched = append(watched, struct{ pkg, benchmarks string }{".", "."})
	t.Setenv("GOWORK", "off")
	root := t.TempDir()
	t.Chdir(root)
	write := func(n string) {
		t.Helper()
		for name, text := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "m.go": "package m\n", "m_test.go": `package m

import "testing"

func work(n int) (x uint32) {
	for range n {
		x = x*1664525 + 1013904223
	}
	return x
}

var sink uint32

func BenchmarkSame(b *testing.B) { for b.Loop() { sink = work(2000) } }
func BenchmarkOther(b *testing.B) { for b.Loop() { sink = work(` + n + `) } }
`} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	write("2000")
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "base")
	write("20000")
	var out bytes.Buffer
	slower, err := guard(t.Context(), &out, "HEAD", "5ms")
	if err != nil || len(slower) != 1 || !strings.Contains(slower[0], "BenchmarkOther") {
		t.Errorf("%v, %v\n%s", slower, err, out.String())
	}
	out.Reset()
	if slower, err := guard(t.Context(), &out, "v9.9.9", "5ms"); err != nil || len(slower) != 0 || !strings.Contains(out.String(), "left out: the revision v9.9.9") {
		t.Errorf("%v, %v, %s", slower, err, out.String())
	}
}
