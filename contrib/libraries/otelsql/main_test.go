package main

import (
	"testing"

	"github.com/picodata/go-picodata/contrib/libraries/internal/check"
)

func TestExample(t *testing.T) {
	check.Output(t, run, `
sql.connector.connect
sql.conn.query
sql.rows
true true
`)
}
