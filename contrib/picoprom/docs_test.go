package picoprom

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of metrics into the documents")

// TestDocs: docs/observability.md, in both languages, lists the metrics as they are.
//
//	go test ./contrib/picoprom -run Docs -update
func TestDocs(t *testing.T) {
	const begin, end = "<!-- metrics:begin -->\n", "<!-- metrics:end -->"
	for page, head := range map[string]string{
		"../../docs/observability.md":    "\n| metric | type | labels | what |\n| --- | --- | --- | --- |\n",
		"../../docs/ru/observability.md": "\n| метрика | тип | метки | описание в самой метрике |\n| --- | --- | --- | --- |\n",
	} {
		var want strings.Builder
		want.WriteString(head)
		for _, m := range Metrics() {
			labels := "–"
			if len(m.Labels) > 0 {
				labels = "`" + strings.Join(m.Labels, "`, `") + "`"
			}
			want.WriteString("| `" + m.Name + "` | " + m.Type + " | " + labels + " | " + m.Help + " |\n")
		}
		want.WriteString("\n")
		text, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range metricName.FindAllString(string(text), -1) {
			if !slices.ContainsFunc(Metrics(), func(m Metric) bool { return m.Name == name }) {
				t.Errorf("%s names %s, which nobody exports", page, name)
			}
		}
		before, rest, ok := strings.Cut(string(text), begin)
		got, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Errorf("%s has no marks for the table of metrics", page)
			continue
		}
		if got == want.String() {
			continue
		}
		if !*update {
			t.Errorf("%s isn't what Metrics says; write it with: go test ./contrib/picoprom -run Docs -update", page)
			continue
		}
		if err := os.WriteFile(page, []byte(before+begin+want.String()+end+after), 0o644); err != nil {
			t.Error(err)
		}
	}
}
