package main

import (
	"testing"

	"github.com/picodata/go-picodata/contrib/libraries/internal/check"
)

func TestExample(t *testing.T) {
	check.Output(t, run, `
Тверь 1135
1 Perm
1 deleted, 2 left
`)
}
