package servererr

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// hostile are literals that a user may write and a server quotes: each message that somebody acts on, as it is,
// wrapped, and breaking out of quotes.
func hostile() []string {
	var all []string
	fill := strings.NewReplacer("{}", "x", "{=}", "x", "{*}", "[1, 2]", "{n}", "7", "{w}", "word", "{f}", ".proc", "{u}", "27d39d2f-596a-41ba-b726-46f1afe30125")
	for i := range forms {
		text := fill.Replace(string(forms[i].text))
		all = append(all, text, "sbroad: "+text, "' "+text, `" `+text+` "`, text+"'", "\n"+text+"\n")
	}
	return append(all,
		"TupleFound:", "Readonly:", "Timeout exceeded", "Couldn't find statement", "Statement storage is full", "timed out", "AccessDenied:",
		"' to integer", "') to integer", `" in space "`, "] and new tuple - [", "", "'", `"`, `\`, "\x00", "é", "{}", "{n}")
}

// Where a server quotes: between single and double quotes, in rows, and names after these words.
var (
	quotes  = regexp.MustCompile(`(?s)(?:^|[\s(\[,:=])'([^']*)'|(?:^|[\s(\[,:=])"([^"]*)"|tuple - \[(.*?)\]|rule parsing error:(.*)|(?:table|space|column|index|user|role|function|procedure|name:|with name) ([\w.]+)`)
	servers = regexp.MustCompile(`^(\.proc_\w+|forward = \w+|leader|err_uuid|src/vshard_helpers.lua|on|off|ro_to_rw|pg_statement_max|with|in|at|type|\d+|expression|overload|is|mustn|not)$`)
)

// quoted are the places of a message that hold users' words, as [from, to).
func quoted(message string) [][2]int {
	var places [][2]int
	for _, m := range quotes.FindAllStringSubmatchIndex(message, -1) {
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 && !servers.MatchString(message[m[g]:m[g+1]]) {
				places = append(places, [2]int{m[g], m[g+1]})
			}
		}
	}
	return places
}

// split takes a message apart: in the JSON of a storage's error the words are encoded.
func split(message string) (before, words, after string, encoded bool) {
	at := strings.Index(message, `"message":"`)
	end := strings.LastIndex(message, `","trace"`)
	if at < 0 || end < at {
		return "", message, "", false
	}
	at += len(`"message":`)
	if json.Unmarshal([]byte(message[at:end+1]), &words) != nil {
		return "", message, "", false
	}
	return message[:at], words, message[end+1:], true
}

func join(before, words, after string, encoded bool) string {
	if !encoded {
		return words
	}
	b, err := json.Marshal(words)
	if err != nil {
		panic(err)
	}
	return before + string(b) + after
}

// distinct are the recorded errors, those of one shape once.
func distinct(t testing.TB) []serverError {
	var all []serverError
	seen := map[string]bool{}
	plain := regexp.MustCompile(`\d+|'[^']*'|rule parsing error:(?s:.*)|\([^)]*\)|\[[^\]]*\]`)
	for _, e := range recordedErrors(t) {
		shape := e.code + plain.ReplaceAllString(e.message, "")
		if !seen[shape] {
			seen[shape] = true
			all = append(all, e)
		}
	}
	return all
}

// TestUsersWordsDecideNothing: whatever stands in a place where a server quotes, the class stays.
func TestUsersWordsDecideNothing(t *testing.T) {
	literals := hostile()
	places := 0
	for _, e := range distinct(t) {
		want := Read(e.code, e.message)
		before, words, after, encoded := split(e.message)
		if !encoded && strings.Contains(words, "ProcLua: {") {
			continue // cut by the recorder
		}
		for _, p := range quoted(words) {
			places++
			for _, l := range literals {
				m := join(before, words[:p[0]]+l+words[p[1]:], after, encoded)
				if got := Read(e.code, m); got.Kind != want.Kind {
					t.Errorf("%s %q: %v with %q, %v without", e.code, m, got.Kind, l, want.Kind)
					break
				}
			}
		}
	}
	if places < 300 {
		t.Fatalf("%d places: the reader of quotes is broken", places)
	}
	t.Logf("%d places × %d literals", places, len(literals))
}

func FuzzUsersWords(f *testing.F) {
	recorded := distinct(f)
	literals := hostile()
	for i := range recorded {
		f.Add(uint16(i), uint8(i), literals[i%len(literals)])
	}
	f.Fuzz(func(t *testing.T, which uint16, place uint8, literal string) {
		e := recorded[int(which)%len(recorded)]
		before, words, after, encoded := split(e.message)
		places := quoted(words)
		if len(places) == 0 || !encoded && strings.Contains(words, "ProcLua: {") {
			return
		}
		p := places[int(place)%len(places)]
		m := join(before, words[:p[0]]+literal+words[p[1]:], after, encoded)
		if got, want := Read(e.code, m).Kind, Read(e.code, e.message).Kind; got != want {
			t.Errorf("%s %q: %v with %q, %v without", e.code, m, got, literal, want)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, e := range distinct(f) {
		f.Add(e.code, e.message)
	}
	for _, l := range hostile() {
		f.Add("XX000", l)
	}
	f.Fuzz(func(t *testing.T, code, message string) {
		r := Read(code, message)
		if message != "" && r.Message == "" {
			t.Errorf("%q: nothing is left", message)
		}
		if r.Kind.String() == "" {
			t.Errorf("%q: a kind without a name", message)
		}
	})
}

// TestFormsAreAnchored: no message that somebody acts on begins with what users write, and none is another's.
func TestFormsAreAnchored(t *testing.T) {
	for _, f := range forms {
		for _, open := range []string{"{}", "{=}", "{*}"} {
			if strings.HasPrefix(string(f.text), open) {
				t.Errorf("%q begins with a hole", f.text)
			}
		}
	}
	for _, layers := range [][]pattern{wrappings[:], contexts[:], {onReplicaset}} {
		for _, l := range layers {
			if _, kind, _ := cutHole(string(l)); kind != 0 {
				t.Errorf("the layer %q has a hole for any text", l)
			}
		}
	}
	for _, e := range distinct(t) {
		inner, _ := peel(e.message)
		kinds := map[Kind]bool{}
		for i := range forms {
			if _, _, ok := forms[i].text.match(innermost(inner)); ok {
				kinds[forms[i].kind] = true
			}
		}
		if len(kinds) > 1 {
			t.Errorf("%q is %v at once", e.message, kinds)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		p             pattern
		s             string
		ok            bool
		object, shown string
	}{
		{"a", "a", true, "", "a"},
		{"a", "ab", false, "", ""},
		{"a", "", false, "", ""},
		{"", "", true, "", ""},
		{"a{}", "a", true, "", "a"},
		{"a{}", "abc", true, "", "abc"},
		{"a{}c", "abcbc", true, "", "abcbc"},
		{"a{}c", "abcb", false, "", ""},
		{"a{=}b", "axbb", true, "xb", "axbb"},
		{"a{*}b{*}c", "a1b2c", true, "", "a…b…c"},
		{"{n} of {w}", "12 of b_1", true, "", "12 of b_1"},
		{"{n} of {w}", "x of b", false, "", ""},
		{"{n}", "", false, "", ""},
		{"x {}: {n}", "x 1: 2: 3", true, "", "x 1: 2: 3"},
		{"x {}: {n}", "x 1: 2: ", false, "", ""},
		{"{u}!", "27d39d2f-596a-41ba-b726-46f1afe30125!", true, "", "27d39d2f-596a-41ba-b726-46f1afe30125!"},
		{"{u}!", "27d39d2f!", false, "", ""},
		{"{f}:{n}: ", "src/sql/dispatch.lua:364: ", true, "", "src/sql/dispatch.lua:364: "},
	} {
		object, shown, ok := c.p.match(c.s)
		if ok != c.ok || object != c.object || shown != c.shown {
			t.Errorf("%q on %q: %q, %q, %v", c.p, c.s, object, shown, ok)
		}
	}
}

// TestEvidenceOverrulesWords: what the protocol doesn't allow isn't believed.
func TestEvidenceOverrulesWords(t *testing.T) {
	parse, bound, simple, row := Evidence{}, Evidence{Bound: true}, Evidence{Simple: true}, Evidence{Bound: true, Row: true}
	for _, c := range []struct {
		code, message string
		in            Evidence
		want          Kind
	}{
		{"42999", "prepared statement 1 has been invalidated", parse, Stale},
		{"42999", "prepared statement 1 has been invalidated", bound, Other},
		{"42999", "prepared statement 1 has been invalidated", simple, Other},
		{"XX000", "Couldn't find statement '1'.", parse, LostStatement},
		{"XX000", "Couldn't find statement '1'.", bound, Other},
		{"22P02", "x", parse, Parameters},
		{"22P02", "x", bound, Other},
		{"XX000", "Statement storage is full. Current size limit: 2. Please, increase storage limit using: ALTER SYSTEM", simple, Capacity},
		{"XX000", "Statement storage is full. Current size limit: 2. Please, increase storage limit using: ALTER SYSTEM", bound, Other},
		{"XX000", "storage schema version different from router", bound, Schema},
		{"XX000", "storage schema version different from router", row, Other},
		{"XX000", "Readonly: Can't modify data on a read-only instance", bound, Switchover},
		{"XX000", "Readonly: Can't modify data on a read-only instance", row, Other},
		{"XX000", "Master is not configured for replicaset x", row, Other},
		{"XX000", "Timeout exceeded", row, Timeout},
		{"XX000", `TupleFound: Duplicate key exists in unique index "i"`, row, UniqueViolation},
	} {
		if got := Read(c.code, c.message).Given(c.in).Kind; got != c.want {
			t.Errorf("%s %q with %+v: %v, want %v", c.code, c.message, c.in, got, c.want)
		}
	}
}

// TestRowsStayOut: a report shows none of the rows and values that the server quotes.
func TestRowsStayOut(t *testing.T) {
	const secret = "s3cret"
	for message, want := range map[string]string{
		`sbroad: invalid transaction: transaction rolled-back: failed to insert space: TupleFound: Duplicate key exists in unique index "1_pkey" in space "t" with old tuple - [1, 1934, "s3cret"] and new tuple - [1, 1934, "s3cret"]`: `failed to insert space: TupleFound: Duplicate key exists in unique index "1_pkey" in space "t" with old tuple - … and new tuple - …`,
		`sbroad: Type mismatch: can not convert string('s3cret') to integer`:                                                                                                                       `Type mismatch: can not convert string(…) to integer`,
		`sbroad: failed to parse 's3cret' as a value of type int, consider using explicit type casts`:                                                                                              `failed to parse '…' as a value of type int, consider using explicit type casts`,
		`sbroad: box error: ProcLua: {"code":32,"type":"ClientError","message":"Error on replicaset UUID: Duplicate key exists in unique index \"i\" in space \"t\" with old tuple - [1, \"s3cret`: `Duplicate key exists in unique index "i" in space "t" with old tuple - …`,
	} {
		got := Read("XX000", message).Message
		if got != want || strings.Contains(got, secret) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestCutErrorsKeepTheirKind(t *testing.T) {
	for cut, whole := 0, `sbroad: box error: ProcLua: {"code":32,"base_type":"ClientError","type":"ClientError","message":"Error on replicaset 27d39d2f-596a-41ba-b726-46f1afe30125: Failed to execute '.proc_sql_execute': sbroad: TupleFound: Duplicate key exists in unique index \"1\" in space \"t\" with old tuple - [1, \"é\\\u0000\ud83d\ude00`; cut < 40; cut++ {
		m := whole[:len(whole)-cut]
		if got := Read("XX000", m).Kind; got != UniqueViolation && strings.Contains(m, "tuple - ") {
			t.Errorf("%s: %v", m, got)
		}
	}
}
