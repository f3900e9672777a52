package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestDocumentsNameEverything: both documents have every command, flag, exit code, command of the simulation and
// kind of statement; and the scenario that they quote is one.
func TestDocumentsNameEverything(t *testing.T) {
	for _, name := range []string{"../../docs/pico.md", "../../docs/ru/pico.md"} {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		text := string(raw)
		has := func(part string) {
			t.Helper()
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q", name, part)
			}
		}
		for _, cmd := range newTool().root().Commands() {
			has("\n## pico " + cmd.Name() + "\n")
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if f.Name != "help" {
					has("`--" + f.Name + "`")
				}
			})
		}
		for _, v := range verbs() {
			has("`" + strings.TrimSuffix(strings.TrimSpace(v.name+" "+v.args), "…") + "`")
		}
		for code := exitDone; code <= exitFaults; code++ {
			has("\n| " + strconv.Itoa(code) + " |")
		}
		for kind := range kinds("", nil, 0) {
			has("`" + kind + "`")
		}
		for _, block := range strings.Split(text, "```yaml\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			if !strings.HasPrefix(block, "cluster:") {
				continue
			}
			if s, err := parseScenario([]byte(block)); err != nil || len(s.steps) != 3 {
				t.Errorf("%s: the scenario: %v", name, err)
			}
		}
	}
}
