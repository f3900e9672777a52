package watch

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/picodata/go-picodata/internal/schema"
)

const formatABC = `[{"name":"a","field_type":"integer","is_nullable":false},{"name":"bucket_id","field_type":"unsigned","is_nullable":false},{"name":"b","field_type":"string","is_nullable":true},{"name":"c","field_type":"hologram","is_nullable":true}]`

func TestReadTables(t *testing.T) {
	q, m := mock(t)
	var told []string
	s := NewSQL(SQLConfig{BadRow: func(table, problem string) { told = append(told, problem) }})
	m.ExpectQuery(regexp.QuoteMeta(queryTables)).WillReturnRows(sqlmock.NewRows([]string{"format", "name", "id", "distribution", "opts", "operable", "schema_version"}).
		AddRow([]byte(formatABC), "by_key", int64(1024), []byte(`{"ShardedImplicitly":[["b","a"],"murmur3","cold"]}`), nil, true, int64(7)).
		AddRow(formatABC, "global", int64(1025), `{"Global":null}`, nil, true, int64(1)).
		AddRow(formatABC, "by_field", int64(1026), `{"ShardedByField":["bucket_id","default"]}`, nil, true, int64(1)).
		AddRow(formatABC, "pending", int64(1027), `{"ShardedImplicitly":[["a"],"murmur3","default"]}`, nil, false, int64(1)).
		AddRow(formatABC, "other_hash", int64(1028), `{"ShardedImplicitly":[["a"],"crc32","default"]}`, nil, true, int64(1)).
		AddRow(formatABC, "future", int64(1029), `{"ShardedByMoon":[1]}`, nil, true, int64(1)).
		AddRow(formatABC, "key_gone", int64(1030), `{"ShardedImplicitly":[["z"],"murmur3","default"]}`, nil, true, int64(1)).
		AddRow(formatABC, "no_key", int64(1031), `{"ShardedImplicitly":[[],"murmur3","default"]}`, nil, true, int64(1)).
		AddRow("{", "bad_format", int64(1032), `{"Global":null}`, nil, true, int64(1)).
		AddRow(formatABC, nil, int64(1033), `{"Global":null}`, nil, true, int64(1)).
		AddRow(formatABC, "global", int64(1034), `{"ShardedByField":["bucket_id","default"]}`, nil, true, int64(1)).
		AddRow(formatABC, "two_forms", int64(1035), `{"Global":null,"ShardedByField":["bucket_id","default"]}`, nil, true, int64(1)))
	tables, err := s.Tables(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	k := tables["by_key"]
	if k.Distribution != schema.ShardedByKey || k.Tier != "cold" || !slices.Equal(k.ShardingKey, []string{"b", "a"}) || k.ID != 1024 || k.SchemaVersion != 7 || !k.Operable {
		t.Errorf("%+v", k)
	}
	if want := []schema.Column{{Name: "a", Type: "integer", OID: 20}, {Name: "b", Type: "string", OID: 25, Nullable: true}, {Name: "c", Type: "hologram", Nullable: true}}; !slices.Equal(k.InsertColumns(), want) {
		t.Errorf("%+v", k.InsertColumns())
	}
	if c, ok := k.Column("bucket_id"); !ok || c.OID != 20 {
		t.Errorf("%+v", c)
	}
	if g := tables["global"]; g.Distribution != schema.Global || g.ID != 1025 || len(g.InsertColumns()) != 4 {
		t.Errorf("%+v", g)
	}
	if f := tables["by_field"]; f.Distribution != schema.ShardedByField || f.Tier != "default" {
		t.Errorf("%+v", f)
	}
	if p := tables["pending"]; p.Operable {
		t.Errorf("%+v", p)
	}
	for _, name := range []string{"other_hash", "future"} {
		if x, ok := tables[name]; !ok || x.Distribution != schema.DistributionUnknown || x.ShardingKey != nil {
			t.Errorf("%s: %+v", name, x)
		}
	}
	for _, name := range []string{"key_gone", "no_key", "bad_format", "", "two_forms"} {
		if x, ok := tables[name]; ok {
			t.Errorf("%+v should be left out", x)
		}
	}
	if len(told) != 6 {
		t.Errorf("told of %d bad rows: %q", len(told), told)
	}
}

func TestReadTablesWithoutRight(t *testing.T) {
	q, m := mock(t)
	m.ExpectQuery(regexp.QuoteMeta(queryTables)).WillReturnError(denied("_pico_table"))
	_, err := NewSQL(SQLConfig{}).Tables(context.Background(), q)
	var d *deniedError
	if !errors.As(err, &d) || d.table != "_pico_table" {
		t.Error(err)
	}
}

func FuzzParseTable(f *testing.F) {
	f.Add(formatABC, `{"ShardedImplicitly":[["b","a"],"murmur3","cold"]}`)
	f.Add(formatABC, `{"Global":null}`)
	f.Add(`[]`, `{"ShardedByField":["bucket_id","default"]}`)
	f.Fuzz(func(t *testing.T, format, distribution string) {
		rows := newTable(&Result{Columns: []string{"name", "format", "distribution"}})
		table, problem := parseTable(rows, []any{"t", format, distribution})
		if problem != "" {
			return
		}
		if table.Distribution == schema.ShardedByKey && len(table.ShardingKey) == 0 {
			t.Fatalf("%q: sharded by no key", distribution)
		}
		for _, name := range table.ShardingKey {
			if _, ok := table.Column(name); !ok {
				t.Fatalf("%q: key column %q doesn't exist", distribution, name)
			}
		}
	})
}
