package grammar

import "testing"

// The text is what psql 16 sends for `select * from _pico<TAB>`.
const psqlTab = `SELECT c.relname, NULL::pg_catalog.text FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'S', 'v', 'm', 'f', 'p') AND (c.relname) LIKE '\\_pico%' AND pg_catalog.pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'pg_catalog')
UNION ALL
SELECT NULL::pg_catalog.text, n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname LIKE '\\_pico%' AND n.nspname NOT LIKE E'pg\\_%'
LIMIT 1000`

func TestTabCompletion(t *testing.T) {
	if prefix, ok := TabCompletion(psqlTab); !ok || prefix != "_pico" {
		t.Errorf("psql's query gives %q, %v; want _pico, true", prefix, ok)
	}
	for _, sql := range []string{
		"select * from pg_catalog.pg_class",
		"select 1 from pg_catalog.pg_class c where (c.relname) like 'a%'", // no union
		"select 1 from t union all select 2 from t",
	} {
		if prefix, ok := TabCompletion(sql); ok {
			t.Errorf("%q is taken for psql's query, with prefix %q", sql, prefix)
		}
	}
}
