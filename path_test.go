package picodata_test

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// driverPackages are those whose functions count on a statement's way, and the program itself, without which there are
// no counters at all.
const driverPackages = module + "/testdata/warmselect," + module + "," + module + "/options," + module + "/metadata," + module + "/balancer," + module + "/internal/..."

// What a warm SELECT of one row may cross of this module, lib/pq and the standard library aside; the goal is 75 in 20, lower
// these whenever something goes. It is what a reader
// has to know of the way of a statement.
const (
	mostFunctions = 133
	mostFiles     = 40
)

// The functions that a warm SELECT of one row crosses are counted by coverage: the test builds itself with counters
// and looks which of them one statement moves.
func TestWarmSelectCrossesFewFunctions(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an instrumented binary; in the full run, without -short")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "warmselect")
	if out, err := osexec.Command("go", "build", "-cover", "-covermode=atomic", "-coverpkg="+driverPackages, "-o", program, "./testdata/warmselect").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := osexec.Command(program, strconv.Itoa(countedSelects), dir)
	run.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir()) // what the runtime writes at the end
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var all []string // what every one of the statements moved: the rest is the work of others
	for i := range countedSelects {
		one := crossed(t, filepath.Join(dir, fmt.Sprint(i)))
		if i == 0 {
			all = one
			continue
		}
		all = slices.DeleteFunc(all, func(f string) bool { return !slices.Contains(one, f) })
	}
	var files []string
	for _, f := range all {
		name, _, _ := strings.Cut(f, ":")
		files = append(files, name)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	t.Logf("a warm SELECT of one row crosses %d functions in %d files:\n%s", len(all), len(files), strings.Join(all, "\n"))
	if len(all) == 0 || len(all) > mostFunctions || len(files) > mostFiles {
		t.Errorf("%d functions in %d files, want at most %d in %d", len(all), len(files), mostFunctions, mostFiles)
	}
}

// countedSelects is how many statements are counted, one by one: enough that no work of others is beside all of them.
const countedSelects = 32

var coveredFunction = regexp.MustCompile(`^(\S+):\d+:\s+(\S+)\s+(\d+\.\d)%$`)

// crossed lists the functions, as file: name, that the counters in dir show to have run.
func crossed(t *testing.T, dir string) []string {
	t.Helper()
	out, err := osexec.Command("go", "tool", "covdata", "func", "-i="+dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var list []string
	for line := range strings.Lines(string(out)) {
		m := coveredFunction.FindStringSubmatch(strings.TrimSpace(line))
		if m != nil && m[3] != "0.0" && !strings.HasPrefix(m[1], module+"/testdata/") {
			list = append(list, strings.TrimPrefix(m[1], module+"/")+": "+m[2])
		}
	}
	return list
}
