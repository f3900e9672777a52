package nodeset

import (
	"fmt"
	"testing"

	"github.com/picodata/go-picodata/options"
)

// What a thousand rules add to taking in a snapshot of a thousand nodes.
func BenchmarkThousandRules(b *testing.B) {
	o := options.New()
	address := func(i int) string { return fmt.Sprintf("10.0.%d.%d:4327", i/250, i%250) }
	for i := range 1000 {
		o.NodeWeights = append(o.NodeWeights, options.NodeRule{Selector: address(i), Value: i % 50})
	}
	rules := NewRules(o)
	var addresses, names []string
	for i := range 1000 {
		addresses, names = append(addresses, address(i)), append(names, fmt.Sprintf("i%d", i))
	}
	b.ReportAllocs()
	for range b.N {
		for i := range addresses {
			if w, _, _ := rules.Of(names[i], addresses[i:i+1], "default"); w != i%50 {
				b.Fatal(w)
			}
		}
	}
}

// Rules are inherited by name, address or tier, in this order.
func TestRules(t *testing.T) {
	o := options.New()
	o.MaxConnsPerInstance = 7
	o.NodeWeights = []options.NodeRule{{Selector: "tier:hot", Value: 3}, {Selector: "h:1", Value: 2}, {Selector: "i1", Value: 0}}
	o.NodeMaxConns = []options.NodeRule{{Selector: "tier:hot", Value: 9}}
	o.NodePriorities = []options.NodeRule{{Selector: "h:1", Value: 4}}
	for _, c := range []struct {
		name, address, tier          string
		weight, maxConns, priorityOf int
	}{
		{"i1", "h:1", "hot", 0, 9, 4},
		{"i2", "h:1", "hot", 2, 9, 4},
		{"i3", "h:3", "hot", 3, 9, 0},
		{"i4", "h:4", "default", options.DefaultWeight, 7, 0},
	} {
		w, m, p := NewRules(o).Of(c.name, []string{c.address}, c.tier)
		if w != c.weight || m != c.maxConns || p != c.priorityOf {
			t.Errorf("%s: weight %d, cap %d, priority %d; want %d, %d, %d", c.name, w, m, p, c.weight, c.maxConns, c.priorityOf)
		}
	}
}
