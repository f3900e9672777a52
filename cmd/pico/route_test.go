package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

func TestRoute(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	if err := c.Exec("create table orders (id int primary key, item text null)"); err != nil {
		t.Fatal(err)
	}
	owner := c.BucketOwner("default", 1934) // of the int 1
	leader := c.Leader(owner).Name()
	const insert = "INSERT INTO orders VALUES ($1, $2)"
	s := newSession(c)

	wants(t, s.must(t, "route", insert, "1", `\N`),
		leader+", the leader of "+owner+", which owns bucket 1934 of tier default\n",
		"node        "+leader+"@", "replicaset  "+owner, "bucket      1934", "reason      routed", "meaning     straight to the leader")
	// The cluster as an argument, and arguments with types, one of them negative.
	wants(t, s.must(t, "route", c.DSN(), insert, "int:1", "text:int:5"), "bucket      1934")
	wants(t, s.must(t, "route", insert, "int:1", "text:--json"), "bucket      1934")
	wants(t, s.must(t, "route", "--dsn", c.DSN(), insert, "-5", "tea"), "reason      routed")

	var plan routeAnswer
	out := s.must(t, "route", "--json", "--instance", "i2", insert, "-5", "tea")
	if err := json.Unmarshal([]byte(out), &plan); err != nil || plan.Node.Name != "i2" || plan.Reason != "hint" || plan.Meaning == "" {
		t.Errorf("%v, %s", err, out)
	}
	wants(t, s.must(t, "route", "--bucket", "1934", "--replica", "SELECT 1"), "a replica of "+owner)
	wants(t, s.must(t, "route", "--shard-key", "int:1", "SELECT 1"), "the leader of "+owner+", which owns bucket 1934")

	for _, fine := range []string{"EXPLAIN SELECT 1", "CREATE TABLE absent (id int primary key)", "SELECT * FROM orders WHERE id = $1"} {
		wants(t, s.must(t, "route", fine), "reason")
	}

	for _, bad := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--tier", "hot", "SELECT 1"}, exitFailed, `no tier "hot"`},
		{[]string{"--leader", "--replica", "SELECT 1"}, exitUsage, "leader replica"},
		{[]string{}, exitUsage, "no statement"},
		{[]string{insert, "int:x", "tea"}, exitUsage, `argument 1: "x" is no int; for a text that looks like this write text:int:x`},
		{[]string{"--shard-key", "uuid:1", "SELECT 1"}, exitUsage, "--shard-key 1"},
		{[]string{"--dsn", c.DSN(), c.DSN(), "SELECT 1"}, exitUsage, "given twice"},
		{[]string{insert, "1", "tea", "--json"}, exitUsage, "--json stands too late"},
		{[]string{c.DSN(), "--instance=i2", "SELECT 1"}, exitUsage, "--instance stands too late"},
		{[]string{"SELCT 1"}, exitFailed, "the server doesn't understand the statement"},
		{[]string{"SELECT nothing FROM orders"}, exitFailed, "nothing"},
		{[]string{"SELECT 1 FROM absent"}, exitFailed, "absent"},
		{[]string{" "}, exitUsage, "the statement is empty"},
	} {
		_, diag, code := s.run(t, append([]string{"route"}, bad.args...)...)
		if code != bad.code {
			t.Errorf("%v: exit code %d, want %d", bad.args, code, bad.code)
		}
		wants(t, diag, bad.want)
	}
	// Nothing of it was executed.
	rows, err := c.Query("select count(*) from orders")
	if err != nil || len(rows) != 1 || fmt.Sprint(rows[0][0]) != "0" {
		t.Errorf("%v, %v", rows, err)
	}
}

func TestArguments(t *testing.T) {
	for text, want := range map[string]string{
		"1": "string 1", `\N`: "<nil> <nil>", "int:-7": "int64 -7", "float:1.5": "float64 1.5", "bool:true": "bool true", "text:": "string ",
		"decimal:1.50": "decimal.Decimal 1.5", "uuid:9035910e-8342-4460-8c25-25e5f10d9876": "uuid.UUID 9035910e-8342-4460-8c25-25e5f10d9876",
		"time:2026-03-01T12:00:00+03:00": "time.Time 2026-03-01 12:00:00 +0300 +0300", "bytes:00ff": "[]uint8 [0 255]", "10:30": "string 10:30", "a:b:c": "string a:b:c",
	} {
		v, err := parseArg(text)
		if got := fmt.Sprintf("%T %v", v, v); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, bad := range []string{"int:1.5", "float:x", "bool:perhaps", "decimal:one", "uuid:1", "time:noon", "bytes:0"} {
		if v, err := parseArg(bad); err == nil {
			t.Errorf("%s: %v", bad, v)
		}
	}
}

func TestLooksLikeDSN(t *testing.T) {
	for text, want := range map[string]bool{
		"picodata://h": true, "POSTGRES://h": true, "postgresql://u@h/": true, "host=h user=u": true, " user = u": true,
		"SELECT 1": false, "INSERT INTO t VALUES ($1)": false, "select a=1": false, "DELETE FROM t WHERE id=$1": false, "": false, "http://h": false,
	} {
		if looksLikeDSN(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
