package servererr

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// serverError is one ErrorResponse of a recording.
type serverError struct{ code, message, where string }

// recordedErrors are all errors of both recordings: those of the dialogues, frame by frame, and those that the
// timelines print.
func recordedErrors(t testing.TB) []serverError {
	t.Helper()
	var all []serverError
	for _, version := range []string{"25.6", "26.2"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "live", "dialogues-"+version+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Dialogues []struct {
				Name  string
				Steps []struct {
					Recv []struct{ Type, Body string }
				}
			}
		}
		if err := json.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Dialogues {
			for _, s := range d.Steps {
				for _, f := range s.Recv {
					if f.Type != "E" {
						continue
					}
					body, err := base64.StdEncoding.DecodeString(f.Body)
					if err != nil {
						t.Fatal(err)
					}
					e := serverError{where: version + ": " + d.Name}
					for field := range strings.SplitSeq(string(body), "\x00") {
						switch {
						case strings.HasPrefix(field, "C"):
							e.code = field[1:]
						case strings.HasPrefix(field, "M"):
							e.message = field[1:]
						}
					}
					all = append(all, e)
				}
			}
		}
	}
	all = append(all, answeredErrors(t)...)
	printed := regexp.MustCompile(`'C': '(\w{5})', 'M': (?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")`)
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "live", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no timelines", err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range printed.FindAllStringSubmatch(string(raw), -1) {
			if m[1] == "00000" {
				continue // a notice
			}
			text := strings.NewReplacer(`\'`, `'`, `\\`, `\`, `\n`, "\n").Replace(m[2] + m[3])
			all = append(all, serverError{code: m[1], message: text, where: filepath.Base(name)})
		}
	}
	return all
}

// answeredErrors are those of the statements that were sent one after the other.
func answeredErrors(t testing.TB) []serverError {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "live", "answers-26.2.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []serverError
	for d := json.NewDecoder(z); ; {
		var line struct {
			Do     string
			Answer []string
		}
		if err := d.Decode(&line); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		for _, a := range line.Answer {
			rest, ok := strings.CutPrefix(a, "E S=ERROR C=")
			if !ok {
				continue
			}
			code, message, ok := strings.Cut(rest, " M=")
			if !ok {
				t.Fatalf("%q has no message", a)
			}
			all = append(all, serverError{code: code, message: message, where: line.Do})
		}
	}
}

// decisions say what each recorded text means. The list is the test's own: it doesn't look into the
// driver's table, and every recorded error must be named by exactly the first line that fits.
var decisions = []struct {
	code, text string // regular expression on the whole message
	kind       Kind
}{
	{"28P01", `authentication failed for user '.*'.*`, Login},
	{"28000", `.*requires the client to use ssl.*`, Login},
	{"42999", `prepared statement .* has been invalidated`, Stale},
	{"42P05", `Statement '.*' for client \d+ already exists`, LostStatement},
	{"42P03", `.*`, LostStatement},
	{"0A000", `(failed to bind parameter \$\d+: )?feature is not supported: .*`, Unsupported},
	{"08P01", `protocol violation: (bind message supplies .*|got \d+ format codes for \d+ items)`, Parameters},
	{"58030", `IO error: Invalid message recevied, .*`, Other},
	{"22P02", `failed to bind parameter .*`, Parameters},
	{"22P03", `failed to bind parameter .*`, Parameters},
	{"XX000", `sbroad: rule parsing error:.*`, Query}, // quotes the statement
	{"XX000", `.*TupleFound: Duplicate key exists.*`, UniqueViolation},
	{"XX000", `.*transaction rolled-back: Duplicate key exists in unique index.*`, UniqueViolation},
	{"XX000", `.*AccessDenied: .*`, Permission},
	{"XX000", `.*cannot satisfy "forward = (off|ro_to_rw)".*`, Forward},
	{"XX000", `.*Exceeded maximum number of rows.*`, Limit},
	{"XX000", `.*Reached a limit on max executed vdbe opcodes.*`, Limit},
	{"XX000", `.*storage schema version different from router.*`, Schema},
	{"XX000", `Couldn't find (statement|portal) '.*'\.`, LostStatement},
	{"XX000", `.*Readonly: Can't modify data on a read-only instance.*`, Switchover},
	{"XX000", `.*Failed to use a storage reference: .*`, Route},
	{"XX000", `.*attempt to concatenate local 'err_uuid' \(a nil value\)`, Timeout},
	{"XX000", `.*Object is outdated after module reload.*`, Route},
	{"XX000", `.*proc_query_metadata call failed: .*`, Route},
	{"XX000", `Timeout: timeout`, Timeout},
	{"XX000", `.*no router found for tier .*`, Route},
	{"XX000", `.*FieldType: Tuple field .*`, Query},
	{"XX000", `.*not found.*`, Query},
	{"XX000", `.*(does not exist\.?|doesn't exist|already exists)`, Query},
	{"XX000", `.*NoSuchSpace: no such space.*`, Query},
	{"XX000", `sbroad: failed to parse '.*' as a value of type .*`, Query},
	{"XX000", `sbroad: could not resolve operator overload .*`, Query},
	{"XX000", `sbroad: invalid (OptionSpec|option|plan).*`, Query},
	{"XX000", `sbroad: LET and RETURN QUERY statements must precede all DML statements`, Query},
	{"XX000", `sbroad: statement 1 \(DML\) and statement 2 \(DML\): different buckets: .*`, Query},
	{"XX000", `Can't execute portal in state Done`, Query},
	{"XX000", `password is too short: expected at least 8, got 3`, Other},
	{"XX000", `sbroad: (invalid (query|expression|column): .*|SQL function .* not implemented|Failed to execute SQL statement: .*|Type mismatch: .*)`, Query},
	{"XX000", `.*out of range integral type conversion attempted`, Query},
	{"XX000", `unknown parameter: '.*'`, Query},
	{"XX000", `sbroad: (unexpected expression of type any, .*|unsupported type: .*)`, Query},
	{"XX000", `invalid value for '.*`, Query},
}

func TestEveryRecordedErrorHasADecision(t *testing.T) {
	recorded := recordedErrors(t)
	if len(recorded) < 200 {
		t.Fatalf("%d errors found in the recordings: the reader is broken", len(recorded))
	}
	used := make([]bool, len(decisions))
next:
	for _, e := range recorded {
		got := Read(e.code, e.message).Kind
		for i, d := range decisions {
			if d.code == e.code && regexp.MustCompile(`(?s)^`+d.text+`$`).MatchString(e.message) {
				used[i] = true
				if got != d.kind {
					t.Errorf("%s: %s %q: %v, want %v", e.where, e.code, e.message, got, d.kind)
				}
				continue next
			}
		}
		if got == Query || got == Other { // nobody acts on these
			continue
		}
		t.Errorf("%s: nobody has decided on %s %q (the driver says %v)", e.where, e.code, e.message, got)
	}
	for i, d := range decisions {
		if !used[i] {
			t.Logf("not in the recordings: %s %s", d.code, d.text)
		}
	}
}

// documented are the texts of the server's sources that no recording has.
func TestDocumentedErrors(t *testing.T) {
	for _, d := range []struct {
		message string
		kind    Kind
	}{
		{"sbroad: retry is required: DML was sent to the replica during master switchover", Switchover},
		{"instance is read-only: the master is changing", Switchover},
		{"box.cfg.read_only is true", Switchover},
		{"Failed to add a storage reference", Switchover},
		{"Error on replicaset 27d39d2f-596a-41ba-b726-46f1afe30125: Replica x is not a master for replicaset y anymore", Switchover},
		{"Can not add a storage ref: already exists", Switchover},
		{"not a leader, actual leader: 3", Switchover},
		{"leader is unknown yet", Switchover},
		{"operation request from different term 3, current term is 4", Switchover},
		{"Master of replicaset x is unreachable", Route},
		{"Master is not configured for replicaset x", Route},
		{"There is no active replicas in replicaset x", Route},
		{"Bucket 7 cannot be found. Is rebalancing in progress?", Route},
		{"Replicaset x is in backoff", Route},
		{"Timeout exceeded", Timeout},
		{"dql timeout exceeded", Timeout},
		{"request timed out", Timeout},
		{"Error on replicaset 27d39d2f-596a-41ba-b726-46f1afe30125: Peer closed", Timeout},
		{"Connection is not established, state is \"error\"", Timeout},
		{"connect, called on fd 31, aka 127.0.0.1:40000: Connection refused", Timeout},
		{`Statement storage is full. Current size limit: 2. Please, increase storage limit using: ALTER SYSTEM SET "pg_statement_max" TO <new-limit>`, Capacity},
		{"failed to connect to address 127.0.0.1:3301: Connection refused (os error 111)", Unreachable},
		{"failed to connect to address 127.0.0.1:3301: Connection reset by peer (os error 104)", Timeout},
		{"io error: unexpected end of file", Timeout},
		{"io error: Connection reset by peer (os error 104)", Timeout},
		{"Failed to call proc_query_metadata: Peer closed", Route},
		{"vshard/storage/ref.lua:12: attempt to index upvalue 'sched' (a nil value)", Timeout},
		{"TableNotOperable: t cannot be modified now as DDL operation is in progress", TableBusy},
		{"server responded with error: NotALeader: not a leader, actual leader: 3", Switchover},
		{"Query cannot use tables from different tiers", Query},
		{"invalid parameters usage. Got $n and ? parameters in one query!", Query},
	} {
		wrapped := fmt.Sprintf(`sbroad: box error: ProcLua: {"code":32,"message":%q,"trace":[]}`, d.message)
		for _, m := range []string{d.message, wrapped} {
			if got := Read("XX000", m).Kind; got != d.kind {
				t.Errorf("%q: %v, want %v", m, got, d.kind)
			}
		}
	}
	for code, kind := range map[string]Kind{"53300": Capacity, "25006": Switchover, "28000": Login, "42601": Query, "99999": Other} {
		if got := Read(code, "x").Kind; got != kind {
			t.Errorf("%s: %v, want %v", code, got, kind)
		}
	}
}

func TestInnermostMessage(t *testing.T) {
	const rs = "27d39d2f-596a-41ba-b726-46f1afe30125"
	for _, c := range []struct{ in, text, replicaset string }{
		{"plain", "plain", ""},
		{"", "", ""},
		{"sbroad: table with name \"t\" not found", `table with name "t" not found`, ""},
		{
			`sbroad: box error: ProcLua: {"code":32,"base_type":"ClientError","message":"Error on replicaset ` + rs + `: Failed to execute '.proc_sql_execute': sbroad: invalid transaction: transaction rolled-back: failed to insert space: TupleFound: Duplicate key exists in unique index \"1025_pkey\"","trace":[{"file":"x"}]}`,
			`failed to insert space: TupleFound: Duplicate key exists in unique index "1025_pkey"`, rs,
		},
		{`sbroad: box error: ProcLua: {"message": broken`, `{"message": broken`, ""},
		{`{"message":""}`, `{"message":""}`, ""},
		{"Error on replicaset short: x", "Error on replicaset short: x", ""},
		{strings.Repeat("sbroad: ", 100) + "x", strings.Repeat("sbroad: ", 84) + "x", ""},
	} {
		got := Read("XX000", c.in)
		if got.Message != c.text || got.Replicaset != c.replicaset {
			t.Errorf("%q:\n got %q, %q\nwant %q, %q", c.in, got.Message, got.Replicaset, c.text, c.replicaset)
		}
	}
}
