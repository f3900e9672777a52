package engine

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

// The dialogues that were recorded with a real cluster, replayed on the level of statements: what needs the wire (login, names of
// statements and portals, forwarding) is the business of package picotest's replay.

type recFrame struct {
	Type string
	Body []byte
}

type recStep struct {
	Send, Recv []recFrame
}

type recording struct {
	Setup struct {
		Statements []string
	}
	Dialogues []struct {
		Name, User, Instance string
		Params               map[string]string
		Steps                []recStep
		Side                 map[string]struct{ Statement string }
	}
}

func (f *recFrame) UnmarshalJSON(b []byte) error {
	var raw struct{ Type, Body string }
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	f.Type = raw.Type
	var err error
	f.Body, err = base64.StdEncoding.DecodeString(raw.Body)
	return err
}

func loadRecording(t testing.TB, version string) recording {
	t.Helper()
	raw, err := os.ReadFile("../../../testdata/live/dialogues-" + version + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// reader takes a frame's body apart.
type reader struct{ b []byte }

func (r *reader) str() string {
	i := slices.Index(r.b, 0)
	s := string(r.b[:i])
	r.b = r.b[i+1:]
	return s
}

func (r *reader) i16() int {
	n := int(int16(binary.BigEndian.Uint16(r.b)))
	r.b = r.b[2:]
	return n
}

func (r *reader) i32() int {
	n := int(int32(binary.BigEndian.Uint32(r.b)))
	r.b = r.b[4:]
	return n
}

func (r *reader) bytes() []byte {
	n := r.i32()
	if n < 0 {
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// expectation turns what the server sent into lines.
func expectation(frames []recFrame) []string {
	var out []string
	for _, f := range frames {
		r := &reader{f.Body}
		switch f.Type {
		case "T":
			n := r.i16()
			cols := make([]string, n)
			for i := range cols {
				name := r.str()
				r.i32()
				r.i16()
				oid := r.i32()
				r.i16()
				r.i32()
				r.i16()
				cols[i] = fmt.Sprintf("%s:%d", name, oid)
			}
			out = append(out, "T "+strings.Join(cols, ", "))
		case "t":
			n := r.i16()
			oids := make([]string, n)
			for i := range oids {
				oids[i] = fmt.Sprint(r.i32())
			}
			out = append(out, "t "+strings.Join(oids, ", "))
		case "D":
			n := r.i16()
			cells := make([]string, n)
			for i := range cells {
				if b := r.bytes(); b == nil {
					cells[i] = "<null>"
				} else {
					cells[i] = string(b)
				}
			}
			out = append(out, "D "+strings.Join(cells, "|"))
		case "C":
			out = append(out, "C "+r.str())
		case "I":
			out = append(out, "I")
		case "n":
			out = append(out, "n")
		case "N":
			for r.b[0] != 0 {
				kind := r.b[0]
				r.b = r.b[1:]
				if text := r.str(); kind == 'M' {
					out = append(out, "N "+text)
				}
			}
		case "E":
			code, text := "", ""
			for r.b[0] != 0 {
				kind := r.b[0]
				r.b = r.b[1:]
				switch s := r.str(); kind {
				case 'C':
					code = s
				case 'M':
					text = s
				}
			}
			out = append(out, "E "+code+" "+text)
		}
	}
	return out
}

// player runs a client's frames against the engine and says what a server would.
type player struct {
	b        *bench
	stmts    map[string]*Stmt
	portals  map[string]*playedPortal
	out      []string
	metadata bool
	checked  bool // pico_stmt_invalidation
}

type playedPortal struct {
	stmt    *Stmt
	args    []Value
	formats []int16
}

func (p *player) say(format string, args ...any) { p.out = append(p.out, fmt.Sprintf(format, args...)) }

func (p *player) fail(e *Error) { p.say("E %s %s", e.Code, e.Message) }

func columnsLine(cols []Column) string {
	parts := make([]string, len(cols))
	for i, c := range cols {
		parts[i] = fmt.Sprintf("%s:%d", c.Name, c.OID)
	}
	return strings.Join(parts, ", ")
}

func (p *player) simple(sql string) {
	s, err := p.b.e.Prepare(p.b.sess, sql, nil)
	if err != nil {
		p.fail(err)
		return
	}
	if s.Kind() == Empty {
		p.say("I")
		return
	}
	if n := len(s.Params()); n > 0 {
		p.say(`E 08P01 protocol violation: bind message supplies 0 parameters, but prepared statement "" requires %d`, n)
		return
	}
	p.execute(&playedPortal{stmt: s}, true)
}

func (p *player) execute(o *playedPortal, describe bool) bool {
	v, err := p.b.view(o.stmt, o.args)
	var res *Result
	if err == nil {
		res, err = o.stmt.Run(context.Background(), o.args, v)
	}
	if err != nil {
		p.fail(err)
		return false
	}
	if describe && o.stmt.Returns() {
		p.say("T %s", columnsLine(res.Columns))
	}
	for _, row := range res.Rows {
		cells := make([]string, len(row))
		for i, val := range row {
			format := int16(0)
			if len(o.formats) == 1 {
				format = o.formats[0]
			} else if i < len(o.formats) {
				format = o.formats[i]
			}
			b, err := Encode(val, res.Columns[i].OID, format)
			if err != nil {
				p.say("E XX000 %s", err)
				return false
			}
			if cells[i] = "<null>"; b != nil {
				cells[i] = string(b)
			}
		}
		p.say("D %s", strings.Join(cells, "|"))
	}
	if o.stmt.Kind() == Empty {
		p.say("I")
	} else {
		p.say("C %s", res.Tag)
	}
	return true
}

// frame plays one frame of the extended protocol; false means that the rest up to Sync is skipped.
func (p *player) frame(f recFrame) bool {
	r := &reader{f.Body}
	switch f.Type {
	case "Q":
		p.simple(r.str())
	case "P":
		name, sql := r.str(), r.str()
		oids := make([]uint32, r.i16())
		for i := range oids {
			oids[i] = uint32(r.i32())
		}
		s, err := p.b.e.Prepare(p.b.sess, sql, oids)
		if err != nil {
			p.fail(err)
			return false
		}
		if p.metadata {
			tier, key := "null", []string{}
			if s.Tier() != "" {
				tier = `"` + s.Tier() + `"`
			}
			for _, k := range s.Key() {
				key = append(key, fmt.Sprintf("[%d,%d]", k.Index, k.OID))
			}
			p.say(`N {"type":"PreparedStatementMetadata","query":"%s","tier":%s,"dk_meta":[%s]}`, sql, tier, strings.Join(key, ","))
		}
		p.stmts[name] = s
	case "B":
		portal, name := r.str(), r.str()
		s := p.stmts[name]
		formats := make([]int16, r.i16())
		for i := range formats {
			formats[i] = int16(r.i16())
		}
		raw := make([][]byte, r.i16())
		for i := range raw {
			raw[i] = r.bytes()
		}
		if len(raw) != len(s.Params()) {
			p.say(`E 08P01 protocol violation: bind message supplies %d parameters, but prepared statement "%s" requires %d`, len(raw), name, len(s.Params()))
			return false
		}
		if p.checked {
			if err := s.Missing(); err != nil {
				p.fail(err)
				return false
			}
			if s.Stale() {
				p.say("E 42999 prepared statement %s has been invalidated", name)
				return false
			}
		}
		args, err := s.Bind(formats, raw)
		if err != nil {
			p.fail(err)
			return false
		}
		out := make([]int16, r.i16())
		for i := range out {
			out[i] = int16(r.i16())
		}
		p.portals[portal] = &playedPortal{s, args, out}
	case "D":
		var s *Stmt
		if f.Body[0] == 'S' {
			s = p.stmts[string(f.Body[1:len(f.Body)-1])]
			parts := make([]string, len(s.Params()))
			for i, o := range s.Params() {
				parts[i] = fmt.Sprint(o)
			}
			p.say("t %s", strings.Join(parts, ", "))
		} else {
			s = p.portals[string(f.Body[1:len(f.Body)-1])].stmt
		}
		if s.Returns() {
			p.say("T %s", columnsLine(s.Columns()))
		} else {
			p.say("n")
		}
	case "E":
		return p.execute(p.portals[r.str()], false)
	case "C":
		delete(p.stmts, string(f.Body[1:len(f.Body)-1]))
	}
	return true
}

// notOurs are steps whose answer depends on the wire or on forwarding.
var notOurs = regexp.MustCompile(`cannot satisfy "forward|Couldn't find|already exists$|Can't execute portal|prepared statement nope does not exist|tree top is None|PortalSuspended`)

var (
	uuidText  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	pkeyText  = regexp.MustCompile(`\d+_pkey`)
	timeText  = regexp.MustCompile(`202\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d+`)
	vshard    = regexp.MustCompile(`\|\d+\|\d+\|t\|3000\|`)
	expected  = regexp.MustCompile(`(?s)= expected.*|= unknown.*`)
	addresses = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// normal takes out of lines what differs from run to run. Rows are sorted, for a query without ORDER BY has no order.
func normal(lines []string, unordered bool) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		l = pkeyText.ReplaceAllString(uuidText.ReplaceAllString(l, "UUID"), "N_pkey")
		l = timeText.ReplaceAllString(l, "TIME")
		l = addresses.ReplaceAllString(vshard.ReplaceAllString(l, "|V|V|t|3000|"), "ADDRESS")
		out[i] = expected.ReplaceAllString(l, "EXPECTED")
	}
	if !unordered {
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

func text(frames []recFrame) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "%s %q; ", f.Type, f.Body)
	}
	return b.String()
}

func TestReplay(t *testing.T) {
	for _, version := range []string{"25.6", "26.2"} {
		t.Run(version, func(t *testing.T) { replay(t, version, func(s string) string { return s }) })
		t.Run(version+"-renamed", func(t *testing.T) { replay(t, version, rename) })
	}
}

// renames change names and texts of the recordings, so that an answer can't come from a table of answers; the lengths stay, because
// errors give places.
var renames = [][2]string{
	{"dlg_types", "zzq_kinds"}, {"dlg_inv", "zzq_old"}, {"dlg_serial", "zzq_number"}, {"dlg_", "zzq_"}, {"'one'", "'ein'"}, {"'two'", "'dos'"},
	{"|one|", "|ein|"}, {"|two|", "|dos|"}, {"one\\\"", "ein\\\""}, {`"one"`, `"ein"`}, {"'rep'", "'neu'"}, {"|rep|", "|neu|"}, {`"rep`, `"neu`},
	{"'dup'", "'bis'"}, {`"dup`, `"bis`}, {"fifty", "vijft"}, {"nope", "nada"},
}

func rename(s string) string {
	for _, r := range renames {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}

// renamed rewrites the texts inside a frame, which for Bind change their lengths.
func renamed(f recFrame, to func(string) string) recFrame {
	switch f.Type {
	case "Q":
		return recFrame{f.Type, []byte(to(string(f.Body[:len(f.Body)-1])) + "\x00")}
	case "P":
		r := &reader{f.Body}
		name, sql := r.str(), r.str()
		return recFrame{f.Type, append([]byte(name+"\x00"+to(sql)+"\x00"), r.b...)}
	case "B":
		r := &reader{f.Body}
		b := []byte(r.str() + "\x00" + r.str() + "\x00")
		n := r.i16()
		b = binary.BigEndian.AppendUint16(b, uint16(n))
		for range n {
			b = binary.BigEndian.AppendUint16(b, uint16(r.i16()))
		}
		n = r.i16()
		b = binary.BigEndian.AppendUint16(b, uint16(n))
		for range n {
			raw := r.bytes()
			if raw == nil {
				b = append(b, 255, 255, 255, 255)
				continue
			}
			raw = []byte(to(string(raw)))
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(raw))), raw...)
		}
		return recFrame{f.Type, append(b, r.b...)}
	}
	return f
}

func replay(t *testing.T, version string, to func(string) string) {
	rec := loadRecording(t, version)
	b := newBench(t, version)
	if version == "25.6" { // there i4 led when it was recorded
		r := &b.live.sys.Replicasets[1]
		r.CurrentMaster, r.TargetMaster = "i4", "i4"
	}
	for _, sql := range rec.Setup.Statements {
		if got := b.run(to(sql)); strings.HasPrefix(got, "!") {
			t.Fatalf("%s: %s", sql, got)
		}
	}
	compared := 0
	for _, d := range rec.Dialogues {
		sess := b.sess
		sess.User, sess.Instance = d.User, d.Instance
		admin := b.sess
		for _, o := range strings.Split(d.Params["options"], ",") {
			switch k, v, _ := strings.Cut(o, "="); k {
			case "read_preference":
				sess.ReadPreference = v
			case "forward":
				sess.Forward = v
			}
		}
		p := &player{b: b, stmts: map[string]*Stmt{}, portals: map[string]*playedPortal{},
			metadata: strings.Contains(d.Params["options"], "pico_query_metadata=true") || d.Params["pico_query_metadata"] == "true",
			checked:  d.Params["pico_stmt_invalidation"] == "true"}
		for i, step := range d.Steps {
			if side, ok := d.Side[fmt.Sprint(i)]; ok {
				b.sess = admin
				if got := b.run(to(side.Statement)); strings.HasPrefix(got, "!") {
					t.Fatalf("%s: %s", side.Statement, got)
				}
			}
			if len(step.Send) == 0 || step.Send[0].Type == "startup" || step.Send[0].Type == "p" {
				continue
			}
			want := expectation(step.Recv)
			if notOurs.MatchString(strings.Join(want, "\n")) || d.Name == "ext: portal with row limit" {
				continue
			}
			for j := range want {
				want[j] = to(want[j])
			}
			b.sess, p.out = sess, nil
			for _, f := range step.Send {
				if !p.frame(renamed(f, to)) {
					break
				}
			}
			ordered := strings.Contains(strings.ToLower(text(step.Send)), "order by") || strings.Contains(text(step.Send), "explain")
			got, wish := normal(p.out, !ordered), normal(want, !ordered)
			if !slices.Equal(got, wish) {
				t.Errorf("%s, step %d: %s\n got %s\nwant %s", d.Name, i, to(text(step.Send)), strings.Join(got, "\n     "), strings.Join(wish, "\n     "))
			}
			compared++
		}
		b.sess = admin
	}
	if compared < 100 {
		t.Errorf("only %d steps were compared", compared)
	}
}
