package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree writes a module and gives its folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files["go.mod"] = "module example.com/m\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	return root
}

const code = `package m

import "errors"

const limit = 4

type T struct{ a, b, rest int; open bool }

func (t *T) Grow(n int) (bool, error) {
	if n < limit && !t.open {
		return true, nil
	}
	_ = errors.New("for the import")
	t.a += n + 1
	defer t.release()
	return false, err
}

func (t *T) release() { t.open = false }

func (t *T) String() string { if t.open { return "open" }; return "" }

func unused(n int) int { return n - 1 }

var err = errors.New("full")

func New() *T { return &T{open: true} }
`

func TestFindsEachKind(t *testing.T) {
	all, err := mutants(tree(t, map[string]string{"m.go": code}), ".")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		got = append(got, m.String())
	}
	want := []string{
		"m.go limit boundary: 4 → 5",
		"m.go T.Grow condition: n < limit && !t.open → !(n < limit && !t.open)",
		"m.go T.Grow boundary: n < limit → n <= limit",
		"m.go T.Grow condition: n < limit && !t.open → n < limit || !t.open",
		"m.go T.Grow result: true → false",
		`m.go T.Grow call: _ = errors.New("for the import") → left out`,
		"m.go T.Grow assign: t.a += n + 1 → left out",
		"m.go T.Grow field: t.a → b",
		"m.go T.Grow sum: n + 1 → n - 1",
		"m.go T.Grow boundary: 1 → 2",
		"m.go T.Grow release: defer t.release() → left out",
		"m.go T.Grow result: false → true",
		"m.go T.Grow result: err → nil",
		"m.go T.release assign: t.open = false → left out",
		"m.go unused sum: n - 1 → n + 1",
		"m.go unused boundary: 1 → 2",
		"m.go New field: open: true → not set",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTriesThem(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles some twenty times")
	}
	root := tree(t, map[string]string{"m.go": code, "m_test.go": `package m

import "testing"

func TestGrow(t *testing.T) {
	m := New()
	if ok, err := m.Grow(3); ok || err == nil || m.a != 4 || m.open {
		t.Error(ok, err)
	}
	if ok, err := m.Grow(3); !ok || err != nil {
		t.Error(ok, err)
	}
}
`})
	all, err := mutants(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var out bytes.Buffer
	ok, err := attempt(t.Context(), &out, &runner{root: root, dir: dir, pattern: ".", timeout: "30s"}, all,
		map[string]string{`m.go T.Grow call: _ = errors.New("for the import") → left out`: "nobody looks at it"}, 80)
	if err != nil || ok {
		t.Errorf("enough: %v, %v", ok, err)
	}
	for _, want := range []string{
		"SURVIVED m.go:5: m.go limit boundary: 4 → 5\n",
		"SURVIVED m.go:10: m.go T.Grow boundary: n < limit → n <= limit\n",
		"NOT REACHED m.go:23: m.go unused sum: n - 1 → n + 1\n",
		".: 12 of 16 caught (75.0 %), 2 not reached, 1 accepted, 0 invalid;",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

func TestSamplesBySeed(t *testing.T) {
	var all []*mutant
	for i := range 100 {
		all = append(all, &mutant{line: i, kind: []string{call, field}[i%2]})
	}
	a, again, b := pick(all, settings{sample: 10, seed: 1}), pick(all, settings{sample: 10, seed: 1}), pick(all, settings{sample: 10, seed: 2})
	if len(a) != 10 || !slices.Equal(a, again) || slices.Equal(a, b) {
		t.Error("the seed doesn't decide")
	}
	if n := len(pick(all, settings{kinds: "call,sum"})); n != 50 {
		t.Errorf("%d of one kind", n)
	}
}

func TestAcceptedList(t *testing.T) {
	if _, err := readAccepted(acceptedText); err != nil {
		t.Error(err)
	}
	got, err := readAccepted("# people\na → b\n  because\n  of it\nc → d\n\tno\n")
	if err != nil || len(got) != 2 || got["a → b"] != "because of it" || got["c → d"] != "no" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"  reason\n", "a → b\nc → d\n  why\n", "a → b\n"} {
		if _, err := readAccepted(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// What accepted.txt names is still there.
func TestAcceptedIsThere(t *testing.T) {
	if testing.Short() {
		t.Skip("has the go command list every target")
	}
	reasons, err := readAccepted(acceptedText)
	if err != nil {
		t.Fatal(err)
	}
	if len(reasons) == 0 {
		return
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, target := range targets {
		all, err := mutants(root, target.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			there[m.String()] = true
		}
	}
	for m := range reasons {
		if !there[m] {
			t.Errorf("nothing is like %q any more", m)
		}
	}
}
