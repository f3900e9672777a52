package picotest_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// answered is a statement that was sent to a real cluster, and the messages that came back; testdata/live/README.md says how to
// read them.
type answered struct {
	Shape  string
	Do     string
	Answer []string
}

func readAnswers(t *testing.T, name string) []answered {
	t.Helper()
	f, err := os.Open("../testdata/live/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var list []answered
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var a answered
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatalf("line %d: %v", len(list)+1, err)
		}
		list = append(list, a)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAnswers sends all recorded statements in their order and compares every answer. What may differ stands in
// testdata/answers-26.2.accepted, each with its reason; a difference that isn't listed fails the test, and so does a listed one that
// is gone.
//
//	ANSWERS_REPORT=FILE writes all differences to FILE, grouped by shape
//	ANSWERS_ACCEPT=1    rewrites the list; new ones get the reason "not mended yet"
func TestAnswers(t *testing.T) {
	const list = "testdata/answers-26.2.accepted"
	answers := readAnswers(t, "answers-26.2.jsonl.gz")
	c := picotest.Start(t, picotest.Config{
		Version: "26.2",
		Tiers: []picotest.Tier{
			{Name: "default", Replicasets: 2, ReplicationFactor: 2},
			{Name: "store"},
		},
		Users: []picotest.User{},
	})
	c.LeadRaft("i3")
	who := answerClients{t: t, c: c, open: map[[2]string]*wire{}}
	defer who.close()

	var found []answerDifference
	kinds := map[string]int{}
	for i, a := range answers {
		got, err := who.client(a).do(a.sent())
		if err != nil {
			t.Fatalf("line %d, %s: %v", i+1, a.Do, err)
		}
		want, have := normalAnswer(a.Do, a.Answer), normalAnswer(a.Do, got)
		if !slices.Equal(want, have) {
			d := answerDifference{line: i + 1, kind: differenceKind(a.Do, want, have), of: a, want: want, have: have}
			found = append(found, d)
			kinds[d.kind]++
		}
	}
	t.Logf("%d of %d statements answered as recorded (%.2f %%); %d that the server refuses were accepted (a), %d the reverse (b), %d with another result (c), %d with another error text (d), %d EXPLAINs with another text (x)",
		len(answers)-len(found), len(answers), 100*float64(len(answers)-len(found))/float64(len(answers)), kinds["a"], kinds["b"], kinds["c"], kinds["d"], kinds["x"])
	if file := os.Getenv("ANSWERS_REPORT"); file != "" {
		if err := os.WriteFile(file, []byte(answerReport(found)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	accepted := readAccepted(t, list)
	if os.Getenv("ANSWERS_ACCEPT") != "" {
		writeAccepted(t, list, found, accepted)
		return
	}
	unexpected := 0
	for _, d := range found {
		key := d.key()
		reason := accepted[key]
		delete(accepted, key)
		if reason != "" && reason != unexplained {
			continue
		}
		if unexpected++; unexpected <= 20 {
			t.Errorf("line %d (%s, kind %s): %s\n got %s\nwant %s", d.line, d.of.Shape, d.kind, shortText(d.of.Do), strings.Join(d.have, "\n     "), strings.Join(d.want, "\n     "))
		}
	}
	if unexpected > 20 {
		t.Errorf("… and %d more", unexpected-20)
	}
	for key := range accepted {
		t.Errorf("%s lists a difference that is gone: %s", list, key)
	}
}

// answerClients are the connections that the statements were sent over.
type answerClients struct {
	t     *testing.T
	c     *picotest.Cluster
	open  map[[2]string]*wire
	other int // statements so far that went to other nodes
}

// client gives the connection of a statement: that of admin on i1, but for statements of an ordinary user and for
// twelve that were sent to each of the other nodes in turn.
func (a *answerClients) client(s answered) *wire {
	node, user, password := "i1", "admin", "T0psecret"
	switch s.Shape {
	case "as a user":
		user, password = "db2_u1", "Passw0rd"
	case "other nodes":
		node = fmt.Sprintf("i%d", a.other/12+2)
		a.other++
	case "login":
		user, password = "guest", ""
	}
	w := a.open[[2]string{node, user}]
	if w == nil {
		var err error
		if w, err = dialWire(a.c, node, user, password, nil); err != nil {
			a.t.Fatalf("%s at %s for %s: %v", user, node, s.Do, err)
		}
		a.open[[2]string{node, user}] = w
	}
	return w
}

func (a *answerClients) close() {
	for _, w := range a.open {
		w.close()
	}
}

// sent is what was sent: of three statements that were tried with every startup parameter the recording has only names.
func (a answered) sent() string {
	if a.Do == "Q in between" {
		return "Q SELECT 1"
	}
	if a.Shape != "startup parameter" {
		return a.Do
	}
	return map[string]string{
		"Q SELECT id FROM w": "Q SELECT id FROM db2_w WHERE id = 1",
		"Q SELECT all":       "Q SELECT id FROM db2_w",
		"Q INSERT":           "Q INSERT INTO db2_w VALUES (1, 1, 1)",
	}[a.Do]
}

// answerDifference is a statement that the simulation answers in another way.
type answerDifference struct {
	line       int
	kind       string
	of         answered
	want, have []string
}

// key names a difference in the list: the line and what was sent, so that a change of the recording doesn't go unseen.
func (d answerDifference) key() string {
	return fmt.Sprintf("%d %s %s", d.line, d.kind, shortText(d.of.Do))
}

func shortText(do string) string {
	do = strings.Join(strings.Fields(do), " ")
	if r := []rune(do); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return do
}

// differenceKind: a accepted what the server refuses, b the reverse, c another result, d another error, x another text of EXPLAIN.
func differenceKind(do string, want, have []string) string {
	w, h := refused(want), refused(have)
	switch {
	case !w && !h && strings.HasPrefix(do[2:], "EXPLAIN"):
		return "x"
	case w && !h:
		return "a"
	case h && !w:
		return "b"
	case w && h:
		return "d"
	}
	return "c"
}

func refused(lines []string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "E ") })
}

const unexplained = "not mended yet"

// readAccepted reads the list: a line "# reason" counts for the lines below it.
func readAccepted(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	out, reason := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "":
		case strings.HasPrefix(line, "# "):
			reason = line[2:]
		case reason == "":
			t.Fatalf("%s: %s has no reason", name, line)
		default:
			out[line] = reason
		}
	}
	return out
}

func writeAccepted(t *testing.T, name string, found []answerDifference, before map[string]string) {
	t.Helper()
	byReason := map[string][]string{}
	for _, d := range found {
		reason := before[d.key()]
		if reason == "" {
			reason = unexplained
		}
		byReason[reason] = append(byReason[reason], d.key())
	}
	var reasons []string
	for r := range byReason {
		reasons = append(reasons, r)
	}
	sort.Strings(reasons)
	var b strings.Builder
	for _, r := range reasons {
		fmt.Fprintf(&b, "# %s\n%s\n\n", r, strings.Join(byReason[r], "\n"))
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func answerReport(found []answerDifference) string {
	sort.SliceStable(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.kind != b.kind {
			return a.kind < b.kind
		}
		return a.of.Shape < b.of.Shape
	})
	var b strings.Builder
	for _, d := range found {
		fmt.Fprintf(&b, "%s [%s] %d %s\n", d.kind, d.of.Shape, d.line, d.of.Do)
		fmt.Fprintf(&b, "    want %s\n    have %s\n", strings.Join(d.want, " ⏎ "), strings.Join(d.have, " ⏎ "))
	}
	return b.String()
}

var answerNoise = []struct {
	find *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`\b\d+_pkey\b`), "N_pkey"},
	{regexp.MustCompile(`\b20(2[6-9]|[3-4]\d)-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?[+-]\d\d`), "NOW"},
	{regexp.MustCompile(`(rule parsing error:\s+--> \d+:\d+)[\s\S]*`), "$1 …"},
	{regexp.MustCompile(`\\?"trace\\?":\[.*?\]`), `"trace":[]`},
}

// normalAnswer takes out of an answer what differs from run to run; rows without ORDER BY are sorted.
func normalAnswer(do string, lines []string) []string {
	out := slices.Clone(lines)
	for i := range out {
		for _, n := range answerNoise {
			out[i] = n.find.ReplaceAllString(out[i], n.by)
		}
	}
	if lower := strings.ToLower(do); strings.Contains(lower, "order by") || strings.Contains(lower, "explain") {
		return out
	}
	for i := 0; i < len(out); {
		j := i
		for j < len(out) && strings.HasPrefix(out[j], "D ") {
			j++
		}
		sort.Strings(out[i:j])
		i = max(j, i+1)
	}
	return out
}

// do sends what a line of the recording says and gives the answer in the recording's words.
func (w *wire) do(text string) ([]string, error) {
	kind, rest, _ := strings.Cut(text, " ")
	var frames []message
	switch kind {
	case "Q":
		frames = []message{{"Q", append([]byte(rest), 0)}}
	case "X":
		frames = extendedFrames(rest)
	default:
		return nil, fmt.Errorf("no way to send %q", kind)
	}
	got, end, err := w.exchange(frames)
	if err != nil {
		return nil, err
	}
	var lines []string
	var formats []uint16
	var oids []uint32
	for _, m := range got {
		lines = append(lines, showAnswer(m, &formats, &oids))
	}
	if end != "ready" {
		lines = append(lines, "end "+end)
	}
	return lines, nil
}

var parameterText = regexp.MustCompile(`(?s)^(?:"(.*)"|bin ([0-9a-f]*)|(NULL))(?: oid (\d+))?$`)

// extendedFrames makes Parse, Bind, Describe, Execute and Sync of "text | parameter | …".
func extendedFrames(text string) []message {
	parts := strings.Split(text, " | ")
	var result []byte
	if parts[len(parts)-1] == "binary result" {
		parts, result = parts[:len(parts)-1], []byte{0, 1, 0, 1}
	} else {
		result = []byte{0, 0}
	}
	var oids, formats, values []byte
	n := 0
	for len(parts) > 1 {
		m := parameterText.FindStringSubmatch(parts[len(parts)-1])
		if m == nil {
			break
		}
		parts = parts[:len(parts)-1]
		oid, _ := strconv.Atoi(m[4])
		value, format := []byte(strings.ReplaceAll(m[1], `\xff`, "\xff")), byte(0)
		if strings.HasPrefix(m[0], "bin ") {
			value, _ = hex.DecodeString(m[2])
			format = 1
		}
		size := binary.BigEndian.AppendUint32(nil, uint32(len(value)))
		if m[3] != "" {
			size = []byte{255, 255, 255, 255}
		}
		oids = append(binary.BigEndian.AppendUint32(nil, uint32(oid)), oids...)
		formats = append([]byte{0, format}, formats...)
		values = append(slices.Concat(size, value), values...)
		n++
	}
	count := binary.BigEndian.AppendUint16(nil, uint16(n))
	sql := strings.Join(parts, " | ")
	return []message{
		{"P", slices.Concat([]byte("\x00"+sql+"\x00"), count, oids)},
		{"D", []byte("S\x00")},
		{"B", slices.Concat([]byte("\x00\x00"), count, formats, count, values, result)},
		{"D", []byte("P\x00")},
		{"E", []byte("\x00\x00\x00\x00\x00")},
		{"S", nil},
	}
}

// isText are the types whose binary form is their text.
var isText = map[uint32]bool{25: true, 114: true}

// showAnswer is a message in the recording's words.
func showAnswer(m message, formats *[]uint16, oids *[]uint32) string {
	b := m.Body
	switch m.Type {
	case "t":
		var oids []string
		for b = b[2:]; len(b) >= 4; b = b[4:] {
			oids = append(oids, fmt.Sprint(binary.BigEndian.Uint32(b)))
		}
		return "t " + strings.Join(oids, ",")
	case "T":
		var fields []string
		*formats, *oids = nil, nil
		for b = b[2:]; len(b) > 0; b = b[18:] {
			end := bytes.IndexByte(b, 0)
			name := string(b[:end])
			b = b[end+1:]
			format := binary.BigEndian.Uint16(b[16:])
			*formats, *oids = append(*formats, format), append(*oids, binary.BigEndian.Uint32(b[6:]))
			fields = append(fields, fmt.Sprintf("%s(%d.%d oid %d size %d mod %d fmt %d)", name, binary.BigEndian.Uint32(b), binary.BigEndian.Uint16(b[4:]),
				binary.BigEndian.Uint32(b[6:]), int16(binary.BigEndian.Uint16(b[10:])), int32(binary.BigEndian.Uint32(b[12:])), format))
		}
		return "T " + strings.Join(fields, ", ")
	case "D":
		var fields []string
		for b = b[2:]; len(b) > 0; {
			size := int32(binary.BigEndian.Uint32(b))
			b = b[4:]
			if size < 0 {
				fields = append(fields, "NULL")
				continue
			}
			v := string(b[:size])
			if k := len(fields); k < len(*formats) && (*formats)[k] == 1 && !isText[(*oids)[k]] {
				v = "x" + hex.EncodeToString(b[:size])
			}
			fields = append(fields, v)
			b = b[size:]
		}
		return "D " + strings.Join(fields, " | ")
	case "C":
		return "C " + string(bytes.TrimRight(b, "\x00"))
	case "I":
		return "I "
	case "Z":
		return "Z " + string(b)
	case "E", "N":
		return showBody(m)
	}
	return m.Type
}
