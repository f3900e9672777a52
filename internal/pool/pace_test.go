package pool

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picodata/go-picodata/options"
)

// manyNodes is a net of n nodes and what describes them.
func manyNodes(n int) (*fakeNet, []NodeSpec) {
	var names []string
	var specs []NodeSpec
	for i := range n {
		names = append(names, fmt.Sprintf("n%03d", i))
		specs = append(specs, spec(names[i], 10, 0))
	}
	return newNet(names...), specs
}

func (f *fakeNet) dialled() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, node := range f.nodes {
		n += node.dials
	}
	return n
}

// The connections that are kept ready are opened a few at once and then one after another: a program that starts in a
// cluster of hundreds of nodes, and a hundred of them, aren't hundreds of logins in a moment.
func TestWarmingIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes = 300
		o := options.New()
		o.MinIdleConnsPerInstance = 1
		f, specs := manyNodes(nodes)
		g := testGate(t, f, o, specs...)
		defer g.Close()
		synctest.Wait()
		if n := f.dialled(); n > warmBurst {
			t.Errorf("%d dials at once, want %d", n, warmBurst)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n, most := f.dialled(), warmBurst+int(time.Second/warmGap)*11/10+1; n > most {
			t.Errorf("%d dials in a second, want %d at most", n, most)
		}
		time.Sleep(nodes * warmGap * 12 / 10)
		synctest.Wait()
		if n := f.dialled(); n != nodes {
			t.Errorf("%d dials in all, want one a node", n)
		}
	})
}
