package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// What became of a mutant.
type verdict string

const (
	caught   verdict = "caught"
	survived verdict = "SURVIVED"
	unseen   verdict = "NOT REACHED" // no test comes by
	invalid  verdict = "invalid"     // doesn't compile: no fault that anybody could make
	accepted verdict = "accepted"
)

// runner tries mutants of one package.
type runner struct {
	root, dir string // the repository, a folder for what is made
	pattern   string
	others    []string // arguments of go test
	timeout   string
	reached   map[string]bool // "file:line"; false: a profile counts the line, and nobody came by
}

// cover finds out which lines tests come by, and that they pass.
func (r *runner) cover() error {
	r.reached = make(map[string]bool)
	for i, args := range r.suites() {
		profile := filepath.Join(r.dir, fmt.Sprint("cover", i))
		out, err := r.test(append([]string{"-coverpkg", r.pattern, "-coverprofile", profile}, args...)...)
		if err != nil {
			return fmt.Errorf("the tests fail without any mutant: %w\n%s", err, out)
		}
		if err := r.read(profile); err != nil {
			return err
		}
	}
	return nil
}

// suites are the tests to try, the cheapest first.
func (r *runner) suites() [][]string {
	suites := [][]string{{r.pattern}}
	for _, o := range r.others {
		suites = append(suites, strings.Fields(o))
	}
	return suites
}

// read takes the lines that a profile counts.
func (r *runner) read(profile string) error {
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	s := bufio.NewScanner(bytes.NewReader(text))
	for s.Scan() {
		// path/file.go:12.34,15.2 3 1
		place, counts, ok := strings.Cut(s.Text(), " ")
		if !ok || strings.HasPrefix(place, "mode:") {
			continue
		}
		came := !strings.HasSuffix(counts, " 0")
		at := strings.LastIndexByte(place, ':')
		from, to, _ := strings.Cut(place[at+1:], ",")
		for line := lineOf(from); line <= lineOf(to); line++ {
			key := fmt.Sprintf("%s:%d", filepath.Base(place[:at]), line)
			r.reached[key] = r.reached[key] || came
		}
	}
	return s.Err()
}

func lineOf(s string) int {
	s, _, _ = strings.Cut(s, ".")
	n, _ := strconv.Atoi(s) // the go command wrote it
	return n
}

// try runs the tests over a mutant until one notices it.
func (r *runner) try(m *mutant) (verdict, error) {
	// A line that no profile counts (a declaration, the rest of a statement behind a function in it) is tried.
	if came, counted := r.reached[fmt.Sprintf("%s:%d", filepath.Base(m.file), m.line)]; counted && !came {
		return unseen, nil
	}
	original := filepath.Join(r.root, m.file)
	src, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(r.dir, "mutant.go")
	if err := os.WriteFile(changed, append(append(append([]byte(nil), src[:m.from]...), m.with...), src[m.to:]...), 0o600); err != nil {
		return "", err
	}
	overlay := filepath.Join(r.dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return "", err
	}
	for _, args := range r.suites() {
		out, err := r.test(append([]string{"-overlay", overlay, "-failfast"}, args...)...)
		switch {
		case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
			return invalid, nil
		case err != nil:
			return caught, nil
		}
	}
	return survived, nil
}

// test runs the short tests of a package.
func (r *runner) test(args ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{"test", "-short", "-vet=off", "-timeout", r.timeout}, args...)...)
	cmd.Dir = r.root
	return cmd.CombinedOutput()
}
