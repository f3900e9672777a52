package scenarios_test

import (
	"context"
	"testing"
	"time"

	"github.com/picodata/go-picodata/options"
)

// After all instances were stopped, one after another, the driver knows of none that is Online. A statement waits
// for the next snapshot, as long as it may wait for a node, and runs when they are back.
func TestNobodyOnline(t *testing.T) {
	bubble(t, pairs(), func(t *testing.T, w *world) {
		w.open(nil, options.WithAcquireTimeout(time.Minute))
		if errs := w.read("select 1", 8); len(errs) > 0 {
			t.Fatal(errs[0])
		}
		for _, n := range w.cluster.Nodes() {
			<-n.Stop()
			time.Sleep(7 * time.Second)
		}
		if in, ok := w.c.Topology().ByName("i1"); !ok || in.State == "Online" {
			t.Fatalf("%+v", in)
		}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := w.ExecContext(ctx, "select 2")
			done <- err
		}()
		time.Sleep(3 * time.Second)
		select {
		case err := <-done:
			t.Fatalf("after %v: %v", time.Since(begun), err)
		default:
		}
		for _, n := range w.cluster.Nodes() {
			n.Start()
		}
		if err := <-done; err != nil || time.Since(begun) > 15*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}
