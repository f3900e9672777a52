// Guard tells whether the tree is slower than another revision of it.
//
//	go run ./internal/guard -base HEAD^
//
// Both are measured in one run, in slices that take turns, and only their ratio counts: there is no absolute time in it, so
// that it means the same on every machine. A benchmark that is 15 % slower in the median of a round's slices is measured in two
// more rounds; it fails the guard if it is so in all three. What is meant to be slower is named, with the reason, in
// .ci/slower.txt until the next revision. Where the base isn't there, as in a shallow clone, the guard says so and passes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

// watched are the packages and benchmarks that are compared: a statement's way, whole and in its parts.
var watched = []struct{ pkg, benchmarks string }{
	{"./scenarios", "^BenchmarkStatement$"},
	{"./internal/pool", "^BenchmarkLease$/^(round_robin|least_busy)$/^nodes=(3|100)$"},
	{"./internal/route", "^BenchmarkDecide$"},
	{"./internal/sqltext", "^BenchmarkAnalyze$"},
	{"./balancer", "^BenchmarkPick$/^(round_robin|least_busy)$/^nodes=100$"},
}

const (
	rounds     = 3
	sliceCount = 9
	limit      = 1.15
)

func main() {
	base := flag.String("base", "HEAD^", "the revision to compare with")
	slice := flag.String("slice", "60ms", "how long each slice of a benchmark takes, as go test -benchtime")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	slower, err := guard(ctx, os.Stdout, *base, *slice)
	if err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(2)
	}
	if len(slower) > 0 {
		fmt.Printf("slower than %s by %.0f %% or more in %d rounds: %s\n", *base, 100*(limit-1), rounds, strings.Join(slower, ", "))
		os.Exit(1)
	}
}

// guard compares the working tree with a revision, and names what is slower.
func guard(ctx context.Context, w io.Writer, base, slice string) (slower []string, err error) {
	top, err := output(ctx, "", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	commit, err := output(ctx, top, "git", "rev-parse", "--verify", "--quiet", base+"^{commit}")
	if err != nil {
		fmt.Fprintf(w, "left out: the revision %s isn't here to compare with\n", base)
		return nil, nil
	}
	meant, err := readMeant(filepath.Join(top, ".ci", "slower.txt"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	old := filepath.Join(dir, "base")
	if _, err := output(ctx, top, "git", "worktree", "add", "--detach", old, commit); err != nil {
		return nil, err
	}
	defer func() {
		_, _ = output(context.WithoutCancel(ctx), top, "git", "worktree", "remove", "--force", old) // the folder goes in any case
	}()
	for i, t := range watched {
		p := pair{dir: dir, pkg: t.pkg, slice: slice}
		p.here, p.there = filepath.Join(dir, fmt.Sprint("here", i)), filepath.Join(dir, fmt.Sprint("there", i))
		p.inHere, p.inThere = filepath.Join(top, t.pkg), filepath.Join(old, t.pkg)
		if _, err := output(ctx, top, "go", "test", "-c", "-o", p.here, t.pkg); err != nil {
			return nil, err
		}
		if _, err := output(ctx, old, "go", "test", "-c", "-o", p.there, t.pkg); err != nil {
			fmt.Fprintf(w, "%s: not in %s\n", t.pkg, base)
			continue
		}
		found, err := p.compare(ctx, w, t.benchmarks, meant)
		if err != nil {
			return nil, err
		}
		slower = append(slower, found...)
	}
	return slower, nil
}

// output runs a command and gives what it prints.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var says strings.Builder
	cmd.Stderr = &says
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, says.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// readMeant reads the benchmarks that may be slower: a name and the reason on each line.
func readMeant(name string) (map[string]string, error) {
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	meant := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, why, ok := strings.Cut(line, " ")
		if !ok {
			return nil, fmt.Errorf(".ci/slower.txt: %q has no reason", line)
		}
		meant[name] = strings.TrimSpace(why)
	}
	return meant, nil
}
