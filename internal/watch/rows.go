package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// rowParser makes of rows what they mean. It remembers where instances are that don't say it themselves.
type rowParser struct {
	addresses *addressMap
	badRow    func(table, problem string) // hears once of each kind; nil = nobody
	reported  map[string]bool             // bad rows already told of
	hosts     map[string]host             // by instance uuid: what stands in for an unspecified host
}

// host is what is known of an instance that advertises 0.0.0.0 or ::.
type host struct {
	name string
	sure bool // the instance itself answered there
}

// errNoInstances: an answer without a single instance is no news, the answering one is missing from it too.
var errNoInstances = errors.New("picodata: the server's list of instances is empty")

// skip counts a row of a table that can't be used, and tells of its kind once.
func (p *rowParser) skip(count *int, table, problem string) {
	*count++
	p.report(table, problem)
}

func (p *rowParser) report(table, problem string) {
	const mostKinds = 256 // a hostile server invents new problems for ever
	key := table + ": " + problem
	old := p.reported[key] || len(p.reported) >= mostKinds
	p.reported[key] = true
	if old && len(p.reported) > mostKinds {
		delete(p.reported, key)
	}
	if !old && p.badRow != nil {
		p.badRow(table, problem)
	}
}

func (p *rowParser) instances(skipped *int, rows table, from Target) ([]metadata.Instance, error) {
	if err := rows.require("uuid", "current_state", "address"); err != nil {
		return nil, fmt.Errorf("picodata: reading %s: %w", tableInstance, err)
	}
	at, _ := options.ParseAddress(from.Address) // "" if it can't be read: then nothing stands in for 0.0.0.0
	_, typed := rows.at["connection_type"]
	seen := make(map[string]bool, len(rows.rows))
	all := make([]metadata.Instance, 0, len(rows.rows))
	for _, row := range rows.rows {
		if kind, _ := rows.text(row, "connection_type"); typed && kind != "pgproto" {
			continue // iproto, http, plugin:…: other doors of the same instance
		}
		in, problem := parseInstance(rows, row)
		if problem != "" {
			p.skip(skipped, tableInstance, problem)
			continue
		}
		if seen[in.UUID] {
			p.skip(skipped, tableInstance, fmt.Sprintf("a second row for instance %s (%s)", clip(in.Name), clip(in.UUID)))
			continue
		}
		seen[in.UUID] = true
		address, err := p.addresses.dial(in.Name, in.Advertised, func() string { return p.hostOf(in.UUID, at.Name, from) })
		if err != nil {
			p.skip(skipped, tablePeerAddress, fmt.Sprintf("instance %s: %v", clip(in.Name), err))
		}
		in.Address = address
		all = append(all, in)
	}
	if len(all) == 0 {
		return nil, errNoInstances
	}
	return all, nil
}

// forgetHosts drops what is remembered of instances that no row tells of any more.
func (p *rowParser) forgetHosts(all []metadata.Instance) {
	if len(p.hosts) > len(all) {
		maps.DeleteFunc(p.hosts, func(uuid string, _ host) bool {
			return !slices.ContainsFunc(all, func(in metadata.Instance) bool { return in.UUID == uuid })
		})
	}
}

// hostOf remembers for an instance the host that stands in for an unspecified one, so that
// its address doesn't change with the node that is asked.
func (p *rowParser) hostOf(uuid, at string, from Target) string {
	h := p.hosts[uuid]
	switch own := uuid == from.InstanceUUID; {
	case unspecified(at):
	case own:
		h = host{name: at, sure: true}
	case h.name == "":
		h = host{name: at}
	}
	if h.name != "" {
		p.hosts[uuid] = h
	}
	return h.name
}

// parseInstance reads one row; problem is not empty if it has to be left out.
func parseInstance(rows table, row []any) (in metadata.Instance, problem string) {
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
	if in.State, in.Incarnation, err = parseState(raw); err != nil {
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

func (p *rowParser) replicasets(skipped *int, rows table) (all []metadata.Replicaset, err error) {
	if err := rows.require("uuid", "current_master_name", "target_master_name"); err != nil {
		return nil, fmt.Errorf("picodata: reading %s: %w", tableReplicaset, err)
	}
	seen := make(map[string]bool, len(rows.rows))
	for _, row := range rows.rows {
		var r metadata.Replicaset
		r.Name, _ = rows.text(row, "name")
		r.UUID, _ = rows.text(row, "uuid")
		if r.UUID == "" || seen[r.UUID] {
			p.skip(skipped, tableReplicaset, fmt.Sprintf("replicaset %q has no uuid or a second row", clip(r.Name)))
			continue
		}
		seen[r.UUID] = true
		r.Tier, _ = rows.text(row, "tier")
		r.State, _ = rows.text(row, "state")
		r.CurrentMaster, _ = rows.text(row, "current_master_name")
		r.TargetMaster, _ = rows.text(row, "target_master_name")
		r.Weight = rows.float(row, "weight")
		r.ConfigVersion, _ = rows.number(row, "current_config_version")
		all = append(all, r)
	}
	return all, nil
}

// replicasetsOf makes the replicasets of those that the instances name: all that can be known
// without the right to read _pico_replicaset.
func replicasetsOf(instances []metadata.Instance) []metadata.Replicaset {
	var all []metadata.Replicaset
	for i := range instances {
		if in := &instances[i]; in.ReplicasetUUID != "" && in.State != metadata.Expelled {
			all = append(all, metadata.Replicaset{UUID: in.ReplicasetUUID, Name: in.ReplicasetName, Tier: in.Tier})
		}
	}
	return all
}

func (p *rowParser) tiers(skipped *int, rows table) (all []metadata.Tier, err error) {
	if err := rows.require("name", "bucket_count"); err != nil {
		return nil, fmt.Errorf("picodata: reading %s: %w", tableTier, err)
	}
	for _, row := range rows.rows {
		var tier metadata.Tier
		tier.Name, _ = rows.text(row, "name")
		if tier.Name == "" {
			p.skip(skipped, tableTier, "a tier without a name")
			continue
		}
		if tier.BucketCount, tier.BucketsKnown = rows.number(row, "bucket_count"); !tier.BucketsKnown || tier.BucketCount > metadata.MaxBuckets {
			tier.BucketCount, tier.BucketsKnown = 0, false
			p.skip(skipped, tableTier, fmt.Sprintf("tier %s: its bucket count is not a number", clip(tier.Name)))
		}
		tier.IsDefault = rows.truth(row, "is_default")
		all = append(all, tier)
	}
	return all, nil
}

// tiersOf makes the tiers that instances are in. Build prefers the rows of _pico_tier, which come first.
func tiersOf(instances []metadata.Instance) []metadata.Tier {
	var all []metadata.Tier
	for i := range instances {
		if instances[i].Tier != "" && instances[i].State != metadata.Expelled {
			all = append(all, metadata.Tier{Name: instances[i].Tier})
		}
	}
	return all
}

// parseState reads current_state or target_state. Servers write ["Online",5], variant and
// incarnation; some are said to write {"Online":5}. A bare "Online" is understood too. What follows
// the incarnation is ignored. An unknown variant is kept as it is.
func parseState(raw string) (metadata.State, uint64, error) {
	if state, n, ok := plainState(raw); ok {
		return state, n, nil
	}
	return parseAnyState(raw)
}

// plainState reads the form that every known server writes, ["Online",5] without a space,
// at a fraction of the cost: a thousand instances have two thousand states at each refresh.
func plainState(raw string) (metadata.State, uint64, bool) {
	rest, ok := strings.CutPrefix(raw, `["`)
	name, rest, closed := strings.Cut(rest, `",`)
	digits, ended := strings.CutSuffix(rest, "]")
	if !ok || !closed || !ended || name == "" || digits == "" || len(digits) > 1 && digits[0] == '0' {
		return "", 0, false
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return "", 0, false
		}
	}
	for _, r := range digits {
		if r < '0' || r > '9' {
			return "", 0, false
		}
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return metadata.State(name), n, err == nil
}

func parseAnyState(raw string) (metadata.State, uint64, error) {
	bad := func() (metadata.State, uint64, error) {
		return "", 0, fmt.Errorf("state %q is not of the form [\"Online\",1]", clip(raw))
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(raw), &list) == nil {
		var name string
		if len(list) == 0 || json.Unmarshal(list[0], &name) != nil || name == "" {
			return bad()
		}
		var n uint64
		if len(list) > 1 && json.Unmarshal(list[1], &n) != nil {
			n = 0 // the variant alone decides
		}
		return metadata.State(name), n, nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &object) == nil {
		if len(object) != 1 {
			return bad()
		}
		for name, v := range object {
			var n uint64
			if name == "" {
				return bad()
			}
			if json.Unmarshal(v, &n) != nil {
				n = 0
			}
			return metadata.State(name), n, nil
		}
	}
	var name string
	if json.Unmarshal([]byte(raw), &name) == nil && name != "" {
		return metadata.State(name), 0, nil
	}
	return bad()
}

// queryTables: what follows the name is JSON.
const queryTables = "SELECT id,name,distribution,format,schema_version,operable FROM _pico_table"

// Tables reads _pico_table, which an ordinary user may not. The error of that is a
// *deniedError. A row that can't be read is left out.
func (s *SQL) Tables(ctx context.Context, q Querier) (map[string]schema.Table, error) {
	rows, ok, err := s.reader.read(ctx, q, queryTables, tableTable)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &deniedError{tableTable}
	}
	if err := rows.require("name", "distribution", "format"); err != nil {
		return nil, fmt.Errorf("picodata: reading %s: %w", tableTable, err)
	}
	tables := make(map[string]schema.Table, len(rows.rows))
	for _, row := range rows.rows {
		t, problem := parseTable(rows, row)
		if problem != "" {
			s.rows.report(tableTable, problem)
			continue
		}
		if _, twice := tables[t.Name]; twice {
			s.rows.report(tableTable, "a second row for table "+clip(t.Name))
			continue
		}
		tables[t.Name] = t
	}
	return tables, nil
}

// parseTable reads one row of _pico_table; problem is not empty if it has to be left out.
func parseTable(rows table, row []any) (t schema.Table, problem string) {
	name, _ := rows.text(row, "name")
	if name == "" {
		return t, "a table without a name"
	}
	format, _ := rows.text(row, "format")
	distribution, _ := rows.text(row, "distribution")
	t, err := schema.ParseTable(name, format, distribution)
	if err != nil {
		return t, fmt.Sprintf("table %s: %v", clip(name), err)
	}
	t.ID, _ = rows.number(row, "id")
	t.SchemaVersion, _ = rows.number(row, "schema_version")
	if _, given := rows.at["operable"]; given {
		t.Operable = rows.truth(row, "operable")
	}
	return t, ""
}

// tableReader keeps fresh what is known of tables, where sharding keys are to be known without the server's
// notices: with routing=keys, and on servers that send none. It belongs to the loop.
type tableReader struct {
	config  *Config
	options *options.Config
	source  Source
	clock   options.Clock
	log     *slog.Logger
	state   *state
	grants  *grants

	at      time.Time // of the last reading
	tried   bool
	of      *Reading // what the last reading of tables belongs to
	pending bool     // it showed unfinished DDL, which ends without another mark
}

// tablesNeeded tells whether the sharding keys of tables have to be known, and can be of use. rows: statements
// are met of whose key servers tell nothing.
func tablesNeeded(o *options.Config, t *metadata.Topology, rows bool) bool {
	if t == nil {
		return rows || o.SplitInserts || o.Routing == options.RoutingKeys // nothing is known yet
	}
	if t.Static || !t.RolesKnown {
		return false
	}
	return rows || o.SplitInserts || o.Routing == options.RoutingKeys || o.Routing == options.RoutingInsert && !t.MinVersion().HasQueryMetadata()
}

// refresh reads tables if something about them has changed. It is false if the connection is gone.
func (r *tableReader) refresh(ctx context.Context, c *control, now *Reading) (alive bool) {
	t := now.Topology
	if !tablesNeeded(r.options, t, r.state.rowsSeen()) {
		return true
	}
	asked := r.state.tablesWanted()
	age := r.clock.Now().Sub(r.at)
	marked := now.mark.tables != 0 // else a change can't be seen
	due := !r.tried || age >= r.config.BucketFloor || r.pending || asked && age >= 500*time.Millisecond
	if !due && (!marked || now.SameTables(r.of)) {
		return true
	}
	r.state.mu.Lock()
	r.state.wantTables = false
	r.state.mu.Unlock()
	// The mark was read first: what changes between the two readings changes it again.
	r.tried, r.at, r.of = true, r.clock.Now(), now
	tables, err := r.source.Tables(ctx, c)
	var denied *deniedError
	switch {
	case errors.As(err, &denied):
		r.setDenied(true)
		r.grants.note(tableTable)
		if r.state.tables.Swap(nil) != nil && r.config.OnTables != nil {
			r.config.OnTables(nil)
		}
	case err != nil:
		r.log.Warn("picodata: tables can't be read, what is known of them stays in force", "address", c.to.Address, "error", err)
		r.of = nil // try again
		return isServerError(err) || ctx.Err() != nil
	default:
		r.setDenied(false)
		r.pending = false
		for _, t := range tables {
			r.pending = r.pending || !t.Operable
		}
		r.state.tables.Store(&tables)
		if r.config.OnTables != nil {
			r.config.OnTables(tables)
		}
	}
	return true
}

func (r *tableReader) setDenied(denied bool) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.tablesDenied = denied
}
