package scenarios_test

import (
	"testing"

	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// A handler that blocks holds up no statement: a thousand of them run while it stands still, and it
// hears of every notice afterwards, in order.
func TestNoticeHandlerHoldsUpNothing(t *testing.T) {
	heard := make(chan string)
	c, db, conn := startDB(t, picotest.Config{Tiers: []picotest.Tier{{Replicasets: 1, ReplicationFactor: 1}}},
		options.WithNoticeHandler(func(n options.Notice) { heard <- n.Message }))
	f := c.Node("i1").Inject(picotest.BeforeAnswer(), picotest.Notice("NOTICE", "00000", "careful"), picotest.SQL("select 77")).Times(2100)
	for range 1000 {
		mustExec(t, db, "select 77")
	}
	n := f.Count()
	if n != 1000 {
		t.Fatalf("%d notices were sent", n)
	}
	for range 1000 {
		if m := <-heard; m != "careful" {
			t.Errorf("heard %q", m)
		}
	}
	// One is in the handler's hands while 1,024 wait; what comes then is dropped.
	for range 1100 {
		mustExec(t, db, "select 77")
	}
	dropped := conn.Stats().NoticesDropped
	if dropped < 1100-1024-1 || dropped > 1100-1024 {
		t.Errorf("%d notices dropped of 1,100", dropped)
	}
	for range 1100 - int(dropped) {
		<-heard
	}
}
