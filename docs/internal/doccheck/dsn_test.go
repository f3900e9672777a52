package doccheck

import (
	"regexp"
	"strings"
	"testing"

	picodata "github.com/picodata/go-picodata"
)

// literal finds DSNs of this driver in Go strings and shell words.
var literal = regexp.MustCompile("[\"'`](picodata://[^\"'`\\s]*)[\"'`]")

// TestDSNs: every DSN that a document shows is one, be it in a block of its own, in Go code or on a command line.
func TestDSNs(t *testing.T) {
	checked := 0
	check := func(p *page, line int, dsn string) {
		if strings.ContainsAny(dsn, "…$") {
			return // something is left out
		}
		checked++
		if _, err := picodata.ParseDSN(dsn); err != nil {
			t.Errorf("%s:%d: %s: %v", p.name, line, dsn, err)
		}
	}
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			for i, text := range strings.Split(b.text, "\n") {
				if b.lang == "dsn" && strings.TrimSpace(text) != "" {
					check(p, b.line+i, text)
				}
				for _, m := range literal.FindAllStringSubmatch(text, -1) {
					check(p, b.line+i, m[1])
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d DSNs: the test doesn't see them", checked)
	}
}
