package route

import (
	"os"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/options"
)

// TestDocsNameEverything: both pages on routing explain every reason, behaviour and setting.
func TestDocsNameEverything(t *testing.T) {
	var names []string
	for _, r := range Reasons() {
		names = append(names, "| `"+string(r)+"` |")
	}
	for b := options.NoShardBalance; b <= options.NoShardFail; b++ {
		names = append(names, "| `"+shardWord(b)+"`")
	}
	for _, k := range options.Keys() {
		if k.Name == "routing" || strings.HasPrefix(k.Name, "routing_") || strings.HasPrefix(k.Name, "no_shard") || k.Name == "query_metadata_cache_size" {
			names = append(names, "| `"+k.Name+"` | `With"+k.Go+"` | `"+k.Default+"` |")
		}
	}
	for _, page := range []string{"../../docs/routing.md", "../../docs/ru/routing.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(text), name) {
				t.Errorf("%s doesn't have %s", page, name)
			}
		}
		_, chart, _ := strings.Cut(string(text), "```mermaid\n")
		chart, _, _ = strings.Cut(chart, "```")
		for _, r := range Reasons() {
			if !strings.Contains(chart, string(r)) {
				t.Errorf("the picture of %s doesn't have %s", page, r)
			}
		}
	}
}
