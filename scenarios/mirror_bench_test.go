package scenarios_test

import (
	"database/sql"
	"slices"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// What mirroring costs the caller: a statement with an argument and a row, without a mirror, with one that
// takes all, with one that hangs. Both clusters and the driver share this process's cores, so that the mirror's own
// work slows the caller down too here; "hung" is what the caller pays himself.
func BenchmarkMirror(b *testing.B) {
	for _, c := range []struct {
		name string
		hung bool
		opts func(dsn string) []options.Option
	}{
		{"off", false, func(string) []options.Option { return nil }},
		{"hung", true, func(dsn string) []options.Option { return []options.Option{options.WithMirror(dsn)} }},
		{"tenth", false, func(dsn string) []options.Option {
			return []options.Option{options.WithMirror(dsn), options.WithMirrorRatio(0.1)}
		}},
		{"all", false, func(dsn string) []options.Option { return []options.Option{options.WithMirror(dsn)} }},
		{"all compared", false, func(dsn string) []options.Option {
			return []options.Option{options.WithMirror(dsn), options.WithMirrorCompare(true)}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			cfg := picotest.Config{Statements: -1, Tiers: []picotest.Tier{{Name: "default"}}}
			cluster, shadow := picotest.Start(b, cfg), picotest.Start(b, cfg)
			if c.hung {
				shadow.Hold(picotest.UserTables())
			}
			dsn, err := picodata.ParseDSN(cluster.AdminDSN())
			if err != nil {
				b.Fatal(err)
			}
			conn, err := picodata.NewConnector(dsn, c.opts(shadow.AdminDSN())...)
			if err != nil {
				b.Fatal(err)
			}
			db := sql.OpenDB(conn)
			defer db.Close()
			var n int
			one := func() {
				if err := db.QueryRowContext(b.Context(), "select $1", 1).Scan(&n); err != nil {
					b.Fatal(err)
				}
			}
			for range 200 { // past the naming of statements; the hung mirror's queue is full
				one()
			}
			b.ReportAllocs()
			for b.Loop() {
				one()
			}
		})
	}
}

// MI9: 16 workers with all of their statements mirrored, against the same without a mirror, in turns. Every flight takes
// 5 ms, as over a network, so that it isn't the shared cores that limit either. "of-unmirrored" is the median
// of the rounds' ratios of throughput.
func BenchmarkMirrorWorkers(b *testing.B) {
	const workers, statements = 16, 1600
	cfg := picotest.Config{Statements: -1, Tiers: []picotest.Tier{{Name: "default"}}}
	cluster, shadow := picotest.Start(b, cfg), picotest.Start(b, cfg)
	open := func(opts ...options.Option) *sql.DB {
		dsn, err := picodata.ParseDSN(cluster.AdminDSN())
		if err != nil {
			b.Fatal(err)
		}
		conn, err := picodata.NewConnector(dsn, opts...)
		if err != nil {
			b.Fatal(err)
		}
		db := sql.OpenDB(conn)
		db.SetMaxIdleConns(workers)
		b.Cleanup(func() { db.Close() })
		return db
	}
	without, with := open(), open(options.WithMirror(shadow.AdminDSN()))
	round := func(db *sql.DB) time.Duration {
		began := time.Now()
		inParallel(workers, statements, func(i int) {
			var n int
			if err := db.QueryRow("select $1", i).Scan(&n); err != nil {
				b.Error(err)
			}
		})
		return time.Since(began)
	}
	round(without) // dials
	round(with)
	for _, n := range append(cluster.Nodes(), shadow.Nodes()...) {
		n.Delay(5 * time.Millisecond)
	}
	var ratios []float64
	for b.Loop() {
		plain, mirrored := round(without), round(with)
		ratios = append(ratios, float64(plain)/float64(mirrored))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "of-unmirrored")
	b.ReportMetric(0, "ns/op") // says nothing: a round is two runs
}
