package libraries

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../"

// Every example stands whole in a page, after <!-- file: its path -->, and is what its file is.
// UPDATE_DOCS=1 writes the files into the pages.
func TestPagesShowTheExamples(t *testing.T) {
	shown := map[string]bool{}
	pages, err := filepath.Glob(root + "docs/libraries/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		fresh, files, err := withExamples(string(text))
		if err != nil {
			t.Errorf("%s: %v", page, err)
			continue
		}
		for _, f := range files {
			shown[f] = true
		}
		if fresh == string(text) {
			continue
		}
		if os.Getenv("UPDATE_DOCS") == "" {
			t.Errorf("%s differs from the files it shows; UPDATE_DOCS=1 go test brings it up to date", page)
			continue
		}
		if err := os.WriteFile(page, []byte(fresh), 0o644); err != nil {
			t.Error(err)
		}
	}
	examples, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		if !shown["contrib/libraries/"+e] {
			t.Errorf("no page shows %s", e)
		}
	}
}

// withExamples puts the files that a page names into it.
func withExamples(page string) (fresh string, files []string, err error) {
	const open = "<!-- file: "
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(page, open)
		b.WriteString(before)
		if !found {
			return b.String(), files, nil
		}
		name, rest, _ := strings.Cut(rest, " -->\n")
		text, err := os.ReadFile(root + name)
		if err != nil {
			return "", nil, err
		}
		if strings.Contains(string(text), "```") {
			return "", nil, fmt.Errorf("%s contains a fence", name)
		}
		_, after, closed := strings.Cut(rest, "\n```\n")
		if !strings.HasPrefix(rest, "```") || !closed {
			return "", nil, fmt.Errorf("no code block after the mark of %s", name)
		}
		fmt.Fprintf(&b, "%s%s -->\n```%s\n%s```\n", open, name, strings.TrimPrefix(filepath.Ext(name), "."), text)
		files = append(files, name)
		page = after
	}
}
