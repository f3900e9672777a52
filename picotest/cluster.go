package picotest

import (
	"context"
	"crypto/rand"
	"fmt"
	mrand "math/rand/v2"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// Cluster is a running cluster. All its methods may be called from any goroutine.
type Cluster struct {
	cfg     Config
	version engine.Version
	clock   Clock
	mem     *memNet // nil with TCP
	eng     *engine.Engine
	ca      *authority // nil without TLS
	hooks   hooks
	record  recorder
	hanging hangCounter
	traceMu sync.Mutex

	closing chan struct{} // closed by Close
	never   chan struct{} // what a statement waits for that doesn't wake; the cluster's own, or a synctest bubble would take it for awake
	once    sync.Once
	workMu  sync.Mutex     // guards closing against begin
	work    sync.WaitGroup // accept loops, sessions, timers' calls

	byName atomic.Pointer[map[string]*Node] // for Live.System, which must not lock

	// moving is held for reading from a statement's plan to its end, for writing while buckets move: a row must not look
	// for a home that is just being given away. Taken before mu.
	moving sync.RWMutex

	mu          sync.Mutex
	nodes       []*Node // in order of raft ids, expelled ones included
	replicasets []*replicaset
	tiers       []*tier
	raftLeader  *Node // nil while an election goes on
	raftTerm    uint64
	electTimer  *timer
	elected     chan struct{} // closed when there is a raft leader again; nil: nobody waits
	nextRaftID  uint64
	uuids       *mrand.Rand // nil: random ones
	timers      map[*timer]struct{}
	users       map[string]User
	changed     chan struct{} // closed and renewed whenever something is published
}

// Start starts a cluster and returns when every node answers. With a test, Close is
// registered as its cleanup and a failure to start ends it; without one (nil) Start panics, as httptest does, and the caller closes.
func Start(tb testing.TB, cfg Config) *Cluster {
	if tb != nil {
		tb.Helper()
	}
	c, err := New(cfg)
	if err != nil {
		if tb == nil {
			panic(err)
		}
		tb.Fatal(err)
	}
	if tb != nil {
		tb.Cleanup(c.Close)
	}
	return c
}

// New starts a cluster, as Start does, and returns what went wrong.
func New(cfg Config) (*Cluster, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	version, err := parseVersion(cfg.Version)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		cfg:     cfg,
		version: version,
		clock:   cfg.Clock,
		closing: make(chan struct{}),
		never:   make(chan struct{}),
		timers:  make(map[*timer]struct{}),
		users:   make(map[string]User),
		changed: make(chan struct{}),
	}
	c.record.init(cfg.Statements)
	c.hanging.init()
	if cfg.Seed != 0 {
		c.uuids = mrand.New(mrand.NewPCG(cfg.Seed, 0))
	}
	if cfg.Network == Memory {
		c.mem = newMemNet()
	}
	if cfg.TLS != TLSOff {
		if c.ca, err = newAuthority(); err != nil {
			return nil, err
		}
	}
	c.byName.Store(&map[string]*Node{})
	c.eng, err = engine.New(engine.Config{
		Live:          live{c},
		Now:           c.clock.Now,
		AdminPassword: cfg.AdminPassword,
		Version:       version,
	})
	if err != nil {
		return nil, err
	}
	if err := c.bootstrap(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// bootstrap makes the tiers, instances and users of the configuration.
func (c *Cluster) bootstrap() error {
	for _, t := range c.cfg.Tiers {
		if err := c.addTier(t, "boot"); err != nil {
			return err
		}
	}
	c.mu.Lock()
	for _, t := range c.tiers {
		c.spreadLocked(t)
	}
	c.publishLocked()
	c.mu.Unlock()
	for _, u := range c.cfg.Users {
		if err := c.AddUser(u); err != nil {
			return err
		}
	}
	return nil
}

// AddUser creates a user and gives him his grants.
func (c *Cluster) AddUser(u User) error {
	if u.Name == "" {
		return fmt.Errorf("picotest: a user without a name")
	}
	c.mu.Lock()
	c.users[u.Name] = u
	c.mu.Unlock()
	name := `"` + strings.ReplaceAll(u.Name, `"`, `""`) + `"`
	method := map[string]string{"": "md5", "md5": "md5", "scram-sha-256": "scram-sha256", "ldap": "ldap", "none": "ldap", "chap-sha1": "chap-sha1"}[u.Method]
	if method == "" {
		return fmt.Errorf("picotest: user %s: method %q: want md5, scram-sha-256, ldap, none or chap-sha1", u.Name, u.Method)
	}
	text := "create user " + name
	if method != "ldap" {
		text += " with password '" + strings.ReplaceAll(u.Password, "'", "''") + "'"
	}
	if err := c.Exec(text + " using " + method); err != nil {
		return fmt.Errorf("picotest: user %s: %w", u.Name, err)
	}
	for _, g := range u.Grants {
		if err := c.Exec("grant " + g + " to " + name); err != nil {
			return fmt.Errorf("picotest: user %s, grant %q: %w", u.Name, g, err)
		}
	}
	return nil
}

// Close stops all nodes, ends all connections and returns when nothing of the cluster runs any more.
func (c *Cluster) Close() {
	c.once.Do(func() {
		c.workMu.Lock()
		close(c.closing)
		c.workMu.Unlock()
		c.mu.Lock()
		nodes := append([]*Node(nil), c.nodes...)
		for t := range c.timers {
			t.stopLocked()
		}
		c.mu.Unlock()
		c.hooks.close()
		for _, n := range nodes {
			n.shut(false)
		}
		c.work.Wait()
		if c.eng != nil {
			_ = c.eng.Close()
		}
		c.ca.remove()
	})
	c.work.Wait()
}

// Clock returns the cluster's clock: the ManualClock of Config.Clock, say.
func (c *Cluster) Clock() Clock { return c.clock }

// DSN returns a connection string of the first user of Config.Users with the addresses of all nodes. pgx and libpq read it too; lib/pq,
// which knows no lists of addresses in a URL, takes Node.DSN.
func (c *Cluster) DSN() string {
	if len(c.cfg.Users) == 0 {
		return c.AdminDSN()
	}
	u := c.cfg.Users[0]
	return c.dsn(u.Name, u.Password, c.Nodes()...)
}

// AdminDSN is DSN for the user admin.
func (c *Cluster) AdminDSN() string {
	return c.dsn("admin", c.cfg.AdminPassword, c.Nodes()...)
}

// UserDSN is DSN for the named user of Config.Users, AddUser or SQL; of the last one the password is "".
func (c *Cluster) UserDSN(name string) string {
	c.mu.Lock()
	u := c.users[name]
	c.mu.Unlock()
	if name == "admin" {
		u.Password = c.cfg.AdminPassword
	}
	return c.dsn(name, u.Password, c.Nodes()...)
}

func (c *Cluster) dsn(user, password string, nodes ...*Node) string {
	hosts := make([]string, 0, len(nodes))
	for _, n := range nodes {
		if !n.rowsOnly {
			hosts = append(hosts, n.Addr())
		}
	}
	query := url.Values{}
	if c.ca == nil {
		query.Set("sslmode", "disable")
	} else {
		query.Set("sslmode", "verify-full")
		query.Set("sslrootcert", c.ca.file("ca.crt"))
		if c.cfg.TLS == TLSMutual {
			query.Set("sslcert", c.ca.file("client.crt"))
			query.Set("sslkey", c.ca.file("client.key"))
		}
	}
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, password),
		Host:     strings.Join(hosts, ","),
		Path:     "/picodata",
		RawQuery: query.Encode(),
	}
	return u.String()
}

// DialContext reaches the nodes; it is what a driver's dial function should be when
// Config.Network is Memory, and works with TCP as well. It obeys Node.LoseDials.
func (c *Cluster) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	for _, n := range c.Nodes() {
		if n.Addr() == address && n.door.loses() {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
		}
	}
	if c.mem == nil {
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
	return c.mem.dial(ctx, address)
}

// Exec runs a statement as admin inside the cluster, past every fault and counter.
func (c *Cluster) Exec(sql string) error {
	_, err := c.Query(sql)
	return err
}

// Query is Exec with the rows, every value in its text form (nil is NULL).
func (c *Cluster) Query(sql string) ([][]any, error) {
	node := c.anyNode()
	if node == nil {
		return nil, fmt.Errorf("picotest: no node to run %q on", sql)
	}
	s := engine.Session{User: "admin", Instance: node.name, Version: node.version()}
	stmt, bad := c.prepare(s, sql, nil)
	if bad != nil {
		return nil, bad
	}
	c.moving.RLock()
	defer c.moving.RUnlock()
	p, bad := c.plan(node, stmt, nil)
	if bad != nil {
		return nil, bad
	}
	if p.wait != nil {
		return nil, fmt.Errorf("picotest: %q would hang: an instance that it needs doesn't answer", sql)
	}
	result, bad := stmt.Run(context.Background(), nil, p.view)
	if bad != nil {
		return nil, bad
	}
	rows := make([][]any, len(result.Rows))
	for i, row := range result.Rows {
		rows[i] = make([]any, len(row))
		for k, v := range row {
			if v == nil {
				continue
			}
			text, err := engine.Encode(v, result.Columns[k].OID, 0)
			if err != nil {
				return nil, err
			}
			rows[i][k] = string(text)
		}
	}
	return rows, nil
}

// newUUID returns a random uuid of version 4, repeatable with a seed. c.mu is held.
func (c *Cluster) newUUIDLocked() string {
	var b [16]byte
	if c.uuids != nil {
		for i := range b {
			b[i] = byte(c.uuids.Uint32())
		}
	} else {
		_, _ = rand.Read(b[:])
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
