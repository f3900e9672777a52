package main

import (
	"testing"

	"github.com/picodata/go-picodata/contrib/libraries/internal/check"
)

func TestExample(t *testing.T) {
	check.Output(t, run, `
10 cities
`)
}
