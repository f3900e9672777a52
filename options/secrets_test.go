package options

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// leaks tells whether text holds three bytes in a row of a secret. The secrets of these tests are made
// of letters that no text of the package has in a row.
func leaks(text, secret string) bool {
	for i := 0; i+3 <= len(secret); i++ {
		if strings.Contains(text, secret[i:i+3]) {
			return true
		}
	}
	return false
}

func TestNoFormatShowsASecret(t *testing.T) {
	const pw, key, mirror = "QXZJQW", "VKQZXV", "WJXQKZ"
	c, err := ParseDSN("picodata://u:" + pw + "@h/?sslcert=c&sslkey=k&sslpassword=" + key + "&mirror=picodata%3A%2F%2Fm%3A" + mirror + "%40x")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "cfg", c, "copy", *c)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "cfg", c, "copy", *c)
	texts := []string{c.String(), c.GoString(), c.RedactedDSN(), log.String()}
	// Not %p of a copy: fmt asks no method for it.
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%t", "%10v", "%!"} {
		texts = append(texts, fmt.Sprintf(verb, c), fmt.Sprintf(verb, *c))
		texts = append(texts, fmt.Sprintf(verb, struct{ C *Config }{c}), fmt.Sprintf(verb, struct{ C Config }{*c}), fmt.Sprintf(verb, []Config{*c}))
	}
	for _, v := range []any{c, *c, map[string]Config{"c": *c}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Errorf("json: %v", err)
		}
		texts = append(texts, string(b))
	}
	for _, text := range texts {
		for _, secret := range []string{pw, key, mirror} {
			if leaks(text, secret) {
				t.Errorf("%q shows %s", text, secret)
			}
		}
	}
	if !strings.Contains(c.String(), "u:***@h") || !strings.Contains(c.String(), "m:***%40x") {
		t.Errorf("%s doesn't show what may be seen", c)
	}
}

// TestNoErrorShowsAPassword puts a password of awkward bytes, encoded and not, into every slot and breaks the
// DSN in many ways.
func TestNoErrorShowsAPassword(t *testing.T) {
	awkward := []string{"", "@", ":", "/", "?", "#", "%", "%4", "&", "=", " ", "'", `\`, "+", "[", "]", ",", "@h:1/?user=", "?user=", "/x?max_conns=", "?max_conns=1&", "12/", ":12?", "?x=", "&x", ";", "\n", " max_conns=", "&max_conns=", "' max_conns='"}
	shapes := []string{
		"picodata://u:%s@h:4327/",
		"picodata://u:%s@h:4327/db?max_conns=5",
		"picodata://u:%s@h:4327/db?max_con=5",
		"picodata://u:%s@h:4327/db?max_conns=x",
		"picodata://u:%s@h:x/",
		"picodata://u:%s@[::1/",
		"picodata://%s@h/",
		"picodata://%s/",
		"picodata://u@h/?password=%s",
		"picodata://u@h/?password=%s&max_con=1",
		"picodata://u@h/?password=%s&max_conns=x",
		"picodata://u@h/?sslpassword=%s",
		"picodata://u@h/?sslpassword=%s&sslmode=x",
		"picodata://u@h/?sslcert=c&sslkey=k&sslpassword=%s&sslmode=x",
		"picodata://u@h/?mirror=picodata://u:%s@h&max_conns=x",
		"picodata://u@h/?mirror=picodata://u:%s@h/?max_conns=x",
		"picodata://u@h/?mirror=host=h password=%s max_conns=x",
		"postgres://u:%s@h,h2/d/e?options=x",
		"host=h user=u password=%s",
		"host=h user=u password=%s max_conns=x",
		"host=h user=u password='%s' max_con=x",
		"user=u password='%s",
		"password = %s host=/run",
		"mysql://u:%s@h/",
		"u:%s@tcp(h:4327)/db",
	}
	n := 0
	for _, shape := range shapes {
		for _, a := range awkward {
			for _, b := range awkward {
				// The parts of the password in the gaps of the awkward bytes.
				secret := "QXZJ" + a + "ZQWK" + b + "XJQV"
				dsn := strings.ReplaceAll(shape, "%s", secret)
				c, err := ParseDSN(dsn)
				texts := []string{RedactDSN(dsn)}
				if err != nil {
					n++
					texts = append(texts, err.Error(), fmt.Sprintf("%+v %#v", err, err))
					var e *ConfigError
					if errors.As(err, &e) {
						texts = append(texts, e.Key, e.Value, e.Where, e.Msg)
					}
				} else if strings.Contains(shape, "u:%s@") && c.Password == secret {
					texts = append(texts, c.String(), strings.Join(c.Warnings(), " "))
				}
				for _, text := range texts {
					for _, part := range []string{"QXZJ", "ZQWK", "XJQV"} {
						// A shape without a password slot gives a user or a host, which may be seen if it is one.
						if leaks(text, part) && !strings.HasPrefix(shape, "picodata://%s") {
							t.Fatalf("%q\nshows a part of the password: %s", dsn, text)
						}
					}
				}
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d refusals", n)
	}
}

// TestNoErrorOfAMirrorShowsAPassword cuts the mirror's own DSN short by an & that should have been encoded: what
// stands before it then looks like a key of the mirror.
func TestNoErrorOfAMirrorShowsAPassword(t *testing.T) {
	for _, dsn := range []string{
		"picodata://o@h/?mirror=picodata://u:12?max_conns=QXZJ&application_name=ZQWK@h",
		"picodata://o@h/?mirror=picodata://u:12?QXZJ=1&application_name=ZQWK@h",
	} {
		_, err := ParseDSN(dsn)
		if err == nil {
			t.Errorf("ParseDSN(%q) finds nothing wrong", dsn)
		} else if leaks(err.Error(), "QXZJ") || leaks(err.Error(), "ZQWK") {
			t.Errorf("%q\nshows a part of the password: %v", dsn, err)
		}
	}
}

func TestRedactDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"picodata://u:QXZ@h/?max_conns=5": "picodata://u:***@h:4327/?max_conns=5",
		"picodata://u@h/":                 "picodata://u@h:4327/",
		"host=h user=u password=QXZ":      "picodata://u:***@h:4327/",
		"picodata://u:QXZ@h/?max_con=5":   "picodata://***",
		"postgres://u:Q?XZ@h/":            "postgres://***",
		"host=h password=Q XZ":            "***",
		"QXZ":                             "***",
		"":                                "picodata:///",
		"picodata://u:Q@x?application_name=QXZ@h:4327/": "picodata://***",
	} {
		if got := RedactDSN(dsn); got != want {
			t.Errorf("RedactDSN(%q) = %q, want %q", dsn, got, want)
		}
	}
}

func TestErrorsShowValuesWhereTheyAreHarmless(t *testing.T) {
	for dsn, want := range map[string]string{
		"picodata://u:p@h/?max_conns=many":                                       `max_conns="many"`,
		"host=h max_conns=many password=x":                                       `max_conns="many"`,
		"picodata://u:p@h/?colour=red":                                           "colour: unknown key",
		"picodata://u:p@h/?options=forward=maybe":                                `options="forward=maybe"`,
		"picodata://u:p@h/?application_name=" + strings.Repeat("a", 100) + "%00": "a…",
	} {
		if _, err := ParseDSN(dsn); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseDSN(%q): %v, want it to show %s", dsn, err, want)
		}
	}
}
