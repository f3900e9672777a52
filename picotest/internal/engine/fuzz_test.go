package engine

import (
	"strings"
	"testing"
)

// FuzzStatement prepares and runs whatever the grammar lets in. Nothing may panic, and no answer may be a failure of the
// translation: those begin with "picotest:".
func FuzzStatement(f *testing.F) {
	for _, s := range []string{
		"select 1", "select * from t where k = $1 and s like 'x'", "insert into t values (1, 'a', 1.5), (2, null, 2)",
		"update t set s = 'b', n = n + 1 where k in (1, 2)", "delete from t where bucket_id = 1934",
		"with q as (select k, n from t) select q.k, sum(n) over (partition by k order by n) from q group by q.k, n order by 2 desc limit 3",
		"select case k when 1 then 'a' else s end, coalesce(s, 'x') || 1, n / 3, k % 2 from t join g on t.k = g.k union all select s, s, n, k from t",
		"select max(n), count(distinct s) from (select * from t) as q having count(*) > 1",
		"do $$ begin let v = (select k from t where k = 1); if v = 1 then update t set n = v where k = 1; end if; end $$",
		"create table z (a int primary key, b text) distributed by (b)", "alter table t add column w int", "grant read on table t to public",
		"explain (raw) select * from t where k = 1", "select array[1, k][1], current_date, to_char(current_timestamp, '%Y') from t",
		"select (k, s) = (1, 'a'), k in (select k from g), exists (select 1), k is null, not true from t",
		"select n::int, k::double, s::text, '1.5'::decimal, 'x'::uuid from t", "select 9223372036854775807 * 2, 1/0, 1e300 * 1e300",
		"select _pico_bucket('default'), version(), pico_instance_name(pico_instance_uuid()) from t",
	} {
		f.Add(s)
	}
	for _, d := range loadRecording(f, "26.2").Dialogues {
		for _, step := range d.Steps {
			for _, frame := range step.Send {
				switch r := (&reader{frame.Body}); frame.Type {
				case "P":
					r.str()
					f.Add(strings.ReplaceAll(r.str(), "dlg_", ""))
				case "Q":
					f.Add(strings.ReplaceAll(r.str(), "dlg_", ""))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, sql string) {
		if strings.Contains(sql, "\x00") {
			return // the wire ends texts there
		}
		b := newBench(t, "26.2")
		b.run("create table t (k int primary key, s text, n decimal)")
		b.run("create table g (k int primary key) distributed globally")
		b.run("insert into t values (1, 'a', 1.5), (2, null, 2)")
		s, err := b.e.Prepare(b.sess, sql, nil)
		if err != nil {
			check(t, sql, err)
			return
		}
		raw := make([][]byte, len(s.Params()))
		args, err := s.Bind(nil, raw)
		if err != nil {
			check(t, sql, err)
			return
		}
		v, err := b.view(s, args)
		if err != nil {
			check(t, sql, err)
			return
		}
		r, err := s.Run(t.Context(), args, v)
		if err != nil {
			check(t, sql, err)
			return
		}
		for _, row := range r.Rows {
			for i, val := range row {
				for format := range int16(2) {
					if _, err := Encode(val, r.Columns[i].OID, format); err != nil && !strings.Contains(err.Error(), "encoding error") {
						t.Errorf("%s: %v", sql, err)
					}
				}
			}
		}
	})
}

func check(t *testing.T, sql string, err *Error) {
	t.Helper()
	if strings.Contains(err.Message, "picotest:") {
		t.Errorf("%s: %s", sql, err.Message)
	}
}
