package picotest_test

import (
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// TestLagCatalog shows an instance's clients the past.
func TestLagCatalog(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	c.Node("i2").LagCatalog(true)
	c.SwitchLeader("default_1", "i2").Finish()
	if err := c.AddTier(picotest.Tier{Name: "cold", FailureDomain: map[string]string{"DC": "2"}}); err != nil {
		t.Fatal(err)
	}
	const query = "select current_master_name from _pico_replicaset where name = 'default_1'"
	ask := func(node, sql string) string {
		var got string
		if err := session(t, c, node, "").QueryRow(t.Context(), sql).Scan(&got); err != nil {
			t.Errorf("%s, %s: %v", node, sql, err)
		}
		return got
	}
	if past, now := ask("i2", query), ask("i1", query); past != "i1" || now != "i2" {
		t.Errorf("the lagging instance shows %s, the other one %s", past, now)
	}
	if got := ask("i1", "select failure_domain from _pico_instance where tier = 'cold'"); got != `{"DC":"2"}` {
		t.Errorf("failure domain %s", got)
	}
	c.Node("i2").LagCatalog(false)
	if got := ask("i2", query); got != "i2" {
		t.Errorf("caught up, it shows %s", got)
	}
	n := c.Node("i5")
	if n.Tier() != "cold" || n.Replicaset() != "cold_1" || !n.IsLeader() || n.IsRaftLeader() || n.Advertised() != n.Addr() {
		t.Errorf("the new instance: %s of %s in %s", n, n.Replicaset(), n.Tier())
	}
	if err := c.AddTier(picotest.Tier{Name: "cold"}); err == nil {
		t.Error("a tier was added twice")
	}
}

// TestTiers keeps tables of tiers apart, and an arbiter has no rows.
func TestTiers(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Tiers: []picotest.Tier{
		{Name: "hot", Replicasets: 2}, {Name: "cold", Buckets: 100}, {Name: "arbiter", Arbiter: true},
	}})
	if err := c.Exec("create table t (id int primary key) distributed by (id) in tier cold"); err != nil {
		t.Fatal(err)
	}
	conn := session(t, c, "i4", "") // of the arbiter
	if _, err := conn.Exec(t.Context(), "insert into t values (1)"); err != nil {
		t.Errorf("through the arbiter: %v", err)
	}
	ran := c.Statements(picotest.SQL("insert"))
	if len(ran) != 1 || strings.Join(ran[0].Ran, " ") != "i3" || !ran[0].Forwarded() {
		t.Errorf("ran: %+v", ran)
	}
	off := session(t, c, "i4", "forward=off")
	if _, err := off.Exec(t.Context(), "select * from t where id = $1", 1); err != nil {
		t.Errorf("forward=off, one bucket, from another tier: %v", err)
	}
	if _, err := off.Exec(t.Context(), "select * from t"); err == nil || !strings.Contains(err.Error(), "buckets span multiple nodes") {
		t.Errorf("forward=off, all buckets, from another tier: %v", err)
	}
	if got := column(t, c, "select max(bucket_id) from t"); len(got) > 3 || got == "" {
		t.Errorf("bucket %s of 100", got)
	}
	if err := c.Exec("create table a (id int primary key) distributed by (id) in tier arbiter"); err == nil {
		if err := c.Exec("insert into a values (1)"); err == nil || !strings.Contains(err.Error(), "bucket_count=0") {
			t.Errorf("a row in a tier without buckets: %v", err)
		}
	}
}

// TestUnlockBySQL ends a lock-out as an administrator does.
func TestUnlockBySQL(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	dsn := c.Node("i1").DSN()
	wrong := strings.Replace(dsn, "Passw0rd", "Wr0ngpass", 1)
	for range 4 {
		if _, err := connect(t, wrong); code(err) != "28P01" {
			t.Fatal(err)
		}
	}
	if _, err := connect(t, dsn); code(err) != "28P01" {
		t.Fatalf("not locked out: %v", err)
	}
	if _, err := session(t, c, "i2", "").Exec(t.Context(), `alter user "app" with login`); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, dsn); err != nil {
		t.Error(err)
	}
	if _, err := connect(t, c.UserDSN("plain")); err != nil {
		t.Error(err)
	}
}

// TestSeed repeats uuids.
func TestSeed(t *testing.T) {
	a, b := picotest.Start(t, picotest.Config{Seed: 7}), picotest.Start(t, picotest.Config{Seed: 7})
	other := picotest.Start(t, picotest.Config{})
	if a.Node("i1").UUID() != b.Node("i1").UUID() || a.Node("i1").ReplicasetUUID() != b.Node("i1").ReplicasetUUID() {
		t.Error("the same seed made different uuids")
	}
	if other.Node("i1").UUID() == a.Node("i1").UUID() || a.Node("i1").UUID() == a.Node("i2").UUID() {
		t.Error("different instances have one uuid")
	}
}

// TestBadConfig says what is wrong.
func TestBadConfig(t *testing.T) {
	for want, config := range map[string]picotest.Config{
		"version \"nonsense\"":         {Version: "nonsense"},
		"25.2 is the oldest":           {Version: "24.6"},
		"is there twice":               {Tiers: []picotest.Tier{{}, {}}},
		"an arbiter has no buckets":    {Tiers: []picotest.Tier{{Arbiter: true, Buckets: 1}}},
		"negative number":              {Tiers: []picotest.Tier{{Replicasets: -1}}},
		"want a positive factor":       {Scale: -1},
		"a user without a name":        {Users: []picotest.User{{}}},
		"method \"kerberos\"":          {Users: []picotest.User{{Name: "u", Method: "kerberos"}}},
		"invalid password: too short":  {Users: []picotest.User{{Name: "u", Password: "x"}}},
		"user u, grant \"everything\"": {Users: []picotest.User{{Name: "u", Password: "Passw0rd", Grants: []string{"everything"}}}},
	} {
		c, err := picotest.New(config)
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
