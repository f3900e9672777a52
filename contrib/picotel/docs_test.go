package picotel_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

var (
	metricRow = regexp.MustCompile("(?m)^\\| (`(?:db|picodata)\\.client\\.[^|]*) \\|")
	inQuotes  = regexp.MustCompile("`([^`]+)`")
)

// TestDocs: docs/observability.md, in both languages, lists the metrics that there are.
func TestDocs(t *testing.T) {
	s := start(t, picotest.Config{})
	s.exec("create table t (id int primary key) distributed by (id)")
	rows, err := s.db.QueryContext(t.Context(), "select id from t")
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
	exported := map[string]bool{}
	for series := range s.metrics() {
		name, _, _ := strings.Cut(series, "{")
		exported[name] = true
	}
	// Those that have no value in this scene.
	for _, name := range []string{"overflow", "closed", "mirror.statements", "mirror.dropped"} {
		exported["picodata.client."+name] = true
	}
	for _, page := range []string{"../../docs/observability.md", "../../docs/ru/observability.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		listed := map[string]bool{}
		for _, row := range metricRow.FindAllStringSubmatch(string(text), -1) {
			base := ""
			for _, q := range inQuotes.FindAllStringSubmatch(row[1], -1) {
				name := q[1]
				if rest, short := strings.CutPrefix(name, "."); short {
					name = longest(exported, base, rest)
				}
				if base == "" {
					base = name
				}
				listed[name] = true
				if !exported[name] {
					t.Errorf("%s lists %s, which nobody exports", page, q[1])
				}
			}
		}
		for name := range exported {
			if !listed[name] {
				t.Errorf("%s doesn't list %s", page, name)
			}
		}
	}
}

// longest is the exported name that ends with rest and shares the most with base: ".idle.min" beside
// db.client.connection.max is db.client.connection.idle.min.
func longest(exported map[string]bool, base, rest string) string {
	for at := len(base); at > 0; at = strings.LastIndexByte(base[:at], '.') {
		if name := base[:at] + "." + rest; exported[name] {
			return name
		}
	}
	return "." + rest
}
