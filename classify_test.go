package picodata

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lib/pq"
)

// serverError is one ErrorResponse of a recording.
type serverError struct{ code, message, where string }

// recordedErrors are all errors of both recordings: those of the dialogues, frame by frame, and those that the
// timelines print.
func recordedErrors(t testing.TB) []serverError {
	t.Helper()
	var all []serverError
	for _, version := range []string{"25.6", "26.2"} {
		raw, err := os.ReadFile(filepath.Join("testdata", "live", "dialogues-"+version+".json"))
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
	printed := regexp.MustCompile(`'C': '(\w{5})', 'M': (?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")`)
	files, err := filepath.Glob(filepath.Join("testdata", "live", "*.txt"))
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

// decisions say what each recorded text means. The list is the test's own: it doesn't look into the
// driver's table, and every recorded error must be named by exactly the first line that fits.
var decisions = []struct {
	code, text string // regular expression on the whole message
	kind       Kind
}{
	{"28P01", `authentication failed for user '.*'.*`, KindLogin},
	{"28000", `.*requires the client to use ssl.*`, KindLogin},
	{"42999", `prepared statement .* has been invalidated`, KindStale},
	{"42P05", `Statement '.*' for client \d+ already exists`, KindLostStatement},
	{"42P03", `.*`, KindLostStatement},
	{"0A000", `feature is not supported: .*`, KindUnsupported},
	{"08P01", `protocol violation: (bind message supplies .*|got \d+ format codes for \d+ items)`, KindParameters},
	{"58030", `IO error: Invalid message recevied, .*`, KindOther},
	{"22P02", `failed to bind parameter .*`, KindParameters},
	{"22P03", `failed to bind parameter .*`, KindParameters},
	{"XX000", `.*TupleFound: Duplicate key exists.*`, KindUniqueViolation},
	{"XX000", `.*transaction rolled-back: Duplicate key exists in unique index.*`, KindUniqueViolation},
	{"XX000", `.*AccessDenied: .*`, KindPermission},
	{"XX000", `.*cannot satisfy "forward = (off|ro_to_rw)".*`, KindForward},
	{"XX000", `.*Exceeded maximum number of rows.*`, KindLimit},
	{"XX000", `.*Reached a limit on max executed vdbe opcodes.*`, KindLimit},
	{"XX000", `.*storage schema version different from router.*`, KindSchema},
	{"XX000", `Couldn't find (statement|portal) '.*'\.`, KindLostStatement},
	{"XX000", `.*Readonly: Can't modify data on a read-only instance.*`, KindSwitchover},
	{"XX000", `.*Failed to use a storage reference: .*`, KindRoute},
	{"XX000", `.*attempt to concatenate local 'err_uuid' \(a nil value\)`, KindTimeout},
	{"XX000", `.*Object is outdated after module reload.*`, KindRoute},
	{"XX000", `.*no router found for tier .*`, KindRoute},
	{"XX000", `sbroad: rule parsing error:.*`, KindQuery},
	{"XX000", `.*FieldType: Tuple field .*`, KindQuery},
	{"XX000", `.*not found.*`, KindQuery},
	{"XX000", `.*(does not exist\.?|doesn't exist|already exists)`, KindQuery},
	{"XX000", `.*NoSuchSpace: no such space.*`, KindQuery},
	{"XX000", `sbroad: failed to parse '.*' as a value of type .*`, KindQuery},
	{"XX000", `sbroad: could not resolve operator overload .*`, KindQuery},
	{"XX000", `sbroad: invalid (OptionSpec|option|plan).*`, KindQuery},
	{"XX000", `sbroad: LET and RETURN QUERY statements must precede all DML statements`, KindQuery},
	{"XX000", `sbroad: statement 1 \(DML\) and statement 2 \(DML\): different buckets: .*`, KindQuery},
	{"XX000", `Can't execute portal in state Done`, KindQuery},
	{"XX000", `password is too short: expected at least 8, got 3`, KindOther},
	{"XX000", `sbroad: (invalid (query|expression|column): .*|SQL function .* not implemented|Failed to execute SQL statement: .*|Type mismatch: .*)`, KindQuery},
	{"XX000", `.*out of range integral type conversion attempted`, KindQuery},
	{"XX000", `unknown parameter: '.*'`, KindQuery},
	{"XX000", `sbroad: (unexpected expression of type any, .*|unsupported type: .*)`, KindQuery},
	{"XX000", `invalid value for '.*`, KindQuery},
}

func TestEveryRecordedErrorHasADecision(t *testing.T) {
	recorded := recordedErrors(t)
	if len(recorded) < 200 {
		t.Fatalf("%d errors found in the recordings: the reader is broken", len(recorded))
	}
	used := make([]bool, len(decisions))
next:
	for _, e := range recorded {
		got := classify(e.code, e.message)
		for i, d := range decisions {
			if d.code == e.code && regexp.MustCompile(`(?s)^`+d.text+`$`).MatchString(e.message) {
				used[i] = true
				if got != d.kind {
					t.Errorf("%s: %s %q: %v, want %v", e.where, e.code, e.message, got, d.kind)
				}
				continue next
			}
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
		{"sbroad: retry is required: DML was sent to the replica during master switchover", KindSwitchover},
		{"instance is read-only: the master is changing", KindSwitchover},
		{"box.cfg.read_only is true", KindSwitchover},
		{"Failed to add a storage reference", KindSwitchover},
		{"Error on replicaset 27d39d2f-596a-41ba-b726-46f1afe30125: Replica x is not a master for replicaset y anymore", KindSwitchover},
		{"Can not add a storage ref: already exists", KindSwitchover},
		{"not a leader, actual leader: 3", KindSwitchover},
		{"leader is unknown yet", KindSwitchover},
		{"operation request from different term 3, current term is 4", KindSwitchover},
		{"Master of replicaset x is unreachable", KindRoute},
		{"Master is not configured for replicaset x", KindRoute},
		{"There is no active replicas in replicaset x", KindRoute},
		{"Bucket 7 cannot be found. Is rebalancing in progress?", KindRoute},
		{"Replicaset x is in backoff", KindRoute},
		{"Timeout exceeded", KindTimeout},
		{"dql timeout exceeded", KindTimeout},
		{"request timed out", KindTimeout},
		{"Error on replicaset 27d39d2f-596a-41ba-b726-46f1afe30125: Peer closed", KindTimeout},
		{"Connection is not established, state is \"error\"", KindTimeout},
		{"connect, called on fd 31, aka 127.0.0.1:40000: Connection refused", KindTimeout},
		{`Statement storage is full. Current size limit: 2. Please, increase storage limit using: ALTER SYSTEM SET "pg_statement_max" TO <new-limit>`, KindCapacity},
		{"Query cannot use tables from different tiers", KindQuery},
		{"invalid parameters usage. Got $n and ? parameters in one query!", KindQuery},
	} {
		wrapped := fmt.Sprintf(`sbroad: box error: ProcLua: {"code":32,"message":%q,"trace":[]}`, d.message)
		for _, m := range []string{d.message, wrapped} {
			if got := classify("XX000", m); got != d.kind {
				t.Errorf("%q: %v, want %v", m, got, d.kind)
			}
		}
	}
	for code, kind := range map[string]Kind{"53300": KindCapacity, "25006": KindSwitchover, "28000": KindLogin, "42601": KindQuery, "99999": KindOther} {
		if got := classify(code, "x"); got != kind {
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
		got := unwrapMessage(c.in)
		if got.text != c.text || got.replicaset != c.replicaset {
			t.Errorf("%q:\n got %q, %q\nwant %q, %q", c.in, got.text, got.replicaset, c.text, c.replicaset)
		}
	}
}

func TestErrorLeadsToTheServersWords(t *testing.T) {
	p := &pq.Error{Code: "XX000", Message: `sbroad: box error: ProcLua: {"message":"Error on replicaset 27d39d2f-596a-41ba-b726-46f1afe30125: Failed to execute '.proc_sql_execute': sbroad: TupleFound: Duplicate key exists in unique index \"i\""}`}
	var err error = fmt.Errorf("wrapped: %w", newError(p, Node{Name: "i1", Address: "h:1"}))
	var got *pq.Error
	if !errors.As(err, &got) || got != p {
		t.Error("the *pq.Error isn't found")
	}
	if !IsUniqueViolation(err) || IsRetryable(err) || IsPermission(err) || IsLimit(err) || IsOutcomeUnknown(err) {
		t.Error("the predicates are wrong")
	}
	if !IsUniqueViolation(p) {
		t.Error("a bare *pq.Error isn't understood")
	}
	want := `wrapped: picodata: TupleFound: Duplicate key exists in unique index "i" (unique violation, SQLSTATE XX000, node i1@h:1, replicaset 27d39d2f-596a-41ba-b726-46f1afe30125)`
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

func FuzzUnwrapMessage(f *testing.F) {
	for _, e := range recordedErrors(f) {
		f.Add(e.message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		m := unwrapMessage(message)
		if message != "" && m.text == "" {
			t.Errorf("%q: nothing is left", message)
		}
		classify("XX000", message)
	})
}
