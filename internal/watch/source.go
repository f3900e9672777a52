package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// Querier runs one statement without arguments on a control connection.
type Querier interface {
	Query(ctx context.Context, sql string) (*Result, error)
}

// The texts that a Source sends. They work on every server from 25.2 on, and the first for
// every user there; system tables are global, so the connected instance answers by itself.
const (
	queryInstances = "SELECT i.uuid,i.name,i.raft_id,i.replicaset_uuid,i.replicaset_name,i.tier,i.current_state,i.target_state," +
		"i.failure_domain,i.picodata_version,p.address,p.connection_type " +
		"FROM _pico_instance i JOIN _pico_peer_address p ON i.raft_id=p.raft_id WHERE p.connection_type='pgproto'"
	queryReplicasets = "SELECT uuid,name,tier,current_master_name,target_master_name,state,weight,current_config_version FROM _pico_replicaset"
	queryTiers       = "SELECT * FROM _pico_tier" // is_default is there since 25.4 only
	// noLimits is appended once a server stopped a query at sql_vdbe_opcode_max (45000 by
	// default, too few for a thousand instances) or sql_motion_row_max.
	noLimits = " OPTION (sql_vdbe_opcode_max = 0, sql_motion_row_max = 0)"
)

// errNoInstances: an answer without a single instance is no news, the answering one is missing from it too.
var errNoInstances = errors.New("picodata: the server's list of instances is empty")

// SourceConfig configures a Source.
type SourceConfig struct {
	Config *options.Config // of which address_map is used; nil = none
	// RecheckDenied is how long a table that the user may not read isn't asked for again:
	// every refusal is an event in the server's audit log. 0 = one minute.
	RecheckDenied time.Duration
	Clock         options.Clock // nil = the system's
	// BadRow, if set, hears once of each kind of row that had to be left out.
	BadRow func(table, problem string)
}

// host is what a Source knows of an instance that advertises 0.0.0.0 or ::.
type host struct {
	name string
	sure bool // the instance itself answered there
}

// Source reads a cluster's system tables over a connection that it is handed. It remembers
// what the user may not read. Its methods may be called concurrently.
type Source struct {
	config SourceConfig

	mu       sync.Mutex
	denied   map[string]time.Time // when the server refused it
	unlimit  bool                 // append noLimits
	reported map[string]bool      // bad rows already told of
	hosts    map[string]host      // by instance uuid: what stands in for an unspecified host
}

// NewSource makes a Source.
func NewSource(config SourceConfig) *Source {
	if config.Config == nil {
		config.Config = &options.Config{}
	}
	if config.RecheckDenied <= 0 {
		config.RecheckDenied = time.Minute
	}
	if config.Clock == nil {
		config.Clock = options.SystemClock{}
	}
	return &Source{config: config, denied: map[string]time.Time{}, reported: map[string]bool{}, hosts: map[string]host{}}
}

// Read reads one snapshot: instances with their addresses, replicasets, tiers. from is where q
// is connected to and, if known, who answers there. For an instance that advertises 0.0.0.0
// or :: stands the host at which it answered itself, or else the host at which it was first told of.
//
// What the user may not read is missing from the snapshot and named in its Denied, which is no error;
// without the instances themselves the snapshot is Static. The queries run one after another and
// aren't one transaction: a leader's switch between two of them shows in the next snapshot.
func (s *Source) Read(ctx context.Context, q Querier, from Target) (*metadata.Topology, error) {
	t := metadata.Topology{ReadAt: s.config.Clock.Now(), ReadFrom: from.Address}

	rows, ok, err := s.read(ctx, q, queryInstances, tableInstance, tablePeerAddress)
	if err != nil {
		return nil, err
	}
	if !ok {
		t.Static = true
		t.Denied = s.deniedAmong(tableInstance, tablePeerAddress)
		return metadata.Build(t), nil
	}
	if err := s.instances(&t, rows, from); err != nil {
		return nil, err
	}

	if rows, ok, err = s.read(ctx, q, queryReplicasets, tableReplicaset); err != nil {
		return nil, err
	} else if ok {
		t.RolesKnown = true
		if err := s.replicasets(&t, rows); err != nil {
			return nil, err
		}
	} else {
		t.Denied = append(t.Denied, tableReplicaset)
		t.Replicasets = replicasetsOf(t.Instances)
	}

	if rows, ok, err = s.read(ctx, q, queryTiers, tableTier); err != nil {
		return nil, err
	} else if ok {
		if err := s.tiers(&t, rows); err != nil {
			return nil, err
		}
	} else {
		t.Denied = append(t.Denied, tableTier)
	}
	t.Tiers = append(t.Tiers, tiersOf(t.Instances)...)
	return metadata.Build(t), nil
}

// read runs a query over the tables. ok is false, without an error, if the user may not read one of them.
func (s *Source) read(ctx context.Context, q Querier, sql string, tables ...string) (t table, ok bool, err error) {
	if s.isDenied(tables) {
		return table{}, false, nil
	}
	res, err := s.query(ctx, q, sql)
	if name, refused := deniedTable(err); refused {
		s.setDenied(name, tables)
		return table{}, false, nil
	}
	if err != nil {
		return table{}, false, fmt.Errorf("picodata: reading %s: %w", tables[0], err)
	}
	s.setAllowed(tables)
	return newTable(res), true, nil
}

func (s *Source) query(ctx context.Context, q Querier, sql string) (*Result, error) {
	s.mu.Lock()
	unlimit := s.unlimit
	s.mu.Unlock()
	if !unlimit {
		res, err := q.Query(ctx, sql)
		if !isOverLimit(err) {
			return notNil(res, err)
		}
		s.mu.Lock()
		s.unlimit = true
		s.mu.Unlock()
	}
	return notNil(q.Query(ctx, sql+noLimits))
}

func notNil(res *Result, err error) (*Result, error) {
	if err == nil && res == nil {
		res = &Result{}
	}
	return res, err
}

func (s *Source) isDenied(tables []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Clock.Now()
	return slices.ContainsFunc(tables, func(name string) bool {
		at, ok := s.denied[name]
		return ok && now.Sub(at) < s.config.RecheckDenied
	})
}

func (s *Source) setDenied(name string, tables []string) {
	if !slices.Contains(tables, name) {
		name = tables[0] // the text changed; the grant is a guess then, the refusal is not
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[name] = s.config.Clock.Now()
}

func (s *Source) setAllowed(tables []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range tables {
		delete(s.denied, name)
	}
}

func (s *Source) deniedAmong(tables ...string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(tables, func(name string) bool { _, ok := s.denied[name]; return !ok })
}

// skip counts a row of t that can't be used, and tells of its kind once.
func (s *Source) skip(t *metadata.Topology, table, problem string) {
	t.Skipped++
	s.report(table, problem)
}

func (s *Source) report(table, problem string) {
	const mostKinds = 256 // a hostile server invents new problems for ever
	key := table + ": " + problem
	s.mu.Lock()
	old := s.reported[key] || len(s.reported) >= mostKinds
	s.reported[key] = true
	if old && len(s.reported) > mostKinds {
		delete(s.reported, key)
	}
	s.mu.Unlock()
	if !old && s.config.BadRow != nil {
		s.config.BadRow(table, problem)
	}
}

// Identity asks the server who it is: the uuid of the instance and what version() says.
// Neither needs a privilege. Servers before 25.3 call the first instance_uuid() and have no
// version(): then version is "", and the instance's row in the topology tells it.
func (s *Source) Identity(ctx context.Context, q Querier) (instanceUUID, version string, err error) {
	instanceUUID, err = scalar(ctx, q, "SELECT pico_instance_uuid()")
	if isUnknownFunction(err, "pico_instance_uuid") {
		instanceUUID, err = scalar(ctx, q, "SELECT instance_uuid()")
	}
	if err != nil {
		return "", "", fmt.Errorf("picodata: asking the server for its instance uuid: %w", err)
	}
	version, err = scalar(ctx, q, "SELECT version()")
	if isUnknownFunction(err, "version") {
		return instanceUUID, "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("picodata: asking the server for its version: %w", err)
	}
	return instanceUUID, version, nil
}

// errNoValue: a query for one value brought none.
var errNoValue = errors.New("the server answered without a value")

// scalar runs a query for one value.
func scalar(ctx context.Context, q Querier, sql string) (string, error) {
	res, err := q.Query(ctx, sql)
	if err != nil {
		return "", err
	}
	if res == nil || len(res.Rows) == 0 || len(res.Rows[0]) == 0 {
		return "", errNoValue
	}
	t := table{at: map[string]int{"": 0}, rows: res.Rows}
	v, ok := t.text(res.Rows[0], "")
	if !ok || v == "" {
		return "", errNoValue
	}
	return v, nil
}

// The system tables that a Source reads.
const (
	tableInstance    = "_pico_instance"
	tablePeerAddress = "_pico_peer_address"
	tableReplicaset  = "_pico_replicaset"
	tableTier        = "_pico_tier"
	tableTable       = "_pico_table"
)

// isServerError tells an answer of the server from a failure of the connection.
func isServerError(err error) bool {
	_, ok := servererr.Of(err)
	return ok
}

func causeOf(err error) servererr.Cause {
	r, _ := servererr.Of(err)
	return r.Cause
}

// deniedTable returns the table that the server refused to let the user read.
func deniedTable(err error) (string, bool) {
	r, _ := servererr.Of(err)
	return r.Object, r.Cause == servererr.AccessDenied
}

// isUnknownFunction tells whether the server has no SQL function of this name.
func isUnknownFunction(err error, name string) bool {
	r, _ := servererr.Of(err)
	return r.Cause == servererr.NoFunction && r.Object == name
}

// isOverLimit tells whether a query was stopped by sql_vdbe_opcode_max or sql_motion_row_max.
func isOverLimit(err error) bool {
	r, _ := servererr.Of(err)
	return r.Kind == servererr.Limit
}

// lost tells what the driver can't do without the right to read the table.
func lost(table string) string {
	switch table {
	case tableInstance, tablePeerAddress:
		return "the cluster's instances are unknown, only the nodes of the DSN are used"
	case tableReplicaset:
		return "leaders are unknown: no routing to leaders, instance_role=leader and replica can't be met"
	case tableTier:
		return "tiers without buckets can't be told from others until their buckets are asked for"
	case tableTable:
		return "sharding keys are learnt from the server's notices only"
	default:
		return ""
	}
}
