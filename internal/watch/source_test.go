package watch

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/picodata/go-picodata/metadata"
)

// dbQuerier runs a Source's queries on a *sql.DB.
type dbQuerier struct{ db *sql.DB }

func (q dbQuerier) Query(ctx context.Context, text string) (*Result, error) {
	rows, err := q.db.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	res := &Result{}
	if res.Columns, err = rows.Columns(); err != nil {
		return nil, err
	}
	for rows.Next() {
		row := make([]any, len(res.Columns))
		to := make([]any, len(row))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		res.Rows = append(res.Rows, row)
	}
	return res, rows.Err()
}

func mock(t *testing.T) (dbQuerier, sqlmock.Sqlmock) {
	t.Helper()
	db, m, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.ExpectationsWereMet(); err != nil {
			t.Error(err)
		}
		m.ExpectClose()
		db.Close()
	})
	return dbQuerier{db}, m
}

var (
	onInstances   = regexp.QuoteMeta(queryInstances) + "$"
	onReplicasets = regexp.QuoteMeta(queryReplicasets) + "$"
	onTiers       = regexp.QuoteMeta(queryTiers) + "$"
)

const (
	uuid1 = "6f901de1-ee0c-44dd-8429-14abe337c482"
	uuid2 = "e44fd4d9-0b35-4034-bb85-cef7f27127aa"
	rs1   = "199842c1-1fad-4666-b692-d99f4cd0a7b2"
)

func denied(table string) error {
	return &fakeErr{"box error: AccessDenied: Read access to space '" + table + "' is denied for user 'plain'"}
}

// readAll reads everything, without asking first whether anything has changed.
func readAll(s *SQL, ctx context.Context, q Querier, from Target) (*metadata.Topology, error) {
	s.marks.form, s.marks.refused = markNone, s.config.Clock.Now()
	r, err := s.Read(ctx, q, from, nil)
	if err != nil {
		return nil, err
	}
	return r.Topology, nil
}

// oneReplicaset expects the three queries and answers with i1 leading and i2 following.
func oneReplicaset(m sqlmock.Sqlmock) {
	m.ExpectQuery(onInstances).WillReturnRows(sqlmock.NewRows(
		[]string{"uuid", "name", "raft_id", "replicaset_uuid", "replicaset_name", "tier", "current_state", "target_state", "failure_domain", "picodata_version", "address", "connection_type"}).
		AddRow(uuid1, "i1", int64(1), rs1, "default_1", "default", []byte(`["Online",1]`), []byte(`["Online",1]`), []byte(`{"DC":"one","RACK":7}`), "26.2.1-rc2", "127.0.0.1:14301", "pgproto").
		AddRow(uuid2, "i2", int64(2), rs1, "default_1", "default", []byte(`["Online",3]`), []byte(`["Online",3]`), []byte(`{}`), "26.2.1-rc2", "127.0.0.1:14302", "pgproto"))
	m.ExpectQuery(onReplicasets).WillReturnRows(sqlmock.NewRows(
		[]string{"uuid", "name", "tier", "current_master_name", "target_master_name", "state", "weight", "current_config_version"}).
		AddRow(rs1, "default_1", "default", "i1", "i1", "ready", 1.0, int64(4)))
	m.ExpectQuery(onTiers).WillReturnRows(sqlmock.NewRows([]string{"name", "bucket_count", "is_default"}).AddRow("default", int64(3000), true))
}

func TestSourceReadsSnapshot(t *testing.T) {
	q, m := mock(t)
	oneReplicaset(m)
	topo, err := readAll(NewSQL(SQLConfig{}), context.Background(), q, Target{Address: "127.0.0.1:14301"})
	if err != nil {
		t.Fatal(err)
	}
	i1, ok := topo.Instance(uuid1)
	if !ok || i1.Name != "i1" || i1.RaftID != 1 || i1.ReplicasetUUID != rs1 || i1.ReplicasetName != "default_1" || i1.Tier != "default" ||
		i1.State != metadata.Online || i1.TargetState != metadata.Online || i1.Role != metadata.RoleLeader || i1.Version != "26.2.1-rc2" ||
		i1.Address != "127.0.0.1:14301" || i1.FailureDomain["DC"] != "one" || i1.FailureDomain["RACK"] != "7" {
		t.Errorf("%+v", i1)
	}
	if i2, _ := topo.ByName("i2"); i2 == nil || i2.Role != metadata.RoleReplica || i2.FailureDomain != nil {
		t.Errorf("%+v", i2)
	}
	if l, ok := topo.Leader(rs1); !ok || l.UUID != uuid1 {
		t.Errorf("leader %+v", l)
	}
	if tier, ok := topo.Tier("default"); !ok || *tier != (metadata.Tier{Name: "default", BucketCount: 3000, BucketsKnown: true, IsDefault: true}) {
		t.Errorf("%+v", tier)
	}
	if topo.Static || !topo.RolesKnown || len(topo.Denied) != 0 || topo.Skipped != 0 {
		t.Errorf("%+v", topo)
	}
}

// Columns come in another order, some are new, the old server has fewer.
func TestSourceReadsByColumnName(t *testing.T) {
	q, m := mock(t)
	m.ExpectQuery(onInstances).WillReturnRows(sqlmock.NewRows(
		[]string{"sync_incarnation", "address", "current_state", "name", "whatever", "uuid", "replicaset_uuid", "raft_id", "tier"}).
		AddRow(int64(9), "127.0.0.1:14301", `{"Online":1}`, "i1", nil, []byte(uuid1), []byte(rs1), []byte("1"), "default"))
	m.ExpectQuery(onReplicasets).WillReturnRows(sqlmock.NewRows(
		[]string{"target_master_name", "new_column", "current_master_name", "name", "uuid"}).AddRow("i1", time.Time{}, "i1", "default_1", rs1))
	m.ExpectQuery(onTiers).WillReturnRows(sqlmock.NewRows([]string{"can_vote", "bucket_count", "name"}).AddRow(true, "1500", "default"))
	topo, err := readAll(NewSQL(SQLConfig{}), context.Background(), q, Target{Address: "127.0.0.1:14301"})
	if err != nil {
		t.Fatal(err)
	}
	if in, ok := topo.Instance(uuid1); !ok || in.State != metadata.Online || in.TargetState != "" || in.RaftID != 1 || in.Role != metadata.RoleLeader || in.Address != "127.0.0.1:14301" {
		t.Errorf("%+v", in)
	}
	if tier, _ := topo.Tier("default"); tier == nil || tier.BucketCount != 1500 || !tier.BucketsKnown || tier.IsDefault {
		t.Errorf("%+v", tier)
	}
}

// One bad row costs itself alone, is counted each time and told of once.
func TestSourceSkipsBadRows(t *testing.T) {
	q, m := mock(t)
	var told []string
	s := NewSQL(SQLConfig{BadRow: func(table, problem string) { told = append(told, table+": "+problem) }})
	expect := func() {
		m.ExpectQuery(onInstances).WillReturnRows(sqlmock.NewRows(
			[]string{"uuid", "name", "raft_id", "current_state", "address", "connection_type", "failure_domain", "tier"}).
			AddRow("good", "i1", int64(1), `["Online",1]`, "h1:4327", "pgproto", "not json", "default").
			AddRow(nil, "nouuid", int64(2), `["Online",1]`, "h2:4327", "pgproto", nil, "default").
			AddRow("nostate", "i3", int64(3), nil, "h3:4327", "pgproto", nil, "default").
			AddRow("badstate", "i4", int64(4), `[1,2]`, "h4:4327", "pgproto", nil, "default").
			AddRow("good", "i1", int64(1), `["Online",1]`, "h1:4327", "pgproto", nil, "default").
			AddRow("http", "i5", int64(5), `["Online",1]`, "h5:8080", "http", nil, "default").
			AddRow("plugin", "i5", int64(5), `["Online",1]`, "h5:8081", "plugin:p.s", nil, "default").
			AddRow("null type", "i6", int64(6), `["Online",1]`, "h6:8081", nil, nil, "default").
			AddRow("odd state", "i7", nil, `["Hibernating",1]`, "h7:4327", "pgproto", nil, nil).
			AddRow("odd address", "i8", int64(-8), `["Online",1]`, "::1:4327", "pgproto", nil, "default").
			AddRow("no address", "i9", "nine", `["Online",1]`, nil, "pgproto", nil, "default"))
		m.ExpectQuery(onReplicasets).WillReturnRows(sqlmock.NewRows(
			[]string{"uuid", "name", "current_master_name", "target_master_name"}).
			AddRow(nil, "none", "i1", "i1").AddRow("r", "r", nil, nil).AddRow("r", "twice", "i1", "i1"))
		m.ExpectQuery(onTiers).WillReturnRows(sqlmock.NewRows([]string{"name", "bucket_count"}).
			AddRow(nil, int64(1)).AddRow("default", int64(-5)).AddRow("cold", int64(100)))
	}
	expect()
	topo, err := readAll(s, context.Background(), q, Target{Address: "h1:4327"})
	if err != nil {
		t.Fatal(err)
	}
	var uuids []string
	for _, in := range topo.Instances {
		uuids = append(uuids, in.UUID)
	}
	slices.Sort(uuids)
	if want := []string{"good", "no address", "odd address", "odd state"}; !slices.Equal(uuids, want) {
		t.Errorf("instances %v, want %v", uuids, want)
	}
	if in, _ := topo.Instance("odd state"); in == nil || in.State != "Hibernating" {
		t.Errorf("%+v", in)
	}
	if in, _ := topo.Instance("odd address"); in == nil || in.Address != "" || in.Advertised != "::1:4327" {
		t.Errorf("%+v", in)
	}
	if tier, _ := topo.Tier("default"); tier == nil || tier.BucketsKnown {
		t.Errorf("%+v", tier)
	}
	const bad = 4 + 2 + 2 + 2
	if topo.Skipped != bad {
		t.Errorf("%d rows counted as bad, want %d", topo.Skipped, bad)
	}
	if len(told) != bad {
		t.Errorf("told of %d: %s", len(told), strings.Join(told, "\n"))
	}
	expect()
	if topo, err = readAll(s, context.Background(), q, Target{Address: "h1:4327"}); err != nil || topo.Skipped != bad {
		t.Errorf("%d rows counted as bad the second time, %v", topo.Skipped, err)
	}
	if len(told) != bad {
		t.Errorf("told again: %s", strings.Join(told[bad:], "\n"))
	}
}

func TestSourceErrors(t *testing.T) {
	boom := errors.New("connection reset by peer")
	for name, expect := range map[string]func(m sqlmock.Sqlmock){
		"instances": func(m sqlmock.Sqlmock) { m.ExpectQuery(onInstances).WillReturnError(boom) },
		"replicasets": func(m sqlmock.Sqlmock) {
			m.ExpectQuery(onInstances).WillReturnRows(sqlmock.NewRows([]string{"uuid", "current_state", "address"}).AddRow("a", `["Online",1]`, "h:1"))
			m.ExpectQuery(onReplicasets).WillReturnError(boom)
		},
		"tiers": func(m sqlmock.Sqlmock) {
			m.ExpectQuery(onInstances).WillReturnRows(sqlmock.NewRows([]string{"uuid", "current_state", "address"}).AddRow("a", `["Online",1]`, "h:1"))
			m.ExpectQuery(onReplicasets).WillReturnRows(sqlmock.NewRows([]string{"uuid", "current_master_name", "target_master_name"}))
			m.ExpectQuery(onTiers).WillReturnError(boom)
		},
		"in the middle of rows": func(m sqlmock.Sqlmock) {
			m.ExpectQuery(onInstances).WillReturnRows(sqlmock.NewRows([]string{"uuid", "current_state", "address"}).
				AddRow("a", `["Online",1]`, "h:1").AddRow("b", `["Online",1]`, "h:1").RowError(1, boom))
		},
	} {
		t.Run(name, func(t *testing.T) {
			q, m := mock(t)
			expect(m)
			if topo, err := readAll(NewSQL(SQLConfig{}), context.Background(), q, Target{Address: "h:1"}); !errors.Is(err, boom) || topo != nil {
				t.Errorf("%v, %v", topo, err)
			}
		})
	}
	t.Run("a column is missing", func(t *testing.T) {
		q, m := mock(t)
		m.ExpectQuery(onInstances).WillReturnRows(sqlmock.NewRows([]string{"uuid", "state", "address"}).AddRow("a", `["Online",1]`, "h:1"))
		if _, err := readAll(NewSQL(SQLConfig{}), context.Background(), q, Target{Address: "h:1"}); err == nil || !strings.Contains(err.Error(), `"current_state"`) {
			t.Error(err)
		}
	})
	t.Run("no instance", func(t *testing.T) {
		q, m := mock(t)
		m.ExpectQuery(onInstances).WillReturnRows(sqlmock.NewRows([]string{"uuid", "current_state", "address"}))
		if _, err := readAll(NewSQL(SQLConfig{}), context.Background(), q, Target{Address: "h:1"}); !errors.Is(err, errNoInstances) {
			t.Error(err)
		}
	})
}

// A plain user of 25.2 and later sees instances and addresses, nothing else.
func TestSourceWithoutRightOnReplicasets(t *testing.T) {
	q, m := mock(t)
	m.ExpectQuery(onInstances).WillReturnRows(sqlmock.NewRows([]string{"uuid", "name", "current_state", "address", "tier", "replicaset_uuid", "replicaset_name"}).
		AddRow(uuid1, "i1", `["Online",1]`, "h:1", "default", rs1, "default_1"))
	m.ExpectQuery(onReplicasets).WillReturnError(denied("_pico_replicaset"))
	m.ExpectQuery(onTiers).WillReturnError(denied("_pico_tier"))
	topo, err := readAll(NewSQL(SQLConfig{}), context.Background(), q, Target{Address: "h:1"})
	if err != nil {
		t.Fatal(err)
	}
	if topo.RolesKnown || topo.Static {
		t.Errorf("roles known %v, static %v", topo.RolesKnown, topo.Static)
	}
	if in, _ := topo.Instance(uuid1); in == nil || in.Role != metadata.RoleUnknown {
		t.Errorf("%+v", in)
	}
	if r, ok := topo.Replicaset(rs1); !ok || r.Name != "default_1" || r.LeaderUUID != "" || r.Switching {
		t.Errorf("%+v", r)
	}
	if tier, ok := topo.Tier("default"); !ok || tier.BucketsKnown {
		t.Errorf("%+v", tier)
	}
	want := []string{`GRANT READ ON TABLE _pico_replicaset TO "Mr Plain"`, `GRANT READ ON TABLE _pico_tier TO "Mr Plain"`}
	if got := topo.MissingGrants("Mr Plain"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestSourceWithoutAnyRight(t *testing.T) {
	q, m := mock(t)
	m.ExpectQuery(onInstances).WillReturnError(denied("_pico_instance"))
	topo, err := readAll(NewSQL(SQLConfig{}), context.Background(), q, Target{Address: "h:1"})
	if err != nil || !topo.Static || len(topo.Instances) != 0 {
		t.Fatalf("%+v, %v", topo, err)
	}
	if got := topo.MissingGrants("plain"); !slices.Equal(got, []string{"GRANT READ ON TABLE _pico_instance TO plain"}) {
		t.Errorf("%q", got)
	}
}

// Every refusal is an event in the server's audit log: a refused table rests for a minute.
func TestSourceRestsAfterRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		c.denied["_pico_replicaset"] = true
		conn, _ := c.Dial(context.Background(), Target{Address: "10.0.0.1:4327"})
		s := NewSQL(SQLConfig{})
		read := func() *metadata.Topology {
			topo, err := readAll(s, context.Background(), conn, Target{Address: "10.0.0.1:4327"})
			if err != nil {
				t.Fatal(err)
			}
			return topo
		}
		for range 10 {
			if topo := read(); topo.RolesKnown || len(topo.Denied) != 1 {
				t.Fatalf("%+v", topo)
			}
			time.Sleep(5 * time.Second)
		}
		if n := c.count("_pico_replicaset"); n != 1 {
			t.Errorf("asked %d times in 50 s", n)
		}
		c.do(func() { delete(c.denied, "_pico_replicaset") })
		time.Sleep(11 * time.Second)
		if topo := read(); !topo.RolesKnown || len(topo.Denied) != 0 {
			t.Errorf("the right that came later isn't used: %+v", topo)
		}
		c.do(func() { c.denied["_pico_replicaset"] = true })
		if topo := read(); topo.RolesKnown {
			t.Error("the right that was lost is still believed in")
		}
	})
}

// A host that stands in for 0.0.0.0 doesn't change with the node that tells of the instance,
// unless it is the instance itself.
func TestSourceStandInHosts(t *testing.T) {
	c := newFakeCluster(2)
	c.instances[0].Advertised, c.instances[1].Advertised = "0.0.0.0:4327", "[::]:4328"
	s := NewSQL(SQLConfig{})
	c.at["a:1"], c.at["b:1"], c.at["c:1"] = "uuid-1", "uuid-2", "uuid-1"
	for _, step := range []struct{ at, i1, i2 string }{
		{"a:1", "a:4327", "a:4328"}, // i2 is a guess
		{"b:1", "a:4327", "b:4328"}, // i2 itself
		{"a:1", "a:4327", "b:4328"},
		{"c:1", "c:4327", "b:4328"}, // i1 itself, seen from elsewhere
	} {
		conn, err := c.Dial(t.Context(), Target{Address: step.at})
		if err != nil {
			t.Fatal(err)
		}
		topo, err := readAll(s, t.Context(), conn, Target{Address: step.at, InstanceUUID: c.at[step.at]})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"i1": step.i1, "i2": step.i2} {
			if in, _ := topo.ByName(name); in.Address != want {
				t.Errorf("told by %s: %s is at %s, want %s", step.at, name, in.Address, want)
			}
		}
	}
}

func TestSourceNamesTheRefusedTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(2)
		conn, _ := c.Dial(t.Context(), Target{Address: "10.0.0.1:4327"})
		s := NewSQL(SQLConfig{})
		for _, table := range []string{"_pico_instance", "", "_pico_peer_address"} {
			c.denied = map[string]bool{table: table != ""}
			if table == "" {
				clear(c.denied)
			}
			time.Sleep(2 * time.Minute)
			topo, err := readAll(s, t.Context(), conn, Target{Address: "10.0.0.1:4327"})
			if err != nil {
				t.Fatal(err)
			}
			if want := c.denied[table]; topo.Static != want || want && !slices.Equal(topo.Denied, []string{table}) {
				t.Errorf("without %q: static %v, denied %q", table, topo.Static, topo.Denied)
			}
		}
	})
}

func TestSourceLiftsLimits(t *testing.T) {
	q, m := mock(t)
	m.ExpectQuery(onInstances).WillReturnError(&fakeErr{"sbroad: Reached a limit on max executed vdbe opcodes. Limit: 45000"})
	row := func() *sqlmock.Rows {
		return sqlmock.NewRows([]string{"uuid", "current_state", "address"}).AddRow("a", `["Online",1]`, "h:1")
	}
	unlimited := regexp.QuoteMeta(queryInstances + noLimits)
	for range 2 { // the second reading asks without limits at once
		m.ExpectQuery(unlimited).WillReturnRows(row())
		m.ExpectQuery(regexp.QuoteMeta(queryReplicasets + noLimits)).WillReturnRows(sqlmock.NewRows([]string{"uuid", "current_master_name", "target_master_name"}))
		m.ExpectQuery(regexp.QuoteMeta(queryTiers + noLimits)).WillReturnRows(sqlmock.NewRows([]string{"name", "bucket_count"}))
	}
	s := NewSQL(SQLConfig{})
	for range 2 {
		if _, err := readAll(s, context.Background(), q, Target{Address: "h:1"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIdentity(t *testing.T) {
	notFound := func(f string) error { return &fakeErr{"sbroad: SQL function " + f + " not found"} }
	value := func(v any) *sqlmock.Rows { return sqlmock.NewRows([]string{"col_1"}).AddRow(v) }
	t.Run("26.2", func(t *testing.T) {
		q, m := mock(t)
		m.ExpectQuery(`SELECT pico_instance_uuid\(\)`).WillReturnRows(value(uuid1))
		uuid, err := NewSQL(SQLConfig{}).Identity(context.Background(), q)
		if err != nil || uuid != uuid1 {
			t.Error(uuid, err)
		}
	})
	t.Run("25.2", func(t *testing.T) {
		q, m := mock(t)
		m.ExpectQuery(`SELECT pico_instance_uuid\(\)`).WillReturnError(notFound("pico_instance_uuid"))
		m.ExpectQuery(`SELECT instance_uuid\(\)`).WillReturnRows(value([]byte(uuid1)))
		uuid, err := NewSQL(SQLConfig{}).Identity(context.Background(), q)
		if err != nil || uuid != uuid1 {
			t.Error(uuid, err)
		}
	})
	t.Run("no answer", func(t *testing.T) {
		q, m := mock(t)
		m.ExpectQuery(`SELECT pico_instance_uuid\(\)`).WillReturnRows(value(nil))
		if uuid, err := NewSQL(SQLConfig{}).Identity(context.Background(), q); !errors.Is(err, errNoValue) || uuid != "" {
			t.Error(uuid, err)
		}
	})
}

func TestReadBuckets(t *testing.T) {
	answer := func(t *testing.T, v any, err error) ([]metadata.Range, error) {
		q, m := mock(t)
		e := m.ExpectQuery(regexp.QuoteMeta(`SELECT _pico_bucket('it''s')`))
		if err != nil {
			e.WillReturnError(err)
		} else {
			e.WillReturnRows(sqlmock.NewRows([]string{"col_1"}).AddRow(v))
		}
		b, err := NewSQL(SQLConfig{}).Buckets(context.Background(), q, "it's", 0)
		return b.Ranges, err
	}
	ranges, err := answer(t, []byte(`[{"bucket_id_start":1,"target_replicaset_uuid":"b","tier_name":"it's","state":"sending","current_replicaset_uuid":"a","bucket_id_end":1500,"new":[1]},
		{"bucket_id_start":7,"bucket_id_end":8,"tier_name":"other"}]`), nil)
	if err != nil || !slices.Equal(ranges, []metadata.Range{{Start: 1, End: 1500, State: "sending", Replicaset: "a", Target: "b"}}) {
		t.Errorf("%+v, %v", ranges, err)
	}
	for _, bad := range []any{nil, "", "[]", "{}", "null", `[{"bucket_id_start":0,"bucket_id_end":5}]`, `[{"bucket_id_start":5,"bucket_id_end":4}]`,
		`[{"bucket_id_start":5}]`, `[{"bucket_id_start":-1,"bucket_id_end":4}]`, `[{"bucket_id_start":1,"bucket_id_end":99999999999}]`, `[1]`} {
		if ranges, err := answer(t, bad, nil); err == nil {
			t.Errorf("%v gives %+v", bad, ranges)
		}
	}
	if _, err := answer(t, nil, &fakeErr{"sbroad: Query 1 from EXPLAIN (RAW): _pico_bucket: tier 'it's' doesn't exist"}); !errors.Is(err, ErrNoBuckets) {
		t.Error(err)
	}
	if _, err := answer(t, nil, &fakeErr{"sbroad: SQL function _pico_bucket not found"}); !errors.Is(err, ErrNoBuckets) {
		t.Error(err)
	}
	if _, err := answer(t, nil, &fakeErr{"sbroad: _pico_bucket: Bucket 7 cannot be found. Is rebalancing in progress?"}); err == nil || errors.Is(err, ErrNoBuckets) {
		t.Error(err)
	}
}
