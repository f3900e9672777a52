package grammar

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// live is where the recordings of real servers lie.
const live = "../../../testdata/live"

// recorded is a statement that a real server was given, and the parse error it
// answered with ("" if it could read it).
type recorded struct {
	version Version
	source  string
	sql     string
	err     string
}

// recordings reads every statement from all recordings.
func recordings(t testing.TB) []recorded {
	t.Helper()
	var all []recorded
	for file, v := range map[string]Version{"dialogues-25.6.json": V256, "dialogues-26.2.json": V262} {
		all = append(all, dialogues(t, file, v)...)
	}
	texts, err := filepath.Glob(filepath.Join(live, "*.txt"))
	if err != nil || len(texts) == 0 {
		t.Fatalf("no recordings in %s: %v", live, err)
	}
	for _, file := range texts {
		all = append(all, transcript(t, file)...)
	}
	return all
}

// dialogues reads the statements of a file of whole dialogues. Which statement of
// a pipeline an error belongs to is told by the excerpt in the error.
func dialogues(t testing.TB, file string, v Version) []recorded {
	t.Helper()
	type frame struct {
		Type string
		Body []byte
	}
	var doc struct {
		Setup     struct{ Statements []string }
		Dialogues []struct {
			Name  string
			Steps []struct{ Send, Recv []frame }
		}
	}
	data, err := os.ReadFile(filepath.Join(live, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var all []recorded
	for _, s := range doc.Setup.Statements {
		all = append(all, recorded{version: v, source: file + " setup", sql: s})
	}
	for _, d := range doc.Dialogues {
		for _, step := range d.Steps {
			var errs []string
			for _, f := range step.Recv {
				if f.Type == "E" {
					if m := errorMessage(f.Body); strings.Contains(m, "rule parsing error") {
						errs = append(errs, m)
					}
				}
			}
			for _, f := range step.Send {
				sql := ""
				switch f.Type {
				case "Q":
					sql = string(f.Body[:len(f.Body)-1])
				case "P":
					sql = strings.SplitN(string(f.Body), "\x00", 3)[1]
				default:
					continue
				}
				r := recorded{version: v, source: file + " " + d.Name, sql: sql}
				if len(errs) > 0 && strings.Contains(errs[0], "\n1 | "+sql+"\n") {
					r.err, errs = errs[0], errs[1:]
				}
				all = append(all, r)
			}
			if len(errs) > 0 {
				t.Fatalf("%s, %s: no statement for the error %q", file, d.Name, errs[0])
			}
		}
	}
	return all
}

// errorMessage takes M out of the body of an ErrorResponse.
func errorMessage(body []byte) string {
	for _, field := range strings.Split(string(body), "\x00") {
		if strings.HasPrefix(field, "M") {
			return field[1:]
		}
	}
	return ""
}

var (
	simpleHead   = regexp.MustCompile(`^Q> (.*)$`)
	extendedHead = regexp.MustCompile(`^(?:## (?:Parse\+Describe: )?)(.*?) (?:params=\(.*\) )?oids=\(.*$`)
	excerpt      = regexp.MustCompile(`\n1 \| (.*)\n`)
	parseError   = regexp.MustCompile(`'M': ["'](sbroad: rule parsing error: .*)["']\}$`)
)

// transcript reads the statements of a readable transcript, all of them of 25.6.
func transcript(t testing.TB, file string) []recorded {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	for _, line := range strings.Split(string(data), "\n") {
		m := simpleHead.FindStringSubmatch(line)
		if m == nil {
			m = extendedHead.FindStringSubmatch(line)
		}
		if m != nil {
			all = append(all, recorded{version: V256, source: filepath.Base(file), sql: m[1]})
			continue
		}
		// A parameter type that isn't supported is refused before the text is read.
		if strings.Contains(line, "feature is not supported") && len(all) > 0 {
			all = all[:len(all)-1]
			continue
		}
		m = parseError.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		message := strings.NewReplacer(`\n`, "\n", `\'`, "'").Replace(m[1])
		sql := excerpt.FindStringSubmatch(message)[1]
		if len(all) > 0 && all[len(all)-1].sql == sql {
			all[len(all)-1].err = message
		} else {
			all = append(all, recorded{version: V256, source: filepath.Base(file), sql: sql, err: message})
		}
	}
	return all
}
