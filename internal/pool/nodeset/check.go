package nodeset

import "fmt"

// Check tells whether what is kept of a node's place in its wide classes is what its condition says. It is for tests
// of the set and of its owner.
func (s *Set) Check(n *Node) error {
	for i := range n.wide {
		m := &n.wide[i]
		c, l := m.class, m.level
		if want := n.Usable && (!n.Ejected || c.panic); want != m.in {
			return fmt.Errorf("candidate of %+v: %v, want %v", c.Filter, m.in, want)
		}
		if want := m.in && n.Ready && s.capped; want != m.ready {
			return fmt.Errorf("ready in %+v: %v, want %v", c.Filter, m.ready, want)
		}
		living, healthy, usable := 0, 0, 0
		for _, o := range c.nodes {
			om := o.memberOf(c)
			if o.Living() && !om.level.overflow {
				living++
			}
			if !o.Ejected && (!om.level.overflow || om.health) {
				healthy++
			}
			if om.level == l && om.in {
				usable++
			}
		}
		if living != c.living || healthy != c.healthy || usable != l.usable {
			return fmt.Errorf("class %+v: living %d healthy %d candidates %d, should be %d %d %d", c.Filter, c.living, c.healthy, l.usable, living, healthy, usable)
		}
	}
	return nil
}
