package scenarios_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

func wireFrame(typ byte, body []byte) []byte {
	f := binary.BigEndian.AppendUint32([]byte{typ}, uint32(len(body)+4))
	return append(f, body...)
}

func readAll(ctx context.Context, db *sql.DB, text string, args ...any) (n int, err error) {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return 0, err
		}
		n++
	}
	return n, errors.Join(rows.Err(), rows.Close())
}

// all reads a query to its end.
func (s *shadowed) all(query string, args ...any) {
	s.t.Helper()
	rows, err := s.QueryContext(s.t.Context(), query, args...)
	if err != nil {
		return // compared as well
	}
	defer rows.Close()
	for rows.Next() {
	}
	if err := rows.Err(); err != nil {
		s.t.Error(err)
	}
}

// shadowed is a database with a mirror.
type shadowed struct {
	*sql.DB
	t       *testing.T
	c       *picodata.Connector
	cluster *picotest.Cluster
	shadow  *picotest.Cluster
}

// startShadowed starts a cluster of three nodes and a shadow of so many, and opens the one with the other
// as its mirror. When the test ends, nothing of the driver may be left.
func startShadowed(t *testing.T, shadows int, opts ...options.Option) *shadowed {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	cfg := picotest.Config{Statements: 20_000, Tiers: []picotest.Tier{{Name: "default", Replicasets: shadows}}}
	s := &shadowed{t: t}
	s.shadow = picotest.Start(nil, cfg)
	cfg.Tiers = three.Tiers
	s.cluster = picotest.Start(nil, cfg)
	t.Cleanup(func() {
		if s.DB != nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		s.cluster.Close()
		s.shadow.Close()
		goleak.VerifyNone(t, leaks)
	})
	s.open(append([]options.Option{options.WithMirror(s.shadow.AdminDSN())}, opts...)...)
	return s
}

// open opens the cluster.
func (s *shadowed) open(opts ...options.Option) {
	s.t.Helper()
	cfg, err := picodata.ParseDSN(s.cluster.AdminDSN())
	if err != nil {
		s.t.Fatal(err)
	}
	if s.c, err = picodata.NewConnector(cfg, opts...); err != nil {
		s.t.Fatal(err)
	}
	s.DB = sql.OpenDB(s.c)
}

// await waits until the mirror's numbers are as wanted.
func (s *shadowed) await(want func(*picodata.MirrorStats) bool) picodata.MirrorStats {
	s.t.Helper()
	for patience := time.Now().Add(time.Minute); ; {
		m := s.c.Stats().Mirror
		if want(&m) {
			return m
		}
		if time.Now().After(patience) {
			s.t.Fatalf("the mirror doesn't get there: %+v", m)
		}
		runtime.Gosched()
	}
}

// stats waits until the mirror has nothing to do and checks that every statement is accounted for.
func (s *shadowed) stats() picodata.MirrorStats {
	s.t.Helper()
	m := s.await(func(m *picodata.MirrorStats) bool { return m.Queued == 0 && m.Running == 0 })
	accounted(s.t, m)
	return m
}

// compared waits until every statement that was enqueued is compared, or known not to be comparable.
func (s *shadowed) compared() picodata.MirrorStats {
	s.t.Helper()
	s.await(func(m *picodata.MirrorStats) bool { return m.Same+m.Different+m.Incomplete == m.Enqueued })
	return s.stats()
}

// connections waits until the mirror has so many.
func (s *shadowed) connections(n int) {
	s.t.Helper()
	s.await(func(m *picodata.MirrorStats) bool { return m.Conns == n })
}

// accounted checks the sums of a mirror at rest.
func accounted(t *testing.T, m picodata.MirrorStats) {
	t.Helper()
	var dropped, failed uint64
	for _, n := range m.Dropped {
		dropped += n
	}
	for _, n := range m.Errors {
		failed += n
	}
	if m.Offered != m.Sent+dropped || m.Sent != m.OK+failed || m.Bytes != 0 || m.Lag != 0 {
		t.Errorf("the sums are wrong: %+v", m)
	}
}

func (s *shadowed) selects(ctx context.Context, i int) {
	var n int
	if err := s.QueryRowContext(ctx, "select $1", i).Scan(&n); err != nil || n != i {
		s.t.Errorf("select %d: %d, %v", i, n, err)
	}
}

// syncBuffer is a buffer for logs.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// arrivals counts, by replicaset, the nodes at which the users' statements with this text arrived.
func (r *routed) arrivals(text string) map[string]int {
	got := map[string]int{}
	for _, s := range r.cluster.Statements() {
		if s.SQL == text {
			got[r.cluster.Node(s.Node).Replicaset()]++
		}
	}
	return got
}

// two is a cluster of two equal nodes, i1 and i2: leaders of a replicaset each.
var two = picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 2, ReplicationFactor: 1}}}

// capped gives i1 weight 10 and room for 5, i2 weight 0 and room for b.
func capped(b int, opts ...options.Option) []options.Option {
	return append(opts,
		options.WithNodeWeights(options.NodeRule{Selector: "i1", Value: 10}, options.NodeRule{Selector: "i2", Value: 0}),
		options.WithNodeMaxConns(options.NodeRule{Selector: "i1", Value: 5}, options.NodeRule{Selector: "i2", Value: b}))
}

const statement = "select 4711"

// one runs the statement and expects no error.
func one(t *testing.T, db *sql.DB) {
	t.Helper()
	var n int
	if err := db.QueryRowContext(t.Context(), statement).Scan(&n); err != nil {
		t.Error(err)
	}
}

// holdStatements has n statements held by the servers at once. free lets them go and waits for their callers.
func holdStatements(t *testing.T, c *picotest.Cluster, db *sql.DB, n int) (free func()) {
	t.Helper()
	hold := c.Hold(picotest.SQL(statement))
	var group sync.WaitGroup
	for range n {
		group.Go(func() { one(t, db) })
	}
	synctest.Wait()
	return func() {
		hold.ReleaseAll()
		group.Wait()
	}
}

// userConns counts a node's connections without the one that reads the topology.
func userConns(c *picotest.Cluster, node string) int {
	n := 0
	for _, conn := range c.Node(node).Conns() {
		if strings.Contains(conn.Params["options"], "pico_") {
			n++
		}
	}
	return n
}

func nodeStats(t *testing.T, conn *picodata.Connector, name string) picodata.NodeStats {
	t.Helper()
	for _, n := range conn.Stats().Nodes {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("no statistics of %s", name)
	return picodata.NodeStats{}
}

// routed is a database, its connector and its cluster.
type routed struct {
	*sql.DB
	t       testing.TB
	c       *picodata.Connector
	cluster *picotest.Cluster
	random  *rand.Rand
}

// fourShards is four replicasets of two instances, and users with and without rights.
func fourShards(version string) picotest.Config {
	return picotest.Config{
		Version: version,
		Tiers:   []picotest.Tier{{Name: "default", Replicasets: 4, ReplicationFactor: 2}},
		Users: []picotest.User{
			{Name: "app", Password: "Passw0rd", Grants: []string{"create table", "read table", "write table"}},
			// May use its tables and see leaders, but not read distributions: keys come from notices.
			{Name: "notices", Password: "Passw0rd", Grants: []string{"create table", "read on table _pico_replicaset"}},
			{Name: "plain", Password: "Passw0rd", Grants: []string{"create table"}},
		},
	}
}

func startRouted(t *testing.T, cfg picotest.Config, user string, opts ...options.Option) *routed {
	t.Helper()
	return openRouted(t, picotest.Start(t, cfg), user, opts...)
}

func openRouted(t *testing.T, cluster *picotest.Cluster, user string, opts ...options.Option) *routed {
	t.Helper()
	cfg, err := picodata.ParseDSN(cluster.UserDSN(user))
	if err != nil {
		t.Fatal(err)
	}
	c, err := picodata.NewConnector(cfg, opts...)
	if err != nil {
		t.Fatal(err)
	}
	r := &routed{DB: sql.OpenDB(c), t: t, c: c, cluster: cluster, random: rand.New(rand.NewPCG(17, 4))}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *routed) exec(text string, args ...any) {
	r.t.Helper()
	if _, err := r.ExecContext(r.t.Context(), text, args...); err != nil {
		r.t.Fatalf("%s %v: %v", text, args, err)
	}
}

// stray are the INSERTs that ran by way of another instance than the connected one.
func (r *routed) stray() (stray []picotest.Statement, all int) {
	for _, s := range r.cluster.Statements() {
		if s.Kind != "DML" || s.ErrCode != "" {
			continue
		}
		all++
		if s.Forwarded() || len(s.Ran) != 1 || s.Ran[0] != s.Node {
			stray = append(stray, s)
		}
	}
	return stray, all
}

// insertEverywhere inserts n rows of each key type, and wants all but the first of each text to
// run at the leader that owns the row.
func (r *routed) insertEverywhere(n int) {
	r.t.Helper()
	for i, k := range keyedTables() {
		text := fmt.Sprintf(k.insert, fmt.Sprintf("t_%d", i))
		r.exec(text, k.row(r.random)...) // the first one teaches
		r.cluster.ResetCounters()
		for range n {
			r.exec(text, k.row(r.random)...)
		}
		if stray, all := r.stray(); len(stray) != 0 || all != n {
			r.t.Errorf("%s: %d of %d went astray, for example %+v", k.name, len(stray), all, append(stray, picotest.Statement{})[0])
		}
		if hops := r.cluster.Counters().Hops; hops != 0 {
			r.t.Errorf("%s: %d hops", k.name, hops)
		}
	}
}

// changed waits for another snapshot than old.
func (r *routed) changed(old *metadata.Topology) (*metadata.Topology, error) {
	news := make(chan *metadata.Topology, 1)
	r.c.OnTopologyChange(func(topo *metadata.Topology) {
		select {
		case news <- topo:
		default:
		}
	})
	defer r.c.OnTopologyChange(nil)
	if topo := r.c.Topology(); topo.Version != old.Version {
		return topo, nil
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	select {
	case topo := <-news:
		return topo, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// workers runs f in n goroutines and fails the test at the first error of each.
func (r *routed) workers(n int, f func(ctx context.Context, worker int) error) {
	r.t.Helper()
	var wg sync.WaitGroup
	for worker := range n {
		wg.Go(func() {
			if err := f(r.t.Context(), worker); err != nil {
				r.t.Errorf("worker %d: %v", worker, err)
			}
		})
	}
	wg.Wait()
}

// listen starts a server on loopback that lets anybody in and then runs f.
func listen(t *testing.T, f func(net.Conn)) (dsn string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			func() {
				defer c.Close()
				r := bufio.NewReader(c)
				var head [4]byte
				if _, err := io.ReadFull(r, head[:]); err != nil {
					return
				}
				if _, err := io.CopyN(io.Discard, r, int64(binary.BigEndian.Uint32(head[:]))-4); err != nil {
					return
				}
				f(c)
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return "picodata://u:s3cret@" + l.Addr().String() + "/?mode=bootstrap&topology=off&routing=off&sslmode=disable&max_retries=0&connect_timeout=2s&acquire_timeout=2s"
}

// three is a cluster of three equal nodes: leaders of a replicaset each.
var three = picotest.Config{Tiers: []picotest.Tier{{Name: "default", Replicasets: 3, ReplicationFactor: 1}}}

// startDB starts a cluster and opens it with the driver, as the administrator. When the test ends, it
// checks that nothing of the driver is left.
func startDB(t testing.TB, cfg picotest.Config, opts ...options.Option) (*picotest.Cluster, *sql.DB, *picodata.Connector) {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	c, err := picotest.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	dsn, err := picodata.ParseDSN(c.AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := picodata.NewConnector(dsn, opts...)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(conn)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error("Close:", err)
		}
		if s := conn.Stats().Total; s.InUse != 0 || s.Idle != 0 || s.Dialing != 0 {
			t.Errorf("after Close: %d in use, %d idle, %d dialling", s.InUse, s.Idle, s.Dialing)
		}
		c.Close()
		goleak.VerifyNone(t, leaks)
	})
	return c, db, conn
}

func mustExec(t testing.TB, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// inParallel runs f n times, by so many workers.
func inParallel(workers, n int, f func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	group.Wait()
}

// userStatements counts per node the statements of the test, not the driver's own on system tables.
func userStatements(c *picotest.Cluster, part string) map[string]int {
	n := map[string]int{}
	for _, s := range c.Statements(picotest.SQL(part)) {
		n[s.Node]++
	}
	return n
}

// warm opens n connections to each of three nodes, so that what follows is balanced by the policy and not
// by how fast a busy machine dials.
func warm(t *testing.T, c *picotest.Cluster, db *sql.DB, n int) {
	t.Helper()
	hold := c.Hold(picotest.SQL("select 4711"))
	defer hold.ReleaseAll()
	var group sync.WaitGroup
	for range 3 * n {
		group.Go(func() { mustExec(t, db, "select 4711") })
	}
	if err := hold.Wait(t.Context(), 3*n); err != nil {
		t.Fatal(err)
	}
	hold.ReleaseAll()
	group.Wait()
}

// descriptors counts the process's open files, where the system tells.
func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

type markKey struct{}

func mark(ctx context.Context, name string) context.Context {
	if m, ok := ctx.Value(markKey{}).(string); ok {
		name = m + " > " + name
	}
	return context.WithValue(ctx, markKey{}, name)
}
