package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// pico runs the command and returns what it printed.
func pico(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(context.WithoutCancel(t.Context()))
	return out.String(), err
}

func TestRoute(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	if err := c.Exec("create table orders (id int primary key, item text null)"); err != nil {
		t.Fatal(err)
	}
	owner := c.BucketOwner("default", 1934) // of the int 1
	leader := c.Leader(owner).Name()
	const insert = "INSERT INTO orders VALUES ($1, $2)"

	t.Setenv("PICODATA_DSN", "")
	if _, err := pico(t, "route", insert, "1", "tea"); err == nil || !strings.Contains(err.Error(), "--dsn") {
		t.Errorf("without a cluster: %v", err)
	}
	t.Setenv("PICODATA_DSN", c.DSN())
	out, err := pico(t, "route", insert, "1", `\N`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		leader + ", the leader of " + owner + ", which owns bucket 1934 of tier default\n",
		"node        " + leader + "@", "replicaset  " + owner, "bucket      1934", "reason      routed",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out, err = pico(t, "route", "--json", "--instance", "i2", insert, "-5", "tea"); err != nil {
		t.Fatal(err)
	}
	var plan picodata.Plan
	if err := json.Unmarshal([]byte(out), &plan); err != nil || plan.Node.Name != "i2" || plan.Reason != "hint" {
		t.Errorf("%v, %s", err, out)
	}
	if out, err = pico(t, "route", "--bucket", "1934", "--replica", "SELECT 1"); err != nil || !strings.Contains(out, "a replica of "+owner) {
		t.Errorf("%v, %s", err, out)
	}
	if _, err = pico(t, "route", "--tier", "hot", "SELECT 1"); err == nil || !strings.Contains(err.Error(), `no tier "hot"`) {
		t.Errorf("an unknown tier: %v", err)
	}
	if _, err = pico(t, "route", "--leader", "--replica", "SELECT 1"); err == nil {
		t.Error("a leader that is a replica")
	}
	// Nothing of it was executed.
	rows, err := c.Query("select count(*) from orders")
	if err != nil || len(rows) != 1 || fmt.Sprint(rows[0][0]) != "0" {
		t.Errorf("%v, %v", rows, err)
	}
}
