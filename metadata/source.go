package metadata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

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
func (s *Source) Read(ctx context.Context, q Querier, from Target) (*Topology, error) {
	t := Topology{ReadAt: s.config.Clock.Now(), ReadFrom: from.Address}

	rows, ok, err := s.read(ctx, q, queryInstances, tableInstance, tablePeerAddress)
	if err != nil {
		return nil, err
	}
	if !ok {
		t.Static = true
		t.Denied = s.deniedAmong(tableInstance, tablePeerAddress)
		return Build(t), nil
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
	return Build(t), nil
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
func (s *Source) skip(t *Topology, table, problem string) {
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

func (s *Source) instances(t *Topology, rows table, from Target) error {
	if err := rows.require("uuid", "current_state", "address"); err != nil {
		return fmt.Errorf("picodata: reading %s: %w", tableInstance, err)
	}
	at, _ := options.ParseAddress(from.Address) // "" if it can't be read: then nothing stands in for 0.0.0.0
	_, typed := rows.at["connection_type"]
	seen := make(map[string]bool, len(rows.rows))
	t.Instances = make([]Instance, 0, len(rows.rows))
	for _, row := range rows.rows {
		if kind, _ := rows.text(row, "connection_type"); typed && kind != "pgproto" {
			continue // iproto, http, plugin:…: other doors of the same instance
		}
		in, problem := parseInstance(rows, row)
		if problem != "" {
			s.skip(t, tableInstance, problem)
			continue
		}
		if seen[in.UUID] {
			s.skip(t, tableInstance, fmt.Sprintf("a second row for instance %s (%s)", clip(in.Name), clip(in.UUID)))
			continue
		}
		seen[in.UUID] = true
		address, err := dialAddress(s.config.Config, in.Name, in.Advertised, func() string { return s.hostOf(in.UUID, at.Name, from) })
		if err != nil {
			s.skip(t, tablePeerAddress, fmt.Sprintf("instance %s: %v", clip(in.Name), err))
		}
		in.Address = address
		t.Instances = append(t.Instances, in)
	}
	if len(t.Instances) == 0 {
		return errNoInstances
	}
	s.forgetHosts(seen)
	return nil
}

// forgetHosts drops what is remembered of instances that no row tells of any more.
func (s *Source) forgetHosts(seen map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.hosts) > len(seen) {
		maps.DeleteFunc(s.hosts, func(uuid string, _ host) bool { return !seen[uuid] })
	}
}

// hostOf remembers for an instance the host that stands in for an unspecified one, so that
// its address doesn't change with the node that is asked.
func (s *Source) hostOf(uuid, at string, from Target) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[uuid]
	switch own := uuid == from.InstanceUUID; {
	case unspecified(at):
	case own:
		h = host{name: at, sure: true}
	case h.name == "":
		h = host{name: at}
	}
	if h.name != "" {
		s.hosts[uuid] = h
	}
	return h.name
}

// parseInstance reads one row; problem is not empty if it has to be left out.
func parseInstance(rows table, row []any) (in Instance, problem string) {
	in.Name, _ = rows.text(row, "name")
	in.UUID, _ = rows.text(row, "uuid")
	if in.UUID == "" {
		return in, fmt.Sprintf("instance %q has no uuid", clip(in.Name))
	}
	raw, ok := rows.text(row, "current_state")
	if !ok {
		return in, fmt.Sprintf("instance %s has no state", clip(in.Name))
	}
	var err error
	if in.State, in.incarnation, err = parseState(raw); err != nil {
		return in, fmt.Sprintf("instance %s: %v", clip(in.Name), err)
	}
	if raw, ok := rows.text(row, "target_state"); ok {
		in.TargetState, _, _ = parseState(raw) // "" if it can't be read: the current state decides alone
	}
	in.RaftID, _ = rows.number(row, "raft_id")
	in.ReplicasetUUID, _ = rows.text(row, "replicaset_uuid")
	in.ReplicasetName, _ = rows.text(row, "replicaset_name")
	in.Tier, _ = rows.text(row, "tier")
	in.Version, _ = rows.text(row, "picodata_version")
	in.Advertised, _ = rows.text(row, "address")
	if raw, ok := rows.text(row, "failure_domain"); ok {
		in.FailureDomain = parseFailureDomain(raw)
	}
	return in, ""
}

// parseFailureDomain reads {"DC":"1","RACK":"7"}. A domain that can't be read costs the
// instance its zone, nothing else.
func parseFailureDomain(raw string) map[string]string {
	var values map[string]any
	if json.Unmarshal([]byte(raw), &values) != nil || len(values) == 0 {
		return nil
	}
	zone := make(map[string]string, len(values))
	for k, v := range values {
		if v != nil {
			zone[k] = fmt.Sprint(v)
		}
	}
	return zone
}

func (s *Source) replicasets(t *Topology, rows table) error {
	if err := rows.require("uuid", "current_master_name", "target_master_name"); err != nil {
		return fmt.Errorf("picodata: reading %s: %w", tableReplicaset, err)
	}
	seen := make(map[string]bool, len(rows.rows))
	for _, row := range rows.rows {
		var r Replicaset
		r.Name, _ = rows.text(row, "name")
		r.UUID, _ = rows.text(row, "uuid")
		if r.UUID == "" || seen[r.UUID] {
			s.skip(t, tableReplicaset, fmt.Sprintf("replicaset %q has no uuid or a second row", clip(r.Name)))
			continue
		}
		seen[r.UUID] = true
		r.Tier, _ = rows.text(row, "tier")
		r.State, _ = rows.text(row, "state")
		r.CurrentMaster, _ = rows.text(row, "current_master_name")
		r.TargetMaster, _ = rows.text(row, "target_master_name")
		r.weight, _ = rows.text(row, "weight")
		r.configVersion, _ = rows.number(row, "current_config_version")
		t.Replicasets = append(t.Replicasets, r)
	}
	return nil
}

// replicasetsOf makes the replicasets of those that the instances name: all that can be known
// without the right to read _pico_replicaset.
func replicasetsOf(instances []Instance) []Replicaset {
	var all []Replicaset
	for i := range instances {
		if in := &instances[i]; in.ReplicasetUUID != "" && in.State != Expelled {
			all = append(all, Replicaset{UUID: in.ReplicasetUUID, Name: in.ReplicasetName, Tier: in.Tier})
		}
	}
	return all
}

func (s *Source) tiers(t *Topology, rows table) error {
	if err := rows.require("name", "bucket_count"); err != nil {
		return fmt.Errorf("picodata: reading %s: %w", tableTier, err)
	}
	for _, row := range rows.rows {
		var tier Tier
		tier.Name, _ = rows.text(row, "name")
		if tier.Name == "" {
			s.skip(t, tableTier, "a tier without a name")
			continue
		}
		if tier.BucketCount, tier.BucketsKnown = rows.number(row, "bucket_count"); !tier.BucketsKnown || tier.BucketCount > maxBuckets {
			tier.BucketCount, tier.BucketsKnown = 0, false
			s.skip(t, tableTier, fmt.Sprintf("tier %s: its bucket count is not a number", clip(tier.Name)))
		}
		tier.IsDefault = rows.truth(row, "is_default")
		t.Tiers = append(t.Tiers, tier)
	}
	return nil
}

// tiersOf makes the tiers that instances are in. Build prefers the rows of _pico_tier, which come first.
func tiersOf(instances []Instance) []Tier {
	var all []Tier
	for i := range instances {
		if instances[i].Tier != "" && instances[i].State != Expelled {
			all = append(all, Tier{Name: instances[i].Tier})
		}
	}
	return all
}
