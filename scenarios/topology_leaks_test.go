package scenarios_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// openFDs is the number of open file descriptors, or -1 where the system doesn't tell.
func openFDs() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(entries)
}

// close-leaks: After Close nothing of the driver is left, however the database was doing. Over TCP, for
// descriptors are counted too.
func TestCloseLeaks(t *testing.T) {
	cluster := picotest.Start(t, pairs())
	nobody, err := net.Listen("tcp", "127.0.0.1:0") // listens, never answers
	if err != nil {
		t.Fatal(err)
	}
	defer nobody.Close()
	dsn := cluster.AdminDSN()
	parse := func(dsn string) *options.Config {
		cfg, err := picodata.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	at := func(addresses ...string) *options.Config {
		cfg := parse(dsn)
		cfg.Hosts = nil
		for _, a := range addresses {
			h, err := options.ParseAddress(a)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Hosts = append(cfg.Hosts, h)
		}
		return cfg
	}
	// Every way to be when Close comes; the first two need a cluster that answers.
	ways := map[string]func(db *sql.DB){
		"at rest": func(db *sql.DB) {
			if err := db.Ping(); err != nil {
				t.Error(err)
			}
		},
		"rows open": func(db *sql.DB) {
			rows, err := db.Query("select name from _pico_instance")
			if err != nil {
				t.Error(err)
				return
			}
			rows.Next()
			go rows.Close()
		},
		"in a statement": func(db *sql.DB) {
			ctx, cancel := context.WithCancel(context.Background())
			go db.ExecContext(ctx, "select 1")
			cancel()
		},
		"in discovery": func(db *sql.DB) { go db.Ping() },
		"untouched":    func(*sql.DB) {},
	}
	configs := map[string]func() *options.Config{
		"healthy":        func() *options.Config { return parse(dsn) },
		"bootstrap":      func() *options.Config { c := parse(dsn); c.Mode = options.Bootstrap; return c },
		"warm":           func() *options.Config { c := parse(dsn); c.MinIdleConnsPerInstance = 1; return c },
		"refused":        func() *options.Config { return at("127.0.0.1:1") },
		"silent":         func() *options.Config { return at(nobody.Addr().String()) },
		"wrong password": func() *options.Config { c := parse(dsn); c.Password = "wrong"; return c },
	}
	once := func(config func() *options.Config, way func(*sql.DB)) {
		c, err := picodata.NewConnector(config())
		if err != nil {
			t.Error(err)
			return
		}
		db := sql.OpenDB(c)
		way(db)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error("a second Close:", err)
		}
	}
	settle := func() (goroutines, fds int) {
		for range 200 { // what was closed ends soon, but not within Close
			runtime.Gosched()
			runtime.GC()
			g, f := runtime.NumGoroutine(), openFDs()
			if g == goroutines && f == fds {
				break
			}
			goroutines, fds = g, f
		}
		return goroutines, fds
	}
	// A wrong password locks its user out after four times; nobody else may be that user here.
	wrong := configs["wrong password"]
	delete(configs, "wrong password")
	rounds, cut := 24, 10_000 // 500 databases, and statements that their contexts end
	if testing.Short() {
		rounds, cut = 2, 500
	}
	once(configs["healthy"], ways["at rest"])
	goroutines, fds := settle()
	for range rounds {
		for name, config := range configs {
			for how, way := range ways {
				answers := name != "refused" && name != "silent"
				if answers || how != "at rest" && how != "rows open" {
					once(config, way)
				}
			}
		}
	}
	once(configs["healthy"], func(db *sql.DB) {
		hold := cluster.Hold(picotest.SQL("select 10000"))
		defer hold.ReleaseAll()
		inParallel(16, cut, func(int) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- db.QueryRowContext(ctx, "select 10000").Scan(new(int)) }()
			if err := hold.Wait(ctx, 1); err != nil {
				t.Error(err)
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	})
	for _, n := range cluster.Nodes() { // logins that Close cut off may count as failed ones
		if err := cluster.WaitConnections(t.Context(), n.Name(), 0); err != nil {
			t.Fatal(err)
		}
	}
	cluster.ResetCounters()
	once(wrong, func(db *sql.DB) {
		var auth *picodata.AuthError
		if err := db.Ping(); !errors.As(err, &auth) {
			t.Errorf("%v, want an AuthError", err)
		}
	})
	if n := cluster.Counters().LoginFailures; n != 1 {
		t.Errorf("a wrong password was tried %d times: four lock the user", n)
	}
	deadline := time.Now().Add(2 * time.Second) // what the scenario allows
	for {
		g, f := settle()
		if g <= goroutines && f <= fds {
			return
		}
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines and %d descriptors, before %d and %d\n%s", g, f, goroutines, fds, buf[:runtime.Stack(buf, true)])
		}
	}
}

// dial-data-race: Connecting, cancelling, reading statistics, changing the cluster and closing at once,
// with one configuration: for the race detector.
func TestDialDataRace(t *testing.T) {
	cluster := picotest.Start(t, pairs())
	cfg, err := picodata.ParseDSN(cluster.AdminDSN() + "&topology_update_interval=10ms&max_conn_lifetime=50ms")
	if err != nil {
		t.Fatal(err)
	}
	loops := 30
	if testing.Short() {
		loops = 5
	}
	var dbs []*sql.DB
	var connectors []*picodata.Connector
	for range 3 {
		c, err := picodata.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		connectors = append(connectors, c)
		dbs = append(dbs, sql.OpenDB(c))
	}
	var group sync.WaitGroup
	var closing atomic.Bool // dbs[2] is about to be closed under its users
	var ran, cancelled atomic.Int64
	// ended counts what became of an operation: it succeeds, or says that it was cancelled or that its database is closed.
	ended := func(db *sql.DB, ctx context.Context, err error) {
		switch {
		case err == nil:
			ran.Add(1)
		case errors.Is(err, context.Canceled) && ctx.Err() != nil:
			cancelled.Add(1)
		case db == dbs[2] && closing.Load() && (errors.Is(err, picodata.ErrClosed) || err.Error() == "sql: database is closed"):
		default:
			t.Error(err)
		}
	}
	for g := range 32 {
		group.Go(func() {
			db, c := dbs[g%3], connectors[g%3]
			for i := range loops {
				ctx, cancel := context.WithCancel(t.Context())
				switch (g + i) % 4 {
				case 0:
					go cancel()
					_, err := db.ExecContext(ctx, "select 1")
					ended(db, ctx, err)
				case 1:
					conn, err := db.Conn(ctx)
					if err == nil {
						ended(db, ctx, conn.PingContext(ctx))
						err = conn.Close()
					}
					ended(db, ctx, err)
				case 2:
					c.Stats()
					if topo := c.Topology(); topo != nil {
						topo.Leader(topo.Replicasets[0].UUID)
					}
					_ = c.Config().Clone().Hosts
					var one int
					err := db.QueryRowContext(ctx, "select 1").Scan(&one)
					if err == nil && one != 1 {
						t.Errorf("select 1 gave %d", one)
					}
					ended(db, ctx, err)
				case 3:
					_ = fmt.Sprintf("%+v", cfg)
					_, err := db.ExecContext(ctx, "select 1")
					ended(db, ctx, err)
				}
				cancel()
			}
		})
	}
	group.Go(func() {
		for range max(1, loops/5) {
			rs := "default_1"
			if err := cluster.SwitchLeader(rs, cluster.Replicas(rs)[0].Name()).Wait(t.Context()); err != nil {
				t.Error(err)
			}
			cluster.Node("i4").DropConnections()
		}
		closing.Store(true)
		if err := dbs[2].Close(); err != nil {
			t.Error(err)
		}
	})
	group.Wait()
	if ran.Load() == 0 || cancelled.Load() == 0 {
		t.Errorf("%d operations succeeded and %d were cancelled: the test looks at the wrong thing", ran.Load(), cancelled.Load())
	}
	for _, db := range dbs {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
