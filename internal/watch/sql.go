package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

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

// The system tables that are read.
const (
	tableInstance    = "_pico_instance"
	tablePeerAddress = "_pico_peer_address"
	tableReplicaset  = "_pico_replicaset"
	tableTier        = "_pico_tier"
	tableTable       = "_pico_table"
)

// errNoInstances: an answer without a single instance is no news, the answering one is missing from it too.
var errNoInstances = errors.New("picodata: the server's list of instances is empty")

// SQLConfig configures an SQL source.
type SQLConfig struct {
	Config *options.Config               // of which address_map is used; nil = none
	Tables func(*metadata.Topology) bool // whether changes of _pico_table count as changes; nil = no
	// RecheckDenied is how long a table that the user may not read isn't asked for again:
	// every refusal is an event in the server's audit log. 0 = one minute.
	RecheckDenied time.Duration
	// Whole is how long what hasn't changed isn't read again, at first: for twice as long each time that brought nothing
	// new, up to six times. 0 = five minutes.
	Whole time.Duration
	Clock options.Clock // nil = the system's
	// BadRow, if set, hears once of each kind of row that had to be left out.
	BadRow func(table, problem string)
}

// SQL is the source that reads the system tables. It remembers what the user may not read and what the
// servers don't understand. It is used by one goroutine at a time, but for Identity.
type SQL struct {
	config    SQLConfig
	addresses *addressMap
	marks     marker
	unlimit   bool // append noLimits

	denied   map[string]time.Time // when the server refused it
	reported map[string]bool      // bad rows already told of
	hosts    map[string]host      // by instance uuid: what stands in for an unspecified host
}

// host is what is known of an instance that advertises 0.0.0.0 or ::.
type host struct {
	name string
	sure bool // the instance itself answered there
}

var _ Source = (*SQL)(nil)

// NewSQL makes a source.
func NewSQL(config SQLConfig) *SQL {
	if config.Config == nil {
		config.Config = &options.Config{}
	}
	if config.RecheckDenied <= 0 {
		config.RecheckDenied = time.Minute
	}
	if config.Whole <= 0 {
		config.Whole = 5 * time.Minute
	}
	if config.Clock == nil {
		config.Clock = options.SystemClock{}
	}
	return &SQL{config: config, addresses: newAddressMap(config.Config), denied: map[string]time.Time{}, reported: map[string]bool{}, hosts: map[string]host{}}
}

// News is nil: a server has to be asked.
func (s *SQL) News() <-chan struct{} { return nil }

// Identity asks by pico_instance_uuid(), which needs no privilege. Servers before 25.3 call it instance_uuid().
func (s *SQL) Identity(ctx context.Context, q Querier) (instanceUUID string, err error) {
	instanceUUID, err = scalar(ctx, q, "SELECT pico_instance_uuid()")
	if isUnknownFunction(err, "pico_instance_uuid") {
		instanceUUID, err = scalar(ctx, q, "SELECT instance_uuid()")
	}
	if err != nil {
		return "", fmt.Errorf("picodata: asking the server for its instance uuid: %w", err)
	}
	return instanceUUID, nil
}

// Read asks first whether anything has changed, and then for what has: instances with their addresses, replicasets, tiers.
// from is where q is connected to and, if known, who answers there. For an instance that advertises 0.0.0.0
// or :: stands the host at which it answered itself, or else the host at which it was first told of.
//
// What the user may not read is missing from the snapshot and named in its Denied, which is no error;
// without the instances themselves the snapshot is Static. The queries run one after another and
// aren't one transaction: what changes between two of them changes the next mark.
func (s *SQL) Read(ctx context.Context, q Querier, from Target, have *Reading) (*Reading, error) {
	now := s.config.Clock.Now()
	var known *metadata.Topology
	if have != nil {
		known = have.Topology
	}
	m, err := s.readMark(ctx, q, s.config.Tables != nil && s.config.Tables(known))
	if err != nil {
		return nil, fmt.Errorf("picodata: asking for changes: %w", err)
	}
	next := &Reading{mark: m, Whole: now, again: s.config.Whole}
	readInstances, readReplicasets, readTiers := true, true, true
	if have != nil && !have.Topology.Static && now.Sub(have.Whole) < have.again {
		old := have.mark
		changed := func(table string, is, was uint64) bool {
			refused := is == 0 && s.isDenied([]string{table}) && slices.Contains(have.Topology.Denied, table)
			return (is == 0 || is != was) && !refused
		}
		whole := changed(tableTier, m.tiers, old.tiers) || changed(tableReplicaset, m.replicasets, old.replicasets) || changed(tableInstance, m.instances, old.instances)
		readTiers, readReplicasets = whole, whole
		// The small question sees target states, and old servers' current ones; an instance on its way is looked at itself.
		readInstances = whole || s.marks.form == markWhole && onTheWay(have.Topology)
		next.Whole, next.again = have.Whole, have.again
	}
	t := metadata.Topology{ReadAt: now, ReadFrom: from.Address}
	if !readInstances && !readReplicasets && !readTiers {
		t = *have.Topology
		t.ReadAt, t.ReadFrom = now, from.Address
		next.Topology, next.tiers, next.skipped = &t, have.tiers, have.skipped
		return next, nil
	}

	if readInstances {
		rows, ok, err := s.read(ctx, q, queryInstances, tableInstance, tablePeerAddress)
		if err != nil {
			return nil, err
		}
		if !ok {
			t.Static = true
			t.Denied = s.deniedAmong(tableInstance, tablePeerAddress)
			next.Topology = metadata.Build(t)
			return next, nil
		}
		if t.Instances, err = s.instances(&next.skipped[0], rows, from); err != nil {
			return nil, err
		}
	} else {
		t.Instances, next.skipped[0] = slices.Clone(have.Topology.Instances), have.skipped[0]
	}

	denied := s.isDenied([]string{tableReplicaset})
	switch {
	case !readReplicasets && !denied:
		t.RolesKnown = true
		t.Replicasets, next.skipped[1] = slices.Clone(have.Topology.Replicasets), have.skipped[1]
	default:
		rows, ok, err := s.read(ctx, q, queryReplicasets, tableReplicaset)
		switch {
		case err != nil:
			return nil, err
		case ok:
			t.RolesKnown = true
			if t.Replicasets, err = s.replicasets(&next.skipped[1], rows); err != nil {
				return nil, err
			}
		default:
			t.Denied = append(t.Denied, tableReplicaset)
			t.Replicasets = replicasetsOf(t.Instances)
		}
	}

	denied = s.isDenied([]string{tableTier})
	switch {
	case !readTiers && !denied:
		next.tiers, next.skipped[2] = have.tiers, have.skipped[2]
	default:
		rows, ok, err := s.read(ctx, q, queryTiers, tableTier)
		switch {
		case err != nil:
			return nil, err
		case ok:
			if next.tiers, err = s.tiers(&next.skipped[2], rows); err != nil {
				return nil, err
			}
		default:
			t.Denied = append(t.Denied, tableTier)
		}
	}
	t.Tiers = append(slices.Clone(next.tiers), tiersOf(t.Instances)...)
	t.Skipped = next.skipped[0] + next.skipped[1] + next.skipped[2]
	next.Topology = metadata.Build(t)
	if have != nil && m == have.mark && now.Equal(next.Whole) && sameRows(next.Topology, have.Topology) {
		next.again = doubled(have.again, 1, 6*s.config.Whole) // the mark hid nothing
	}
	return next, nil
}

// sameRows is Topology.Equal without the nodes of the DSN, which no server tells of.
func sameRows(a, b *metadata.Topology) bool {
	without := *b
	without.Seeds = a.Seeds
	return a.Equal(&without)
}

// onTheWay tells whether an instance's current state isn't its target yet.
func onTheWay(t *metadata.Topology) bool {
	return slices.ContainsFunc(t.Instances, func(in metadata.Instance) bool {
		return in.TargetState != "" && in.State != in.TargetState && in.State != metadata.Expelled
	})
}

// read runs a query over the tables. ok is false, without an error, if the user may not read one of them.
func (s *SQL) read(ctx context.Context, q Querier, sql string, tables ...string) (t table, ok bool, err error) {
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

func (s *SQL) query(ctx context.Context, q Querier, sql string) (*Result, error) {
	unlimit := s.unlimit
	if !unlimit {
		res, err := q.Query(ctx, sql)
		if !isOverLimit(err) {
			return notNil(res, err)
		}
		s.unlimit = true
	}
	return notNil(q.Query(ctx, sql+noLimits))
}

func notNil(res *Result, err error) (*Result, error) {
	if err == nil && res == nil {
		res = &Result{}
	}
	return res, err
}

func (s *SQL) isDenied(tables []string) bool {
	now := s.config.Clock.Now()
	return slices.ContainsFunc(tables, func(name string) bool {
		at, ok := s.denied[name]
		return ok && now.Sub(at) < s.config.RecheckDenied
	})
}

func (s *SQL) setDenied(name string, tables []string) {
	if !slices.Contains(tables, name) {
		name = tables[0] // the text changed; the grant is a guess then, the refusal is not
	}
	s.denied[name] = s.config.Clock.Now()
}

func (s *SQL) setAllowed(tables []string) {
	for _, name := range tables {
		delete(s.denied, name)
	}
}

func (s *SQL) deniedAmong(tables ...string) []string {
	return slices.DeleteFunc(tables, func(name string) bool { _, ok := s.denied[name]; return !ok })
}

// skip counts a row of a table that can't be used, and tells of its kind once.
func (s *SQL) skip(count *int, table, problem string) {
	*count++
	s.report(table, problem)
}

func (s *SQL) report(table, problem string) {
	const mostKinds = 256 // a hostile server invents new problems for ever
	key := table + ": " + problem
	old := s.reported[key] || len(s.reported) >= mostKinds
	s.reported[key] = true
	if old && len(s.reported) > mostKinds {
		delete(s.reported, key)
	}
	if !old && s.config.BadRow != nil {
		s.config.BadRow(table, problem)
	}
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
