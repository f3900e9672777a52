package pool

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
