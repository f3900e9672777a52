package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/picodata/go-picodata/internal/hazard"
)

// maxStatements bounds what is read of a file of statements, in bytes.
const maxStatements = 256 << 20

// statements looks at the statements of a file for what a server can't bear. "-" is the standard input. No server is asked.
func (d *doctor) statements(name string, stdin io.Reader) error {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return &usageError{err}
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxStatements))
	if err != nil {
		return err
	}
	text := string(raw)
	list, rest := splitStatements(text)
	line, count := 1, 0
	for _, sql := range append(list, rest) {
		begins := line + strings.Count(sql[:len(sql)-len(strings.TrimLeft(sql, " \t\r\n"))], "\n")
		line += strings.Count(sql, "\n")
		if strings.TrimSpace(sql) == "" {
			continue
		}
		count++
		if what := hazard.SlowText(sql); what != "" {
			d.sayf(sevFault, "statements", fmt.Sprintf("%s:%d", name, begins),
				"compute the value in the program, or split the statement; max_chained_operators=6 in the DSN refuses such texts", "%s", what)
		}
	}
	d.quiet(0, "statements", plural(count, "statement", "statements")+", none of which stops or crashes a server")
	return nil
}
