package main

import (
	"testing"

	"github.com/picodata/go-picodata/contrib/libraries/internal/check"
)

func TestExample(t *testing.T) {
	check.Output(t, run, `
1 Тверь false 1135
1 Perm
0 Тверь
3
`)
}
