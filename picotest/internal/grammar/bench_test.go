package grammar

import "testing"

func BenchmarkParse(b *testing.B) {
	for name, sql := range map[string]string{
		"insert": "insert into t values ($1, $2, $3)",
		"select": "select a, b, count(*) from t join u on t.a = u.a where a = $1 and b between 1 and 2 group by a, b order by a limit 10",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(V262, sql); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
