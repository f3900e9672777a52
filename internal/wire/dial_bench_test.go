package wire

import (
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// What it costs to ask who answers: dials with and without the question, by either method, side by side.
func BenchmarkDial(b *testing.B) {
	c, err := picotest.New(picotest.Config{Users: []picotest.User{{Name: "m", Password: "Passw0rd"}, {Name: "s", Password: "Passw0rd", Method: "scram-sha-256"}}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	n := c.Nodes()[0]
	for _, user := range []string{"m", "s"} {
		for _, asks := range []bool{false, true} {
			name := map[string]string{"m": "md5", "s": "scram"}[user] + map[bool]string{false: "", true: "+identity"}[asks]
			b.Run(name, func(b *testing.B) {
				cfg := newConfig()
				cfg.Options.User, cfg.Options.Password = user, "Passw0rd"
				target := Target{Address: n.Addr()}
				if asks {
					target.Identify = func(string, Ask) error { return nil }
				}
				for b.Loop() {
					conn, err := Dial(bg, cfg, target)
					if err != nil {
						b.Fatal(err)
					}
					conn.Close()
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "dials/s")
			})
		}
	}
}
