package options

import (
	"bytes"
	"flag"
	"fmt"
	goformat "go/format"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// update makes the tests below write what they otherwise compare: go test ./options -run Doc -update
var update = flag.Bool("update", false, "write the generated parts of documents and of config.go")

// Everything that says something about a key is made from Keys here: the tables between the two marks in the
// documents, and the comments on the fields of Config.
const (
	beginMark = "<!-- keys:begin -->"
	endMark   = "<!-- keys:end -->"
)

func TestConfigurationDocs(t *testing.T) {
	checkTable(t, "../docs/configuration.md", configurationTable(english), true)
	checkTable(t, "../docs/ru/configuration.md", configurationTable(russian(t)), true)
	checkTable(t, "../README.md", readmeTable(), false)
	for _, name := range []string{"../docs/configuration.md", "../docs/ru/configuration.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(parseFences(t, name, string(text))); n < 5 {
			t.Errorf("%s has %d examples of a DSN", name, n)
		}
	}
}

// checkTable compares, or with -update writes, what stands between the marks of a document. A document
// that isn't required is left alone while it has no marks.
func checkTable(t *testing.T, name, want string, required bool) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil && !required {
		t.Logf("%s isn't there yet", name)
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	before, rest, found := strings.Cut(string(text), beginMark+"\n")
	got, after, closed := strings.Cut(rest, endMark)
	if !found || !closed {
		if required {
			t.Errorf("%s has no marks %s and %s", name, beginMark, endMark)
		}
		return
	}
	if got == want {
		return
	}
	if !*update {
		t.Errorf("%s isn't what Keys says, at %q; write it with: go test ./options -run Doc -update", name, difference(got, want))
		return
	}
	if err := os.WriteFile(name, []byte(before+beginMark+"\n"+want+endMark+after), 0o644); err != nil {
		t.Error(err)
	}
}

// difference is the first line of want that got has otherwise.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range b {
		if i >= len(a) || a[i] != b[i] {
			return b[i]
		}
	}
	return "the end"
}

// language is what a table is written in.
type language struct {
	columns [5]string
	group   func(string) string
	also    string                // "also"
	cost    string                // "Cost"
	words   func(string) string   // type and allowed values
	key     func(Key) (Key, bool) // a key's texts
}

var english = language{
	columns: [5]string{"Key", "Value", "Default", "Server", "What it does"},
	group:   func(g string) string { return g },
	also:    "also",
	cost:    "Cost",
	words:   func(s string) string { return s },
	key:     func(k Key) (Key, bool) { return k, true },
}

// configurationTable renders all keys, a table per group.
func configurationTable(l language) string {
	var b strings.Builder
	group := ""
	for _, group = range groups() {
		fmt.Fprintf(&b, "\n### %s\n\n| %s |\n| --- | --- | --- | --- | --- |\n", l.group(group), strings.Join(l.columns[:], " | "))
		for _, k := range Keys() {
			if k.Group != group {
				continue
			}
			k, ok := l.key(k)
			if !ok {
				continue
			}
			name := "`" + k.Name + "`"
			for _, s := range k.Synonyms {
				name += "<br>" + l.also + " `" + s + "`"
			}
			name += "<br>`" + k.Option + "`"
			value := "*" + l.words(k.Type) + "*"
			if k.Allowed != "" {
				value += ": " + l.words(k.Allowed)
			}
			what := k.Doc
			if k.Cost != "none" && k.Cost != "" {
				what += " *" + l.cost + ":* " + k.Cost + "."
			}
			row := []string{name, value, orDash(code(k.Default)), l.words(k.Since), what}
			for i := range row {
				row[i] = cell(row[i])
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// readmeKeys are those that nearly every program sets sooner or later.
var readmeKeys = []string{
	"instance_role", "read_preference", "routing", "max_conns_per_instance", "node_weights",
	"acquire_timeout", "address_map", "transactions", "sslmode", "log",
}

// readmeTable renders the first sentences of readmeKeys.
func readmeTable() string {
	var b strings.Builder
	b.WriteString("\n| Key | Default | What it does |\n| --- | --- | --- |\n")
	for _, name := range readmeKeys {
		for _, k := range Keys() {
			if k.Name == name {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, cell(orDash(code(k.Default))), cell(firstSentence(k.Doc)))
			}
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// groups lists the groups in the order of the keys.
func groups() []string {
	var list []string
	seen := map[string]bool{}
	for _, k := range Keys() {
		if !seen[k.Group] {
			seen[k.Group] = true
			list = append(list, k.Group)
		}
	}
	return list
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// cell makes a text fit into a cell of a Markdown table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "host[:port]", "`host[:port]`", "KEY=VALUE[/KEY=VALUE…],…", "`KEY=VALUE[/KEY=VALUE…],…`",
		"name=value[,name=value…]", "`name=value[,name=value…]`").Replace(text)
}

// firstSentence ends at the first full stop or colon that a blank follows.
func firstSentence(text string) string {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '.' && text[i+1] == ' ' {
			return text[:i+1]
		}
	}
	return text
}

// TestFieldDocs holds the comments on the fields of Config to what Keys says, or writes them.
func TestFieldDocs(t *testing.T) {
	const name = "config.go"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want, err := withFieldDocs(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(text, want) {
		return
	}
	if !*update {
		t.Fatalf("%s isn't what Keys says, at %q; write it with: go test ./options -run Doc -update", name, difference(string(text), string(want)))
	}
	if err := os.WriteFile(name, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// withFieldDocs replaces the comment in front of each field that has a key.
func withFieldDocs(source string) ([]byte, error) {
	head, rest, ok := strings.Cut(source, "type Config struct {\n")
	body, tail, closed := strings.Cut(rest, "\n}\n")
	if !ok || !closed {
		return nil, fmt.Errorf("no struct Config")
	}
	keysOf := map[string][]Key{}
	for _, k := range Keys() {
		keysOf[k.Go] = append(keysOf[k.Go], k)
	}
	var out, comment []string
	for _, line := range strings.Split(body, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "//") {
			comment = append(comment, line)
			continue
		}
		field, _, _ := strings.Cut(trimmed, " ")
		if keys, ok := keysOf[field]; ok {
			delete(keysOf, field)
			comment = nil
			for _, l := range fieldComment(field, keys) {
				comment = append(comment, strings.TrimRight("\t// "+l, " "))
			}
		}
		out = append(append(out, comment...), line)
		comment = nil
	}
	if len(keysOf) > 0 {
		return nil, fmt.Errorf("no fields for %v", keysOf)
	}
	return goformat.Source([]byte(head + "type Config struct {\n" + strings.Join(out, "\n") + "\n}\n" + tail))
}

// fieldComment says of a field all that Keys knows: what it does, an empty line, and the facts.
func fieldComment(field string, keys []Key) []string {
	var lines []string
	for i, k := range keys {
		text := field + " is the key " + k.Name + ". "
		if i > 0 {
			lines = append(lines, "")
			text = "The key " + k.Name + " belongs to it. "
		}
		lines = append(append(lines, wrap(text+k.Doc, 104)...), "")
		facts := strings.ToUpper(k.Type[:1]) + k.Type[1:] + ": " + k.Allowed + ". Default: "
		if k.Default == "" {
			facts += "none"
		} else {
			facts += k.Default
		}
		lines = append(lines, wrap(facts+". Server: "+k.Since+". Cost: "+k.Cost+".", 104)...)
	}
	return lines
}

// wrap breaks a text into lines.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

func TestEveryKeyIsDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Keys() {
		for what, text := range map[string]string{"Name": k.Name, "Group": k.Group, "Type": k.Type, "Allowed": k.Allowed, "Since": k.Since, "Cost": k.Cost, "Doc": k.Doc, "Go": k.Go, "Option": k.Option} {
			if text == "" {
				t.Errorf("key %s has no %s", k.Name, what)
			}
		}
		if !strings.HasSuffix(k.Doc, ".") || strings.HasSuffix(k.Cost, ".") {
			t.Errorf("key %s: Doc is a sentence and Cost is none", k.Name)
		}
		for _, name := range append([]string{k.Name}, k.Synonyms...) {
			if seen[name] || replacedKeys[name] != "" {
				t.Errorf("key %s stands twice in the tables", name)
			}
			seen[name] = true
		}
	}
}
