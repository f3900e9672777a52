package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/internal/schema"
)

// A table that isn't what the result was made of says nothing.
func TestNullables(t *testing.T) {
	tables := map[string]schema.Table{
		"t": {Name: "t", Operable: true, Distribution: schema.ShardedByKey, Columns: []schema.Column{{Name: "id"}, {Name: "bucket_id"}, {Name: "a", Nullable: true}}},
		"u": {Name: "u", Columns: []schema.Column{{Name: "id"}}},
	}
	for _, tt := range []struct{ sql, columns, want string }{
		{"select * from t", "id a", "[1 2]"},
		{"select a, id, bucket_id from t", "a id bucket_id", "[2 1 1]"},
		{"select * from t", "id a b", "[0 0 0]"},
		{"select * from t", "id", "[0]"},
		{"select a as x, id from t", "x other", "[2 0]"},
		{"select id from u", "id", "[0]"},
		{"select id from nowhere", "id", "[0]"},
		{"select id, id from t, u", "id id", "[0 0]"},
	} {
		if got := fmt.Sprint(nullables(tt.sql, strings.Fields(tt.columns), &tables)); got != tt.want {
			t.Errorf("%s with %s: %s, want %s", tt.sql, tt.columns, got, tt.want)
		}
	}
	if got := fmt.Sprint(nullables("select * from t", []string{"id"}, nil)); got != "[0]" {
		t.Error(got)
	}
}
