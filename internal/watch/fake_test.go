package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// fakeCluster answers what a Source asks, by the text of the query. Nodes are reached by address.
type fakeCluster struct {
	mu               sync.Mutex
	instances        []metadata.Instance
	replicasets      []metadata.Replicaset
	tiers            []metadata.Tier
	buckets          map[string]string // tier → what _pico_bucket() answers
	tables           [][]any
	noBucketFunction bool // the server is older than 25.5.1
	stuckBuckets     bool // _pico_bucket() hangs
	denied           map[string]bool
	refused          string          // texts that hold this are not understood; "" = none
	down             map[string]bool // address → connection refused
	hole             map[string]bool // address → nobody answers a dial
	frozen           map[string]bool // address → queries hang
	dialErr          error
	slow             map[string]time.Duration // address → how long a dial takes
	stuck            map[string]bool          // address → logins and small questions work, reading system tables hangs
	at               map[string]string        // further addresses (seeds) → instance uuid
	conns            map[*fakeConn]bool
	dials            []string
	queries          []string
	views            map[string]*fakeView // uuid → its own past, if it is cut off
	busy             int
	mostBusy         int
}

// fakeView is what a node that is cut off believes.
type fakeView struct {
	instances   []metadata.Instance
	replicasets []metadata.Replicaset
}

type fakeErr struct{ text string }

func (e *fakeErr) Error() string   { return "pq: " + e.text }
func (*fakeErr) SQLState() string  { return "XX000" }
func (e *fakeErr) Get(byte) string { return e.text }

var errRefused = errors.New("connection refused")

// newFakeCluster has nodes i1…in in replicasets of two in tier default, each replicaset led by its first.
func newFakeCluster(n int) *fakeCluster {
	c := &fakeCluster{
		buckets: map[string]string{}, denied: map[string]bool{}, down: map[string]bool{}, hole: map[string]bool{},
		frozen: map[string]bool{}, slow: map[string]time.Duration{}, stuck: map[string]bool{}, at: map[string]string{}, conns: map[*fakeConn]bool{}, views: map[string]*fakeView{},
		tiers: []metadata.Tier{{Name: "default", BucketCount: 3000, BucketsKnown: true, IsDefault: true}},
	}
	for i := range n {
		rs := i/2 + 1
		c.instances = append(c.instances, metadata.Instance{
			UUID: fmt.Sprintf("uuid-%d", i+1), Name: fmt.Sprintf("i%d", i+1), RaftID: uint64(i + 1),
			ReplicasetUUID: fmt.Sprintf("rs-%d", rs), ReplicasetName: fmt.Sprintf("default_%d", rs), Tier: "default",
			State: metadata.Online, TargetState: metadata.Online, Version: "26.2.1-rc2-dcd72bc91", Advertised: fmt.Sprintf("10.0.0.%d:4327", i+1), Incarnation: 1,
		})
		if i%2 == 0 {
			name := fmt.Sprintf("i%d", i+1)
			c.replicasets = append(c.replicasets, metadata.Replicaset{UUID: fmt.Sprintf("rs-%d", rs), Name: fmt.Sprintf("default_%d", rs),
				Tier: "default", State: "ready", CurrentMaster: name, TargetMaster: name, ConfigVersion: 1, Weight: 1})
		}
	}
	c.spreadBuckets()
	return c
}

// spreadBuckets gives every replicaset of tier default an equal run of buckets.
func (c *fakeCluster) spreadBuckets() {
	var items []string
	n := uint64(len(c.replicasets))
	for i, r := range c.replicasets {
		from, to := uint64(i)*3000/n+1, uint64(i+1)*3000/n
		items = append(items, fmt.Sprintf(`{"bucket_id_start":%d,"bucket_id_end":%d,"tier_name":"default","state":"active","current_replicaset_uuid":%q,"target_replicaset_uuid":%q}`,
			from, to, r.UUID, r.UUID))
	}
	c.buckets["default"] = "[" + strings.Join(items, ",") + "]"
}

// config names these hosts as nodes of the DSN.
func fakeConfig(addresses ...string) *options.Config {
	o := &options.Config{User: "plain", Topology: true, TopologyUpdateInterval: 5e9, ConnectTimeout: 5e9}
	for _, a := range addresses {
		h, err := options.ParseAddress(a)
		if err != nil {
			panic(err)
		}
		o.Hosts = append(o.Hosts, h)
	}
	return o
}

func (c *fakeCluster) do(f func()) { c.mu.Lock(); defer c.mu.Unlock(); f() }

// count is the number of queries so far that hold the text.
func (c *fakeCluster) count(text string) (n int) {
	c.do(func() {
		for _, q := range c.queries {
			if strings.Contains(q, text) {
				n++
			}
		}
	})
	return n
}

// busiest is the largest number of topology queries that ran at once.
func (c *fakeCluster) busiest() (n int) { c.do(func() { n = c.mostBusy }); return n }

// countExact is how often the text is in the list.
func (c *fakeCluster) countExact(list []string, text string) (n int) {
	c.do(func() {
		for _, s := range list {
			if s == text {
				n++
			}
		}
	})
	return n
}

func (c *fakeCluster) openConns() (n int) { c.do(func() { n = len(c.conns) }); return n }

// switchLeader makes name the leader of its replicaset.
func (c *fakeCluster) switchLeader(rs, name string) {
	c.do(func() {
		for i := range c.replicasets {
			if r := &c.replicasets[i]; r.UUID == rs {
				r.CurrentMaster, r.TargetMaster = name, name
				r.ConfigVersion++
			}
		}
	})
}

func (c *fakeCluster) setState(name string, s metadata.State) {
	c.do(func() {
		for i := range c.instances {
			if in := &c.instances[i]; in.Name == name {
				if s == metadata.Online {
					in.Incarnation++
				}
				in.State, in.TargetState = s, s
			}
		}
	})
}

func (c *fakeCluster) Dial(ctx context.Context, t Target) (Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dials = append(c.dials, t.Address)
	if c.hole[t.Address] {
		c.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // connect_timeout, which is a dial's own business
		<-ctx.Done()
		cancel()
		c.mu.Lock()
		return nil, context.Cause(ctx)
	}
	if d := c.slow[t.Address]; d > 0 { // and doesn't heed ctx
		c.mu.Unlock()
		time.Sleep(d)
		c.mu.Lock()
	}
	if c.down[t.Address] {
		return nil, errRefused
	}
	if c.dialErr != nil {
		return nil, c.dialErr
	}
	uuid := c.at[t.Address]
	for i := range c.instances {
		if uuid == "" && c.instances[i].Advertised == t.Address {
			uuid = c.instances[i].UUID
		}
	}
	if uuid == "" {
		return nil, errRefused
	}
	conn := &fakeConn{c: c, address: t.Address, uuid: uuid, broken: make(chan struct{})}
	c.conns[conn] = true
	return conn, nil
}

// kill refuses new connections to the address and breaks those that are open.
func (c *fakeCluster) kill(address string) {
	c.do(func() {
		c.down[address] = true
		for conn := range c.conns {
			if conn.address == address {
				conn.breakNow()
			}
		}
	})
}

func (c *fakeCluster) revive(address string) { c.do(func() { delete(c.down, address) }) }

type fakeConn struct {
	c       *fakeCluster
	address string
	uuid    string
	broken  chan struct{}
	once    sync.Once
}

func (f *fakeConn) breakNow() { f.once.Do(func() { close(f.broken) }) }

func (f *fakeConn) Close() error {
	f.c.do(func() { delete(f.c.conns, f) })
	return nil
}

func (f *fakeConn) Query(ctx context.Context, sql string) (*Result, error) {
	c := f.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queries = append(c.queries, f.address+" "+sql)
	if strings.Contains(sql, "FROM _pico") {
		c.busy++
		c.mostBusy = max(c.mostBusy, c.busy)
		defer func() { c.busy-- }()
	}
	if c.frozen[f.address] || c.stuckBuckets && strings.HasPrefix(sql, "SELECT _pico_bucket") || c.stuck[f.address] && strings.Contains(sql, "FROM _pico") {
		c.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-f.broken:
		}
		c.mu.Lock()
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-f.broken:
		return nil, errors.New("EOF")
	default:
	}
	if c.refused != "" && strings.Contains(sql, c.refused) {
		return nil, &fakeErr{"sbroad: column with name \"" + c.refused + "\" not found"}
	}
	for name := range c.denied {
		if strings.Contains(sql, name+" ") || strings.HasSuffix(sql, name) {
			return nil, &fakeErr{"box error: AccessDenied: Read access to space '" + name + "' is denied for user 'plain'"}
		}
	}
	instances, replicasets := c.instances, c.replicasets
	if v := c.views[f.uuid]; v != nil {
		instances, replicasets = v.instances, v.replicasets
	}
	switch {
	case sql == "SELECT pico_instance_uuid()":
		return &Result{Columns: []string{"col_1"}, Rows: [][]any{{f.uuid}}}, nil
	case sql == "SELECT version()":
		return &Result{Columns: []string{"col_1"}, Rows: [][]any{{"picodata 26.2.1-rc2-dcd72bc91"}}}, nil
	case strings.Contains(sql, " AS part"):
		res := &Result{Columns: []string{"part", "entries", "a", "b", "c", "d"}}
		for _, part := range strings.Split(sql, " UNION ALL ") {
			var row []any
			switch {
			case strings.HasPrefix(part, markInstances):
				states := ""
				for _, in := range instances { // the time of the last change of a target state
					states += fmt.Sprint(in.TargetState, in.Incarnation, ",")
				}
				row = []any{int64(1), int64(len(instances)), int64(0), int64(0), states, ""}
			case strings.HasPrefix(part, markReplicasets):
				now, target, versions := "", "", uint64(0)
				for _, r := range replicasets {
					now, target, versions = now+","+r.CurrentMaster, target+","+r.TargetMaster, versions+r.ConfigVersion
				}
				row = []any{int64(2), int64(len(replicasets)), int64(versions), int64(0), now, target}
			case strings.HasPrefix(part, markTiers):
				row = []any{int64(3), int64(len(c.tiers)), int64(0), int64(0), "", ""}
			case strings.HasPrefix(part, markTables):
				ids, versions := int64(0), int64(0)
				for _, row := range c.tables {
					ids, versions = ids+row[0].(int64), versions+row[4].(int64)
				}
				row = []any{int64(4), int64(len(c.tables)), ids, versions, "", ""}
			default:
				return nil, &fakeErr{"sbroad: no such part: " + part}
			}
			res.Rows = append(res.Rows, row)
		}
		return res, nil
	case sql == markStates:
		res := &Result{Columns: []string{"raft_id", "current_state", "target_state"}}
		for _, in := range instances {
			res.Rows = append(res.Rows, []any{int64(in.RaftID), fmt.Sprintf("[%q,%d]", in.State, in.Incarnation), fmt.Sprintf("[%q,%d]", in.TargetState, in.Incarnation)})
		}
		return res, nil
	case strings.HasPrefix(sql, queryInstances+" AND i.raft_id IN ("):
		list := strings.TrimSuffix(strings.TrimPrefix(sql, queryInstances+" AND i.raft_id IN ("), ")")
		var some []metadata.Instance
		for _, in := range instances {
			if slices.Contains(strings.Split(list, ","), fmt.Sprint(in.RaftID)) {
				some = append(some, in)
			}
		}
		return instanceRows(some), nil
	case strings.HasPrefix(sql, queryInstances):
		return instanceRows(instances), nil
	case strings.HasPrefix(sql, queryReplicasets):
		return replicasetRows(replicasets), nil
	case strings.HasPrefix(sql, queryTiers):
		res := &Result{Columns: []string{"name", "bucket_count", "is_default"}}
		for _, t := range c.tiers {
			res.Rows = append(res.Rows, []any{t.Name, int64(t.BucketCount), t.IsDefault})
		}
		return res, nil
	case strings.HasPrefix(sql, "SELECT _pico_bucket('"):
		if c.noBucketFunction {
			return nil, &fakeErr{"sbroad: SQL function _pico_bucket not found"}
		}
		tier := strings.TrimSuffix(strings.TrimPrefix(sql, "SELECT _pico_bucket('"), "')")
		if answer, ok := c.buckets[tier]; ok {
			return &Result{Columns: []string{"col_1"}, Rows: [][]any{{[]byte(answer)}}}, nil
		}
		return nil, &fakeErr{"sbroad: Query 1 from EXPLAIN (RAW): _pico_bucket: tier '" + tier + "' doesn't exist"}
	case strings.HasPrefix(sql, queryTables):
		return &Result{Columns: []string{"id", "name", "distribution", "format", "schema_version", "operable"}, Rows: c.tables}, nil
	}
	return nil, &fakeErr{"sbroad: no such query: " + sql}
}

func instanceRows(instances []metadata.Instance) *Result {
	res := &Result{Columns: []string{"uuid", "name", "raft_id", "replicaset_uuid", "replicaset_name", "tier", "current_state", "target_state", "failure_domain", "picodata_version", "address", "connection_type"}}
	for _, in := range instances {
		res.Rows = append(res.Rows, []any{in.UUID, in.Name, int64(in.RaftID), in.ReplicasetUUID, in.ReplicasetName, in.Tier,
			[]byte(fmt.Sprintf("[%q,%d]", in.State, in.Incarnation)), []byte(fmt.Sprintf("[%q,%d]", in.TargetState, in.Incarnation)),
			[]byte("{}"), in.Version, in.Advertised, "pgproto"})
	}
	return res
}

func replicasetRows(replicasets []metadata.Replicaset) *Result {
	res := &Result{Columns: []string{"uuid", "name", "tier", "current_master_name", "target_master_name", "state", "weight", "current_config_version"}}
	for _, r := range replicasets {
		res.Rows = append(res.Rows, []any{r.UUID, r.Name, r.Tier, r.CurrentMaster, r.TargetMaster, r.State, r.Weight, int64(r.ConfigVersion)})
	}
	return res
}
