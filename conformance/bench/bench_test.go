package main

import (
	"strings"
	"testing"
	"time"
)

// The program runs every driver through every case; what it measures is nobody's to judge.
func TestEveryDriverRunsEveryCase(t *testing.T) {
	server, stop, err := startPicotest()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, p := range []plan{
		{rounds: 1, slice: time.Millisecond, workers: 1},
		{rounds: 1, slice: time.Millisecond, workers: 4, timeout: true},
		{rounds: 1, slice: time.Millisecond, workers: 1, delay: time.Microsecond, only: "by", drivers: "picodata,pgx"},
	} {
		var out strings.Builder
		if err := run(t.Context(), &out, []target{server}, p); err != nil {
			t.Fatal(err)
		}
		for _, w := range works {
			for _, r := range rivals {
				row := "| picotest | " + w.name + " | " + r.name + " |"
				if want := strings.Contains(w.name, p.only) && p.runs(r.name); want != strings.Contains(out.String(), row) {
					t.Errorf("%+v: %q is there: %v", p, row, !want)
				}
			}
		}
	}
}
