package grammar

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/picodata/go-picodata/internal/sqltext"
)

// The server's grammar knows no comments, so the driver takes them out. What it sends is, by that grammar, the
// statement that was meant: for each recorded statement and comments put between its words at random, the tree of what
// is sent is the tree of the original.
func TestStrippedCommentsLeaveTheStatement(t *testing.T) {
	rnd := rand.New(rand.NewPCG(20, 26))
	seen := map[string]bool{}
	tried := 0
	for _, r := range recordings(t) {
		if r.err != "" || seen[r.sql] {
			continue
		}
		seen[r.sql] = true
		want, err := Parse(r.version, r.sql)
		gaps := blanks(r.sql)
		if err != nil || len(gaps) == 0 || commented(r.sql) {
			continue
		}
		for range 8 {
			text := r.sql
			for _, at := range pick(rnd, gaps) { // from the end, so that places before stay
				text = text[:at] + " " + comment(rnd) + " " + text[at:]
			}
			sent, _ := sqltext.StripComments(text)
			got, err := Parse(r.version, sent)
			if err != nil {
				t.Fatalf("%q\nsent as %q: %s", text, sent, err.Message)
			}
			if diff := cmp.Diff(want, got, shape); diff != "" {
				t.Fatalf("%q\nsent as %q\n%s", text, sent, diff)
			}
			tried++
		}
	}
	if tried < 1000 {
		t.Errorf("only %d texts", tried)
	}
}

// blanks are the places of single blanks outside of all quotes, found without the driver's reader.
func blanks(sql string) []int {
	var at []int
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; {
		case c == '\'' || c == '"':
			n := strings.IndexByte(sql[i+1:], c)
			if n < 0 {
				return at
			}
			i += n + 1
		case c == '$' && strings.HasPrefix(sql[i:], "$$"):
			n := strings.Index(sql[i+2:], "$$")
			if n < 0 {
				return at
			}
			i += n + 3
		case c == ' ':
			at = append(at, i)
		}
	}
	return at
}

func commented(sql string) bool { return strings.Contains(sql, "--") || strings.Contains(sql, "/*") }

// pick is a random part of the places, the last first.
func pick(rnd *rand.Rand, places []int) []int {
	n := 1 + rnd.IntN(min(4, len(places)))
	chosen := map[int]bool{}
	for range n {
		chosen[places[rnd.IntN(len(places))]] = true
	}
	var all []int
	for i := len(places) - 1; i >= 0; i-- {
		if chosen[places[i]] {
			all = append(all, places[i])
		}
	}
	return all
}

func comment(rnd *rand.Rand) string {
	words := []string{"it's", "\"", "$$", "?", "where id = 1", "--", ";", "$1", "'", "ключ", ",", ")", "e'\\"}
	var body []string
	for range rnd.IntN(4) {
		body = append(body, words[rnd.IntN(len(words))])
	}
	text := strings.Join(body, " ")
	switch rnd.IntN(4) {
	case 0:
		return "-- x" + text + "\n"
	case 1:
		return "-- x" + text + "\r"
	case 2:
		return "/*" + text + " /* inner " + text + " */ outer */"
	}
	return "/* " + text + " */"
}
