package main

import (
	"testing"

	"github.com/picodata/go-picodata/contrib/libraries/internal/check"
	"github.com/picodata/go-picodata/picotest"
)

func TestExample(t *testing.T) {
	c := check.Output(t, run, `
Perm true
0 Tver
2 Omsk
1 Perm
`)
	for _, s := range c.Statements(picotest.SQL("INSERT INTO cities")) {
		if s.SQL != "INSERT INTO cities (id, name, note) VALUES ($1, $2, $3)" {
			t.Errorf("NamedExec wrote %q", s.SQL)
		}
	}
}
