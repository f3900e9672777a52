package engine

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recordedTable is a table of system-tables.txt.
type recordedTable struct {
	columns []string // name:oid
	rows    []string
}

func loadSystemTables(t *testing.T) map[string]*recordedTable {
	t.Helper()
	f, err := os.Open("../../../testdata/live/system-tables.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	head := regexp.MustCompile(`^=== (\w+): SELECT \d+$`)
	column := regexp.MustCompile(`^   column (\w+) +oid=(\d+)`)
	out := map[string]*recordedTable{}
	var cur *recordedTable
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		l := sc.Text()
		if m := head.FindStringSubmatch(l); m != nil {
			cur = &recordedTable{}
			out[m[1]] = cur
		} else if m := column.FindStringSubmatch(l); m != nil && cur != nil {
			cur.columns = append(cur.columns, m[1]+":"+m[2])
		} else if strings.HasPrefix(l, "    [") && cur != nil && !strings.Contains(l, "(left out)") {
			var cells []string
			for _, v := range pyItems(l) {
				if s, ok := v.(string); ok {
					cells = append(cells, s)
				} else {
					cells = append(cells, "<null>")
				}
			}
			cur.rows = append(cur.rows, strings.Join(cells, "|"))
		} else if strings.HasPrefix(l, "===") {
			cur = nil
		}
	}
	return out
}

func TestSystemTables(t *testing.T) {
	b := newBench(t, "25.6")
	// Tables whose contents don't depend on the cluster are compared whole, the others by their columns.
	whole := map[string]bool{"_pico_db_config": true, "_pico_index": true, "_pico_table": true, "_pico_privilege": true, "_pico_bucket": true,
		"_pico_resharding_state": true, "_pico_plugin": true, "_pico_routine": true, "_pico_property": true}
	recorded := loadSystemTables(t)
	if len(recorded) < 20 {
		t.Fatalf("only %d tables were read", len(recorded))
	}
	for name, want := range recorded {
		r, err := b.try("select * from " + name)
		if err != nil {
			t.Errorf("%s: %s", name, err.Message)
			continue
		}
		var cols []string
		for _, c := range r.Columns {
			cols = append(cols, columnsLine([]Column{c}))
		}
		if !slices.Equal(cols, want.columns) {
			t.Errorf("%s: columns\n got %v\nwant %v", name, cols, want.columns)
		}
		if !whole[name] {
			continue
		}
		lines := strings.Split(show(r), "; ")
		lines = slices.DeleteFunc(lines[:len(lines)-1], func(l string) bool { return strings.HasPrefix(l, "jwt_secret") })
		got, wish := strings.Join(lines, "\n"), strings.Join(want.rows, "\n")
		if got != wish {
			t.Errorf("%s\n got %s\nwant %s", name, got, wish)
		}
	}
}

// fmtArg writes a value as a client would.
func fmtArg(v any) string { return fmt.Sprint(v) }

func TestSystemTablesByVersion(t *testing.T) {
	for version, wants := range map[string]map[string]string{
		"25.2": {
			"select opts from _pico_table":                `! XX000 sbroad: column with name "opts" not found`,
			"select is_default from _pico_tier":           `! XX000 sbroad: column with name "is_default" not found`,
			"select sync_incarnation from _pico_instance": `! XX000 sbroad: column with name "sync_incarnation" not found`,
			"select _pico_bucket('default')":              "! XX000 sbroad: SQL function _pico_bucket not found",
			"select version()":                            "! XX000 sbroad: SQL function version not found",
			"select * from _pico_bucket":                  `! XX000 sbroad: table with name "_pico_bucket" not found`,
		},
		"26.1": {
			"select version()": "26.1.6; SELECT 1",
			"select count(*) from _pico_peer_address where connection_type = 'http'": "5; SELECT 1",
			"select opts from _pico_table where name = '_pico_tier'":                 "[]; SELECT 1",
		},
	} {
		b := newBench(t, version)
		for sql, want := range wants {
			b.want(want, sql)
		}
	}
}

// The live readings: parameters went as text without a type, the bucket was read back.
func TestLiveBuckets(t *testing.T) {
	byName := map[string]vector{}
	for _, v := range loadVectors(t) {
		byName[v.Name] = v
	}
	for _, version := range []string{"25.6", "26.2"} {
		b := newBench(t, version)
		raw, err := os.ReadFile("../../../testdata/live/bucket-" + version + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var live []struct {
			Name   string
			Bucket uint64 `json:"bucket_id"`
		}
		if err := json.Unmarshal(raw, &live); err != nil {
			t.Fatal(err)
		}
		for _, l := range live {
			v := byName[l.Name]
			if v.Count != 3000 {
				continue
			}
			cols, keys, marks, args := []string{"pk int primary key"}, []string{}, []string{"1"}, []string{}
			for i, k := range v.Keys {
				name := string(rune('a' + i))
				cols, keys = append(cols, name+" "+k.Type), append(keys, name)
				if k.Value == nil {
					marks = append(marks, "null")
					continue
				}
				args = append(args, fmtArg(k.Value))
				marks = append(marks, "$"+string(rune('0'+len(args))))
			}
			b.want("CREATE TABLE", "create table bk ("+strings.Join(cols, ", ")+") distributed by ("+strings.Join(keys, ", ")+")")
			b.want("INSERT 0 1", "insert into bk values ("+strings.Join(marks, ", ")+")", args...)
			b.want(fmtArg(l.Bucket)+"; SELECT 1", "select bucket_id from bk")
			b.want("DROP TABLE", "drop table bk")
			if t.Failed() {
				t.Fatalf("%s: %s, live bucket %d", version, l.Name, l.Bucket)
			}
		}
	}
}
