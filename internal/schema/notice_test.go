package schema

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseNotice(t *testing.T) {
	sql, meta, err := ParseNotice(`{"type":"PreparedStatementMetadata","query":"insert into dlg_k2 values ($1,$2,$3)","tier":"default","dk_meta":[[2,25],[1,20]]}`)
	if err != nil || sql != "insert into dlg_k2 values ($1,$2,$3)" || meta.Tier != "default" || !meta.Routable ||
		!slices.Equal(meta.Params, []KeyParam{{1, 25}, {0, 20}}) {
		t.Errorf("%q %+v %v", sql, meta, err)
	}
	for _, known := range []string{
		`{"type":"PreparedStatementMetadata","query":"select 1","tier":null,"dk_meta":[]}`,
		`{"type":"PreparedStatementMetadata","query":"select 1","tier":"default","dk_meta":[]}`,
		`{"type":"PreparedStatementMetadata","query":"select 1","tier":null,"dk_meta":[[1,20]]}`,
		`{"type":"PreparedStatementMetadata","query":"select 1"}`,
		`{"dk_meta":null,"new":{"a":1},"query":"select 1","type":"PreparedStatementMetadata","tier":""}`,
	} {
		if sql, meta, err := ParseNotice(known); err != nil || sql != "select 1" || meta.Routable {
			t.Errorf("%s: %q %+v %v", known, sql, meta, err)
		}
	}
	for _, other := range []string{"", "hello", "[]", `{"type":"TopologyChanged"}`, `{"query":"x"}`, `{"type":1}`, "{", strings.Repeat(" ", maxNotice+1)} {
		if _, _, err := ParseNotice(other); !errors.Is(err, ErrOtherNotice) {
			t.Errorf("%.40q: %v", other, err)
		}
	}
	for _, bad := range []string{
		`{"type":"PreparedStatementMetadata","tier":"default","dk_meta":[[1,20]]}`,
		`{"type":"PreparedStatementMetadata","query":"","tier":"default","dk_meta":[[1,20]]}`,
		`{"type":"PreparedStatementMetadata","query":"x","tier":"default","dk_meta":[[0,20]]}`,
		`{"type":"PreparedStatementMetadata","query":"x","tier":"default","dk_meta":[[1]]}`,
		`{"type":"PreparedStatementMetadata","query":"x","tier":"default","dk_meta":[[1,20,3]]}`,
		`{"type":"PreparedStatementMetadata","query":"x","tier":"default","dk_meta":[[65536,20]]}`,
		`{"type":"PreparedStatementMetadata","query":"x","tier":"default","dk_meta":[[1,4294967296]]}`,
		`{"type":"PreparedStatementMetadata","query":"x","tier":"default","dk_meta":[[1,-20]]}`,
		`{"type":"PreparedStatementMetadata","query":"x","tier":"default","dk_meta":[["1",20]]}`,
		`{"type":"PreparedStatementMetadata","query":"x","tier":7,"dk_meta":[[1,20]]}`,
	} {
		if sql, meta, err := ParseNotice(bad); err == nil || errors.Is(err, ErrOtherNotice) || sql != "" || meta.Routable {
			t.Errorf("%s: %q %+v %v", bad, sql, meta, err)
		}
	}
}

// recordedNotices are the notices on keys that real servers sent.
func recordedNotices(t testing.TB) (messages []string) {
	for _, file := range []string{"dialogues-25.6.json", "dialogues-26.2.json"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "live", file))
		if err != nil {
			t.Fatal(err)
		}
		var all struct {
			Dialogues []struct {
				Steps []struct {
					Recv []struct {
						Type   string
						Fields map[string]string
					}
				}
			}
		}
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Fatal(err)
		}
		for _, d := range all.Dialogues {
			for _, s := range d.Steps {
				for _, f := range s.Recv {
					if f.Type == "N" && strings.Contains(f.Fields["M"], "PreparedStatementMetadata") {
						messages = append(messages, f.Fields["M"])
					}
				}
			}
		}
	}
	return messages
}

func TestParseRecordedNotices(t *testing.T) {
	messages := recordedNotices(t)
	routable := 0
	for _, m := range messages {
		sql, meta, err := ParseNotice(m)
		if err != nil || sql == "" {
			t.Errorf("%s: %v", m, err)
		}
		if meta.Routable {
			routable++
			if !strings.HasPrefix(strings.ToLower(sql), "insert") {
				t.Errorf("%s is routable", sql)
			}
		}
	}
	if len(messages) < 20 || routable < 8 {
		t.Errorf("%d notices, %d routable: the recording isn't read", len(messages), routable)
	}
}

func FuzzParseNotice(f *testing.F) {
	for _, m := range recordedNotices(f) {
		f.Add(m)
	}
	f.Add(`{"type":"PreparedStatementMetadata","query":"x","tier":"t","dk_meta":[[1,20],[70000,1]]}`)
	f.Fuzz(func(t *testing.T, message string) {
		sql, meta, err := ParseNotice(message)
		if err != nil {
			if sql != "" || meta.Tier != "" || meta.Params != nil || meta.Routable {
				t.Fatalf("%q teaches %q %+v in spite of %v", message, sql, meta, err)
			}
			return
		}
		if sql == "" || meta.Routable && (meta.Tier == "" || len(meta.Params) == 0) {
			t.Fatalf("%q: %q %+v", message, sql, meta)
		}
		for _, p := range meta.Params {
			if p.Index < 0 || p.Index >= maxParams || p.OID == 0 {
				t.Fatalf("%q: %+v", message, p)
			}
		}
	})
}
