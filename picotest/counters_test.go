package picotest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/picodata/go-picodata/picotest"
)

// TestCounters counts what a known conversation consists of.
func TestCounters(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	n := c.Node("i1")
	n.RecordFrames(true)
	w, err := openMemory(c, n)
	if err != nil {
		t.Fatal(err)
	}
	if _, end, err := w.login(startupBody("admin", map[string]string{"options": "read_preference=any"})); end != "ready" {
		t.Fatal(end, err)
	}
	if k := n.Counters(); k.Flights != 2 || k.Writes != 2 || k.Open != 1 || k.Ever != 1 || k.Logins != 1 ||
		k.Sessions[picotest.SessionKey{User: "admin", Options: "read_preference=any"}] != 1 {
		t.Errorf("after the login: %+v", k)
	}
	n.ResetCounters()
	got, _, err := w.exchange([]message{
		{"P", []byte("\x00select $1::int\x00\x00\x00")},
		{"B", []byte("\x00\x00\x00\x00\x00\x01\x00\x00\x00\x0242\x00\x00")},
		{"D", []byte("P\x00")},
		{"E", []byte("\x00\x00\x00\x00\x00")},
		{"S", nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	k := n.Counters()
	for kind, want := range map[string]int{"P": 1, "B": 1, "D": 1, "E": 1, "S": 1, "Q": 0} {
		if k.Received[kind] != want {
			t.Errorf("%d messages %s received, want %d", k.Received[kind], kind, want)
		}
	}
	sent, bytes := 0, 0
	for _, m := range got {
		sent, bytes = sent+1, bytes+5+len(m.Body)
	}
	total := 0
	for _, v := range k.Sent {
		total += v
	}
	if total != sent || k.BytesSent != bytes {
		t.Errorf("%d messages and %d bytes sent, want %d and %d", total, k.BytesSent, sent, bytes)
	}
	if k.Flights != 1 || k.Writes != 1 || k.Statements != 1 || k.Open != 1 || k.PreparedNow != 1 {
		t.Errorf("%+v", k)
	}
	list := c.Statements()
	if len(list) != 1 || list[0].SQL != "select $1::int" || len(list[0].Args) != 1 || list[0].Args[0] != "42" || !list[0].Extended ||
		list[0].User != "admin" || list[0].Node != "i1" || list[0].Tag != "SELECT 1" {
		t.Errorf("statements: %+v", list)
	}
	text := n.Dialogue()
	if !strings.Contains(text, `i1/1 > Parse "\x00select $1::int`) || !strings.Contains(text, "i1/1 < DataRow") {
		t.Errorf("the dialogue lacks frames:\n%s", text)
	}
	if strings.Contains(text, "md5"+"T0p") || !strings.Contains(text, `Password "***"`) {
		t.Error("the dialogue tells passwords")
	}
	infos := n.Conns()
	if len(infos) != 1 || infos[0].User != "admin" || infos[0].Params["options"] != "read_preference=any" || infos[0].Counters.Statements != 1 {
		t.Errorf("connections: %+v", infos)
	}
	w.close()
	if err := c.WaitConnections(t.Context(), n.Name(), 0); err != nil {
		t.Error(err)
	}
	if ended := n.ClosedConns(); len(ended) != 1 || ended[0].Open || ended[0].Counters.Statements != 1 || ended[0].Counters.Flights != 3 {
		t.Errorf("ended connections: %+v", ended)
	}
	if k := n.Counters(); k.PreparedNow != 0 {
		t.Errorf("%d prepared statements after the end", k.PreparedNow)
	}
}

func openMemory(c *picotest.Cluster, n *picotest.Node) (*wire, error) {
	conn, err := c.DialContext(context.Background(), "tcp", n.Addr())
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, user: "admin", password: "T0psecret"}, nil
}

// TestFlights sends a pipeline in pieces: the node answers at its end, and one flight is counted.
func TestFlights(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Network: picotest.Memory})
	n := c.Node("i1")
	w, err := openMemory(c, n)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if _, end, err := w.login(startupBody("admin", nil)); end != "ready" {
		t.Fatal(end, err)
	}
	n.ResetCounters()
	h := n.HoldAt(picotest.OnParse())
	if err := w.write("P", []byte("\x00select 1\x00\x00\x00")); err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	h.ReleaseAll()
	h = n.Hold()
	for _, m := range []message{{"B", []byte("\x00\x00\x00\x00\x00\x00\x00\x00")}, {"E", []byte("\x00\x00\x00\x00\x00")}} {
		if err := w.write(m.Type, m.Body); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if k := n.Counters(); k.BytesSent != 0 || k.Flights != 1 || k.Writes != 3 {
		t.Errorf("before Sync: %d bytes sent, %d flights, %d writes; want 0, 1, 3", k.BytesSent, k.Flights, k.Writes)
	}
	h.ReleaseAll()
	got, _, err := w.exchange([]message{{"S", nil}})
	if err != nil || kinds(got) != "12DCZ" {
		t.Errorf("got %s, %v", kinds(got), err)
	}
	if k := n.Counters(); k.Flights != 1 || k.Writes != 4 {
		t.Errorf("%d flights and %d writes, want 1 and 4", k.Flights, k.Writes)
	}
}

// TestHops counts calls between instances.
func TestHops(t *testing.T) {
	c, _ := sharded(t, picotest.Config{})
	conn := session(t, c, "i2", "")
	for _, tc := range []struct {
		sql    string
		hops   int
		served map[string]int
	}{
		{"select v from t where id = 1", 1, map[string]int{"i1": 1}},
		{"select v from t where id = 2", 1, map[string]int{"i3": 1}},
		{"select count(*) from t", 2, map[string]int{"i1": 1, "i3": 1}},
		{"insert into t values (3, 0), (5, 0)", 2, map[string]int{"i1": 1, "i3": 1}},
		{"select 1", 0, map[string]int{"i2": 1}},
		{"select name from _pico_instance", 0, map[string]int{"i2": 1}},
		{"create table u (id int primary key)", 1, map[string]int{"i1": 1}},
	} {
		c.ResetCounters()
		if _, err := conn.Exec(t.Context(), tc.sql, pgx.QueryExecModeExec); err != nil {
			t.Errorf("%s: %v", tc.sql, err)
		}
		if got := c.Node("i2").Counters().Hops; got != tc.hops {
			t.Errorf("%s: %d hops, want %d", tc.sql, got, tc.hops)
		}
		for _, n := range c.Nodes() {
			if got := n.Counters().Served; got != tc.served[n.Name()] {
				t.Errorf("%s: %s took part %d times, want %d", tc.sql, n.Name(), got, tc.served[n.Name()])
			}
		}
	}
}
