package watch

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// replay answers with the rows that a real server sent, by the text of the query.
type replay map[string]*Result

func (r replay) Query(_ context.Context, sql string) (*Result, error) {
	if res, ok := r[sql]; ok {
		return res, nil
	}
	return nil, errors.New("not in the recording: " + sql)
}

// recorded reads the simple queries of a recorded dialogue.
func recorded(t *testing.T, file, dialogue string) replay {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "live", file))
	if err != nil {
		t.Fatal(err)
	}
	type frame struct{ Type, Body string }
	var all struct {
		Dialogues []struct {
			Name  string
			Steps []struct{ Send, Recv []frame }
		}
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	found := replay{}
	for _, d := range all.Dialogues {
		if d.Name != dialogue {
			continue
		}
		for _, step := range d.Steps {
			if len(step.Send) != 1 || step.Send[0].Type != "Q" {
				continue
			}
			text, _ := base64.StdEncoding.DecodeString(step.Send[0].Body)
			res := &Result{}
			for _, f := range step.Recv {
				body, _ := base64.StdEncoding.DecodeString(f.Body)
				switch f.Type {
				case "T":
					res.Columns = rowDescription(body)
				case "D":
					res.Rows = append(res.Rows, dataRow(body))
				}
			}
			if res.Columns != nil {
				found[strings.TrimSuffix(string(text), "\x00")] = res
			}
		}
	}
	return found
}

func rowDescription(body []byte) (names []string) {
	n := binary.BigEndian.Uint16(body)
	body = body[2:]
	for range n {
		end := slices.Index(body, 0)
		names = append(names, string(body[:end]))
		body = body[end+1+18:]
	}
	return names
}

func dataRow(body []byte) (row []any) {
	n := binary.BigEndian.Uint16(body)
	body = body[2:]
	for range n {
		size := int32(binary.BigEndian.Uint32(body))
		body = body[4:]
		if size < 0 {
			row = append(row, nil)
			continue
		}
		row = append(row, slices.Clone(body[:size]))
		body = body[size:]
	}
	return row
}

// What real servers of two versions said becomes the topology that they had.
func TestSourceOnRecordedRows(t *testing.T) {
	for _, file := range []string{"dialogues-25.6.json", "dialogues-26.2.json"} {
		t.Run(file, func(t *testing.T) {
			r := recorded(t, file, "topology queries")
			answers := replay{}
			for text, res := range r {
				switch {
				case strings.Contains(text, "FROM _pico_instance i JOIN"):
					answers[queryInstances] = res
				case strings.HasPrefix(text, "SELECT uuid,name,tier,current_master_name"):
					answers[queryReplicasets] = res
				case text == "SELECT * FROM _pico_tier":
					answers[queryTiers] = res
				default:
					answers[strings.Replace(text, "select ", "SELECT ", 1)] = res
				}
			}
			s := NewSQL(SQLConfig{Config: &options.Config{}})
			topo, err := readAll(s, context.Background(), answers, Target{Address: "127.0.0.1:24301"})
			if err != nil {
				t.Fatal(err)
			}
			if len(topo.Instances) != 5 || len(topo.Replicasets) != 3 || len(topo.Tiers) != 2 || topo.Skipped != 0 {
				t.Fatalf("%+v", topo)
			}
			leaders := 0
			for _, name := range []string{"i1", "i2", "i3", "i4", "i5"} {
				in, ok := topo.ByName(name)
				if !ok || in.State != metadata.Online || in.Role == metadata.RoleUnknown || in.Address == "" {
					t.Errorf("%+v", in)
				}
				if in.Role == metadata.RoleLeader {
					leaders++
				}
			}
			if leaders != 3 {
				t.Errorf("%d leaders of 3 replicasets", leaders)
			}
			for _, tier := range []string{"default", "cold"} {
				answer, err := s.Buckets(context.Background(), answers, tier, 0)
				if err != nil {
					t.Fatal(err)
				}
				m := (*metadata.BucketMap)(nil).With(tier, 3000, answer.Ranges)
				for _, b := range []uint64{1, 1500, 1501, 3000} {
					rs, ok := m.Lookup(tier, b)
					if !ok {
						t.Fatalf("bucket %d of %s has no owner", b, tier)
					}
					if l, ok := topo.Leader(rs); !ok || l.Tier != tier {
						t.Errorf("bucket %d of %s: leader %+v", b, tier, l)
					}
				}
				if info := m.Tiers()[0]; info.Missing != 0 || info.Overlapped != 0 || info.Count != 3000 {
					t.Errorf("%+v", info)
				}
			}
			if uuid, err := s.Identity(context.Background(), answers); err != nil {
				t.Error(err)
			} else if in, ok := topo.Instance(uuid); !ok || in.Name != "i1" {
				t.Errorf("the server says that it is %s", uuid)
			}
		})
	}
}

// Whatever a row holds, it is read or left out, and the rest stands.
func FuzzInstanceRow(f *testing.F) {
	f.Add("uuid", "i2", int64(2), "rs", `["Online",1]`, `["Online",1]`, `{"DC":"1"}`, "10.0.0.2:4327", "pgproto")
	f.Add("", "i2", int64(-1), "rs", `{"Online":1}`, ``, `[]`, "::1:4327", "http")
	f.Add("good", "i1", int64(1), "rs", `["Expelled",1]`, `null`, `null`, "0.0.0.0:0", "pgproto")
	f.Fuzz(func(t *testing.T, uuid, name string, raftID int64, rs, state, target, domain, address, kind string) {
		columns := []string{"uuid", "name", "raft_id", "replicaset_uuid", "current_state", "target_state", "failure_domain", "address", "connection_type"}
		answers := replay{
			queryInstances: {Columns: columns, Rows: [][]any{
				{"good", "i1", int64(1), "rs", `["Online",1]`, `["Online",1]`, "{}", "10.0.0.1:4327", "pgproto"},
				{uuid, name, raftID, rs, []byte(state), target, []byte(domain), address, kind}}},
			queryReplicasets: {Columns: []string{"uuid", "current_master_name", "target_master_name"}, Rows: [][]any{{rs, name, name}}},
			queryTiers:       {Columns: []string{"name", "bucket_count"}},
		}
		topo, err := readAll(NewSQL(SQLConfig{}), context.Background(), answers, Target{Address: "10.0.0.1:4327"})
		if err != nil {
			t.Fatal(err)
		}
		if in, ok := topo.Instance("good"); !ok || in.Name != "i1" || in.Address != "10.0.0.1:4327" {
			t.Fatalf("%+v", in)
		}
		for _, in := range topo.Instances {
			if in.UUID == "" || in.State == "" {
				t.Fatalf("%+v", in)
			}
		}
		cfg := &options.Config{Topology: true}
		for _, v := range metadata.Select(cfg, topo) {
			if v.Excluded == metadata.Included {
				if _, err := options.ParseAddress(v.Address); err != nil {
					t.Fatalf("%+v is to be dialled: %v", v, err)
				}
			}
		}
		if len(metadata.Diff(topo, topo)) > 0 {
			t.Fatal("a snapshot differs from itself")
		}
	})
}
