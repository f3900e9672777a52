package watch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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
	queryIdentity    = "SELECT pico_instance_uuid()"
	queryTiers       = "SELECT * FROM _pico_tier" // is_default is there since 25.4 only
)

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
	config SQLConfig
	reader *reader
	marks  marker
	rows   rowParser
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
	r := &reader{clock: config.Clock, recheck: config.RecheckDenied, denied: map[string]time.Time{}}
	return &SQL{config: config, reader: r, marks: marker{reader: r},
		rows: rowParser{addresses: newAddressMap(config.Config), badRow: config.BadRow, reported: map[string]bool{}, hosts: map[string]host{}}}
}

// News is nil: a server has to be asked.
func (s *SQL) News() <-chan struct{} { return nil }

// Identity asks by pico_instance_uuid(), which needs no privilege. Servers before 25.3 call it instance_uuid().
func (s *SQL) Identity(ctx context.Context, q Querier) (instanceUUID string, err error) {
	instanceUUID, err = scalar(ctx, q, queryIdentity)
	if isUnknownFunction(err, "pico_instance_uuid") {
		instanceUUID, err = scalar(ctx, q, "SELECT instance_uuid()")
	}
	if err != nil {
		return "", fmt.Errorf("picodata: asking the server for its instance uuid: %w", err)
	}
	return instanceUUID, nil
}

// First are the texts of Identity and of a Read that knows nothing yet, in their order.
func (s *SQL) First() []string {
	mark, _ := s.marks.question(markWhole, s.config.Tables != nil && s.config.Tables(nil))
	return []string{queryIdentity, mark, queryInstances, queryReplicasets, queryTiers}
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
	m, err := s.marks.read(ctx, q, s.config.Tables != nil && s.config.Tables(known))
	if err != nil {
		return nil, fmt.Errorf("picodata: asking for changes: %w", err)
	}
	next := &Reading{mark: m, Whole: now, again: s.config.Whole}
	readInstances, readReplicasets, readTiers := true, true, true
	var some []*metadata.Instance // if not all of the instances are read: those that are on their way
	if have != nil && !have.Topology.Static && now.Sub(have.Whole) < have.again {
		old := have.mark
		changed := func(table string, is, was uint64) bool {
			refused := is == 0 && s.reader.isDenied([]string{table}) && slices.Contains(have.Topology.Denied, table)
			return (is == 0 || is != was) && !refused
		}
		whole := changed(tableTier, m.tiers, old.tiers) || changed(tableReplicaset, m.replicasets, old.replicasets) || changed(tableInstance, m.instances, old.instances)
		readTiers, readReplicasets = whole, whole
		// The small question sees target states, and old servers' current ones; an instance on its way is looked at itself.
		readInstances = whole
		if !whole && s.marks.form == markWhole {
			some = onTheWay(have.Topology)
		}
		next.Whole, next.again = have.Whole, have.again
	}
	t := metadata.Topology{ReadAt: now, ReadFrom: from.Address}
	if !readInstances && len(some) == 0 && !readReplicasets && !readTiers {
		t = *have.Topology
		t.ReadAt, t.ReadFrom = now, from.Address
		next.Topology, next.tiers, next.skipped = &t, have.tiers, have.skipped
		return next, nil
	}

	next.Rows = true
	switch {
	case readInstances:
		rows, ok, err := s.reader.read(ctx, q, queryInstances, tableInstance, tablePeerAddress)
		if err != nil {
			return nil, err
		}
		if !ok {
			t.Static = true
			t.Denied = s.reader.deniedAmong(tableInstance, tablePeerAddress)
			next.Topology = metadata.Build(t)
			return next, nil
		}
		if t.Instances, err = s.rows.instances(&next.skipped[0], rows, from); err != nil {
			return nil, err
		}
		s.rows.forgetHosts(t.Instances)
	case len(some) > 0:
		next.skipped[0] = have.skipped[0]
		if t.Instances, err = s.reread(ctx, q, from, have.Topology.Instances, some); err != nil {
			return nil, err
		}
	default:
		t.Instances, next.skipped[0] = slices.Clone(have.Topology.Instances), have.skipped[0]
	}

	denied := s.reader.isDenied([]string{tableReplicaset})
	switch {
	case !readReplicasets && !denied:
		t.RolesKnown = true
		t.Replicasets, next.skipped[1] = slices.Clone(have.Topology.Replicasets), have.skipped[1]
	default:
		rows, ok, err := s.reader.read(ctx, q, queryReplicasets, tableReplicaset)
		switch {
		case err != nil:
			return nil, err
		case ok:
			t.RolesKnown = true
			if t.Replicasets, err = s.rows.replicasets(&next.skipped[1], rows); err != nil {
				return nil, err
			}
		default:
			t.Denied = append(t.Denied, tableReplicaset)
			t.Replicasets = replicasetsOf(t.Instances)
		}
	}

	denied = s.reader.isDenied([]string{tableTier})
	switch {
	case !readTiers && !denied:
		next.tiers, next.skipped[2] = have.tiers, have.skipped[2]
	default:
		rows, ok, err := s.reader.read(ctx, q, queryTiers, tableTier)
		switch {
		case err != nil:
			return nil, err
		case ok:
			if next.tiers, err = s.rows.tiers(&next.skipped[2], rows); err != nil {
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

// onTheWay are the instances whose current state isn't their target yet.
func onTheWay(t *metadata.Topology) (some []*metadata.Instance) {
	for i := range t.Instances {
		if in := &t.Instances[i]; in.TargetState != "" && in.State != in.TargetState && in.State != metadata.Expelled {
			some = append(some, in)
		}
	}
	return some
}

// reread reads the rows of some instances, all that may have changed, and returns all instances.
func (s *SQL) reread(ctx context.Context, q Querier, from Target, all []metadata.Instance, some []*metadata.Instance) ([]metadata.Instance, error) {
	const most = 64 // more are hardly cheaper than all
	text := queryInstances
	if len(some) <= most {
		ids := make([]string, len(some))
		for i, in := range some {
			ids[i] = strconv.FormatUint(in.RaftID, 10)
		}
		text += " AND i.raft_id IN (" + strings.Join(ids, ",") + ")"
	}
	rows, ok, err := s.reader.read(ctx, q, text, tableInstance, tablePeerAddress)
	if err != nil || !ok {
		return all, err
	}
	var skipped int
	now, err := s.rows.instances(&skipped, rows, from)
	if err != nil && err != errNoInstances {
		return nil, err
	}
	all = slices.Clone(all)
	for i := range all {
		if at := slices.IndexFunc(now, func(in metadata.Instance) bool { return in.UUID == all[i].UUID }); at >= 0 {
			all[i] = now[at]
		}
	}
	return all, nil
}
