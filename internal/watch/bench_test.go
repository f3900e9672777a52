package watch

import "testing"

func BenchmarkReadThousandInstances(b *testing.B) {
	c := newFakeCluster(1000)
	conn, err := c.Dial(b.Context(), Target{Address: c.instances[0].Advertised})
	if err != nil {
		b.Fatal(err)
	}
	s := NewSQL(SQLConfig{})
	b.ReportAllocs()
	for range b.N {
		if t, err := readAll(s, b.Context(), conn, Target{}); err != nil || len(t.Instances) != 1000 {
			b.Fatal(err)
		}
	}
}
