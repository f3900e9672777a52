package picodata_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A program of somebody else, in a module of its own, that imports the driver and nothing else: what is linked into it,
// and which modules its go.sum has to name, are lib/pq and this one. Nothing may be downloaded for it.
func TestAProgramOutsideLinksOnlyLibPQ(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": fmt.Sprintf("module example.org/program\n\ngo 1.26.0\n\nrequire github.com/picodata/go-picodata v0.0.0\n\nreplace github.com/picodata/go-picodata => %s\n", root),
		"go.sum": string(sums),
		"main.go": `package main

import (
	"database/sql"

	_ "github.com/picodata/go-picodata"
)

func main() {
	db, err := sql.Open("picodata", "picodata://app@localhost/")
	if err != nil {
		panic(err)
	}
	db.Close()
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	var modules []string
	for line := range strings.Lines(run("list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")) {
		if m := strings.TrimSpace(line); m != "" && !slices.Contains(modules, m) {
			modules = append(modules, m)
		}
	}
	slices.Sort(modules)
	if want := []string{"example.org/program", "github.com/lib/pq", "github.com/picodata/go-picodata"}; !slices.Equal(modules, want) {
		t.Errorf("the program links packages of %v, want %v", modules, want)
	}
	run("run", ".")
}
