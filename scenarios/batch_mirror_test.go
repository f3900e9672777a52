package scenarios_test

import (
	"testing"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// A statement of a batch that fails in a later round than the one in which its mirror got it is compared all the same.
func TestBatchThatFailsInALaterRoundIsCompared(t *testing.T) {
	s := startShadowed(t, 1, options.WithMirrorCompare(true), options.WithMirrorMode(options.MirrorAll),
		options.WithAcquireTimeout(200*time.Millisecond))
	n := s.cluster.Nodes()[0]
	ctx := picodata.ToInstance(t.Context(), n.Name())
	var one int
	if err := s.QueryRowContext(ctx, "select $1::int", 1).Scan(&one); err != nil { // a connection to have
		t.Fatal(err)
	}
	n.Refuse() // and no second one
	n.CloseAfter(picotest.BeforeAnswer(), picotest.SQL("select $1::int + 1"))
	b := picodata.NewBatch()
	it := b.Queue("select $1::int + 1", 1)
	if err := b.Run(ctx, s.DB); err == nil || it.Err() == nil {
		t.Fatal("it ran")
	}
	if m := s.compared(); m.Enqueued != 2 || m.Same != 1 || m.Incomplete != 1 {
		t.Errorf("%+v", m)
	}
}
