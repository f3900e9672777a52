package picotest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	startupLine = regexp.MustCompile(`^## (.*) params=\{(.*)\}$`)
	pyPair      = regexp.MustCompile(`'([^']*)': '([^']*)'`)
)

// TestStartups logs in with every set of parameters of wire-startup.txt: which of them end in silence is what a client
// has to know before it sends them.
func TestStartups(t *testing.T) {
	text, err := os.ReadFile("../testdata/live/wire-startup.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := recordedCluster(t, "25.6")
	var name string
	var params map[string]string
	var want []string
	tried := 0
	try := func() {
		if params == nil {
			return
		}
		user, password := "admin", "T0psecret"
		switch name {
		case "wrong password":
			password = "wrong"
		case "empty password":
			password = ""
		case "unknown user":
			user = "nosuchuser"
		}
		w, err := openWire(c, "i1", user, password)
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		got, end, err := w.login(startupBody(user, params))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, m := range got {
			switch m.Type {
			case "R":
				lines = append(lines, "R")
			case "E":
				lines = append(lines, answerLines([]message{m})...)
			case "Z":
				lines = append(lines, "Z")
			}
		}
		if end == "closed" {
			lines = append(lines, "!!")
		}
		if name == "unknown user" {
			lines = lines[len(lines)-2:] // the recorder left out the SCRAM exchange, which the dialogues have
		}
		if g, w := strings.Join(lines, "\n"), strings.Join(want, "\n"); g != w {
			t.Errorf("%s %v\n got %s\nwant %s", name, params, g, w)
		}
		tried++
		params = nil
	}
	for l := range strings.Lines(string(text)) {
		l = strings.TrimSuffix(l, "\n")
		if a, ok := strings.CutPrefix(strings.TrimLeft(l, " "), "< "); ok || strings.HasPrefix(l, "  !!") {
			if !ok {
				a = "!!"
			}
			switch {
			case strings.HasPrefix(a, "R "):
				want = append(want, "R")
			case strings.HasPrefix(a, "E "):
				want = append(want, recordedLine(a))
			case strings.HasPrefix(a, "Z "):
				want = append(want, "Z")
			case strings.HasPrefix(a, "!!"):
				want = append(want, "!!")
			}
			continue
		}
		try()
		if m := startupLine.FindStringSubmatch(l); m != nil {
			name, params, want = m[1], map[string]string{}, nil
			for _, p := range pyPair.FindAllStringSubmatch(m[2], -1) {
				params[p[1]] = p[2]
			}
		}
	}
	if tried != 33 {
		t.Errorf("%d logins were tried, the file has 33", tried)
	}
}
