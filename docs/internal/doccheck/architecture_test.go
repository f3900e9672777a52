package doccheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// module is the driver's.
const module = "github.com/picodata/go-picodata"

// section is the part of a page between a heading and the next one.
func section(t *testing.T, name, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("%s has no %q", name, heading)
	}
	body, _, _ := strings.Cut(after, "\n#")
	return body
}

var firstCell = regexp.MustCompile("(?m)^\\| \\[`([^`]+)`\\]\\(([^)]+)\\) \\|(.*)\\|$")

// TestFilesOfTheRoot: docs/architecture.md lists each file of the root and no other.
func TestFilesOfTheRoot(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var have, listed []string
	for _, f := range files {
		if name := filepath.Base(f); !strings.HasSuffix(name, "_test.go") {
			have = append(have, name)
		}
	}
	for _, m := range firstCell.FindAllStringSubmatch(section(t, "docs/architecture.md", "### The files of the root"), -1) {
		if m[2] != "../"+m[1] {
			t.Errorf("%s links to %s", m[1], m[2])
		}
		listed = append(listed, m[1])
	}
	slices.Sort(listed)
	if !slices.Equal(have, listed) {
		t.Errorf("docs/architecture.md lists %v, there are %v", listed, have)
	}
}

// TestImports: each package of the driver imports what its row in docs/architecture.md says, and nothing that stands above it.
func TestImports(t *testing.T) {
	type row struct {
		path    string
		imports []string
	}
	var rows []row
	at := map[string]int{}    // by path
	short := map[string]int{} // by the name in the third column
	for _, m := range firstCell.FindAllStringSubmatch(section(t, "docs/architecture.md", "### Packages"), -1) {
		cells := strings.Split(m[3], "|")
		path := module
		if m[1] != "." {
			path += "/" + m[1]
		}
		var imports []string
		for _, name := range strings.Split(cells[len(cells)-1], ",") {
			if name = strings.TrimSpace(name); name != "" {
				imports = append(imports, name)
			}
		}
		at[path], short[filepath.Base(m[1])] = len(rows), len(rows)
		rows = append(rows, row{path, imports})
	}
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, ".", "./options", "./metadata", "./balancer", "./internal/...")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOOS=linux")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if f[0] == module+"/internal/mutate" || f[0] == module+"/internal/guard" {
			continue // tools
		}
		i, ok := at[f[0]]
		if !ok {
			t.Errorf("docs/architecture.md doesn't list %s", f[0])
			continue
		}
		seen++
		var have []string
		for _, path := range f[1:] {
			switch {
			case strings.HasPrefix(path, module):
				j, ok := at[path]
				if !ok || j <= i {
					t.Errorf("%s imports %s, which doesn't stand below it", f[0], path)
				}
				have = append(have, filepath.Base(path))
			case strings.HasPrefix(path, "github.com/lib/pq"):
				have = append(have, "lib/pq")
			case strings.Contains(strings.SplitN(path, "/", 2)[0], "."):
				t.Errorf("%s imports %s", f[0], path)
			}
		}
		slices.Sort(have)
		have = slices.Compact(have)
		want := slices.Clone(rows[i].imports)
		for _, name := range want {
			if _, ok := short[name]; !ok && name != "lib/pq" {
				t.Errorf("the row of %s names %q, which has no row", f[0], name)
			}
		}
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("%s imports %v, by docs/architecture.md %v", f[0], have, want)
		}
	}
	if seen != len(rows) {
		t.Errorf("%d packages in docs/architecture.md, %d in the driver", len(rows), seen)
	}
}

var callback = regexp.MustCompile(`(?m)^\t([A-Z]\w*)\s+func\(`)

// TestCallbacks: the functions that parts are given to call up with are the ones that docs/architecture.md lists.
func TestCallbacks(t *testing.T) {
	listed := section(t, "docs/architecture.md", "## What calls up")
	for _, dir := range []string{"exec", "pool", "pool/nodeset", "wire", "watch", "mirror", "route"} {
		files, err := filepath.Glob(filepath.Join(root, "internal", filepath.FromSlash(dir), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range callback.FindAllStringSubmatch(string(text), -1) {
				if m[1] == "Rand" || m[1] == "BadRow" || m[1] == "Tables" {
					continue // a source of numbers, and two of package watch to itself
				}
				if !strings.Contains(listed, "`"+m[1]+"`") {
					t.Errorf("%s: %s isn't in the table of what calls up", name, m[1])
				}
			}
		}
	}
}
