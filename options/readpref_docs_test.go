package options

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// roleWords are the words of the table of roles in a document.
type roleWords struct {
	notGiven, role, given, fails, warns string
}

// TestReadPreferenceDocs holds both documents to what the package does: the table of roles is made from the table of
// the tests, and each worked case's DSNs are parsed.
func TestReadPreferenceDocs(t *testing.T) {
	for name, words := range map[string]roleWords{
		"../docs/read-preference.md":    {"not given", "`instance_role` not given", "given as", "error", "with a warning"},
		"../docs/ru/read-preference.md": {"не задана", "`instance_role` не задана", "задана как", "ошибка", "с предупреждением"},
	} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		text := string(data)
		before, rest, _ := strings.Cut(text, "<!-- roles:begin -->\n")
		got, after, ok := strings.Cut(rest, "<!-- roles:end -->")
		if want := rolesTable(words); !ok || got != want {
			if *update && ok {
				text = before + "<!-- roles:begin -->\n" + want + "<!-- roles:end -->" + after
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Error(err)
				}
			} else {
				t.Errorf("%s: the table of roles isn't what the package does, at %q; write it with: go test ./options -run Doc -update", name, difference(got, want))
			}
		}
		checkCases(t, name, text)
	}
}

// rolesTable renders roleTable: a row per read_preference and forward, a column per role.
func rolesTable(w roleWords) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n| `read_preference` | `forward` | %s | %s `any` | %s `leader` | %s `replica` |\n| --- | --- | --- | --- | --- | --- |\n", w.role, w.given, w.given, w.given)
	seen := map[string]bool{}
	for _, row := range roleTable {
		id := row.preference + "/" + row.forward
		if seen[id] {
			continue
		}
		seen[id] = true
		forward := "`off`"
		if row.forward == "" {
			forward = w.notGiven + ", `on`, `ro_to_rw`"
		}
		preference := w.notGiven
		if row.preference != "" {
			preference = "`" + row.preference + "`"
		}
		fmt.Fprintf(&b, "| %s | %s |", preference, forward)
		for _, role := range []string{"", "any", "leader", "replica"} {
			for _, cell := range roleTable {
				if cell.preference != row.preference || cell.forward != row.forward || cell.role != role {
					continue
				}
				switch {
				case cell.want == "":
					fmt.Fprintf(&b, " %s |", w.fails)
				case cell.warning != "":
					fmt.Fprintf(&b, " `%s`, %s |", cell.want, w.warns)
				default:
					fmt.Fprintf(&b, " `%s` |", cell.want)
				}
			}
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.String()
}

// cases is what the DSNs of the six worked cases must mean, in their order.
var cases = [][]string{
	{"discovery leader leader derived"},
	{"discovery replica any"},
	{"discovery leader leader derived", "discovery replica any"},
	{"bootstrap any any derived", "discovery any any derived"},
	{"bootstrap any "},
	{"discovery any any derived"},
}

// fences finds the DSNs of a document.
var fences = regexp.MustCompile("(?s)```dsn\n(.*?)```")

// checkCases parses all DSNs of a document, and wants those of the worked cases to mean what the text says.
func checkCases(t *testing.T, name, text string) {
	t.Helper()
	parts := regexp.MustCompile(`(?m)^## (?:Case|Пример) \d: `).Split(text, -1)
	if len(parts) != len(cases)+1 {
		t.Fatalf("%s has %d worked cases, want %d", name, len(parts)-1, len(cases))
	}
	for i, part := range parts {
		var got []string
		for _, c := range parseFences(t, name, part) {
			meaning := fmt.Sprintf("%s %s %s", c.Mode, c.InstanceRole, c.ReadPreference)
			if c.RoleDerived {
				meaning += " derived"
			}
			got = append(got, meaning)
		}
		if i == 0 {
			// All ways of saying the same.
			if len(got) < 5 || strings.Count(strings.Join(got, ";"), got[0]) != len(got) {
				t.Errorf("%s: these don't mean the same: %q", name, got)
			}
			continue
		}
		if strings.Join(got, ";") != strings.Join(cases[i-1], ";") {
			t.Errorf("%s: case %d means %q, want %q", name, i, got, cases[i-1])
		}
	}
}

// parseFences parses and validates every DSN of a text's dsn blocks. Lines that begin with # are comments.
func parseFences(t *testing.T, name, text string) []*Config {
	t.Helper()
	var list []*Config
	for _, block := range fences.FindAllStringSubmatch(text, -1) {
		for _, line := range strings.Split(strings.TrimSpace(block[1]), "\n") {
			if line == "" || line[0] == '#' {
				continue
			}
			c, err := ParseDSN(line)
			if err == nil {
				err = c.Validate()
			}
			if err != nil {
				t.Errorf("%s: %s: %v", name, line, err)
				continue
			}
			if w := c.Warnings(); len(w) > 0 {
				t.Errorf("%s: %s: an example that warns: %q", name, line, w)
			}
			list = append(list, c)
		}
	}
	return list
}
