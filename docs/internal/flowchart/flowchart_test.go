package flowchart

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pictures that are out of step with their sources")

// TestPicturesAreInStep: every picture is what its source draws.
//
//	go test ./docs/internal/flowchart -update
func TestPicturesAreInStep(t *testing.T) {
	var sources []string
	for _, pattern := range []string{"../../*.chart", "../../ru/*.chart"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, found...)
	}
	if len(sources) < 2 {
		t.Fatalf("only %v", sources)
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse(string(text))
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		picture := strings.TrimSuffix(source, ".chart") + ".svg"
		want := c.SVG()
		if *update {
			if err := os.WriteFile(picture, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(picture)
		if err != nil || string(got) != want {
			t.Errorf("%s isn't what %s draws (%v); run go test ./docs/internal/flowchart -update", picture, source, err)
		}
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	c, err := Parse("# comment\ngrid 200 80\nnode a 0 0 box A & B|<second>\nnode b 0 1 choice ?\nnode c 1 1 end C\nnode d 1 2 box D\nedge a b\nedge b c yes > no\nedge b d else\nedge d c")
	if err != nil {
		t.Fatal(err)
	}
	svg := c.SVG()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
	}
	for _, want := range []string{"A &amp; B", "&lt;second&gt;", "yes &gt; no", "<polygon", `marker-end="url(#arrow)"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	if svg != c.SVG() {
		t.Error("drawn twice, two pictures")
	}
}

func TestParseErrors(t *testing.T) {
	for source, want := range map[string]string{
		"circle a":                           "line 1",
		"node a 0 0 box":                     "want ID",
		"node a x 0 box A":                   "must be numbers",
		"node a 0 0 star A":                  "unknown shape",
		"node a 0 0 box A\nnode a 0 1 box A": "twice",
		"node a 0 0 box A\nedge a b":         "no such node",
		"edge a":                             "want FROM",
		"grid wide high":                     "line 1",
	} {
		if _, err := Parse(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", source, err, want)
		}
	}
}
