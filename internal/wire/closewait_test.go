package wire

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// dialMemory connects to the first node of a cluster in memory.
func dialMemory(t *testing.T) (*picotest.Node, *Conn) {
	t.Helper()
	c, err := picotest.New(picotest.Config{Network: picotest.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	n := c.Nodes()[0]
	cfg := clusterConfig(c)
	cfg.Options.DialFunc = c.DialContext
	cfg.Options.SSLMode = options.SSLDisable
	return n, dialNode(t, cfg, n)
}

// CloseWait returns when the server has let go, not before, and not after its time.
func TestCloseWait(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n, c := dialMemory(t)
			n.Delay(100 * time.Millisecond)
			begun := time.Now()
			if !c.CloseWait(time.Second) {
				t.Error("the server hasn't closed")
			}
			synctest.Wait() // the node counts after it has closed
			if open := n.Counters().Open; open != 0 || time.Since(begun) > 500*time.Millisecond {
				t.Errorf("%d open after %v", open, time.Since(begun))
			}
			if !c.CloseWait(time.Second) {
				t.Error("the server hasn't closed")
			}
		})
	})
	for _, d := range []time.Duration{time.Second, 10 * time.Second} {
		t.Run("given up/"+d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, c := dialMemory(t)
				hold := n.Hold(picotest.SQL("4711"))
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
				defer cancel()
				if _, err := c.Query(ctx, "select 4711", nil); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				if c.Usable() {
					t.Error("still usable")
				}
				// The server is at the statement for two seconds more.
				time.AfterFunc(2*time.Second, hold.ReleaseAll)
				begun := time.Now()
				ended := c.CloseWait(d)
				took := time.Since(begun)
				synctest.Wait()
				open := n.Counters().Open
				if d < 2*time.Second && (ended || took != d || open != 1) {
					t.Errorf("%d open after %v, want 1 after %v", open, took, d)
				}
				if d > 2*time.Second && (!ended || took < 2*time.Second || took > 3*time.Second || open != 0) {
					t.Errorf("%d open after %v, want none after 2 s", open, took)
				}
				if !ended {
					if !c.CloseWait(10 * time.Second) {
						t.Error("waiting on, the server still hasn't closed")
					}
					synctest.Wait()
					if open := n.Counters().Open; open != 0 {
						t.Errorf("%d open in the end", open)
					}
				}
				_ = c.Close()
				hold.ReleaseAll()
			})
		})
	}
}
