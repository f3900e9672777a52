package picodata_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A program that imports the driver links lib/pq and the standard library.
func TestImportersLinkOnlyLibPQ(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "github.com/picodata/go-picodata").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := false
	for line := range strings.Lines(string(out)) {
		path := strings.TrimSpace(line)
		switch {
		case path == "", strings.HasPrefix(path, "github.com/picodata/go-picodata/picotest"):
			if path != "" {
				t.Errorf("the driver links %s", path)
			}
		case path == "github.com/picodata/go-picodata", strings.HasPrefix(path, "github.com/picodata/go-picodata/"):
		case path == "github.com/lib/pq", strings.HasPrefix(path, "github.com/lib/pq/"):
			found = true
		default:
			t.Errorf("the driver links %s", path)
		}
	}
	if !found {
		t.Error("lib/pq isn't among the packages: the test looks at the wrong thing")
	}
}
