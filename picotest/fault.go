package picotest

// Fault is a fault that was set. It happens once unless Times says otherwise.
type Fault struct {
	c *Cluster
	k *hook
}

// Times sets how often the fault happens from now on; negative: until Remove.
func (f *Fault) Times(n int) *Fault {
	f.c.hooks.mu.Lock()
	defer f.c.hooks.mu.Unlock()
	f.k.once = n
	return f
}

// Count returns how often it has happened.
func (f *Fault) Count() int { return f.c.hooks.count(f.k) }

// Remove takes the fault away.
func (f *Fault) Remove() { f.c.hooks.remove(f.k) }

func (c *Cluster) fault(n *Node, p Point, matches []Match, act func(*session, *Statement) outcome) *Fault {
	k := &hook{node: n, point: p, matches: matches, once: 1, act: act}
	c.hooks.add(k)
	return &Fault{c: c, k: k}
}

func cutting(how cutKind) func(*session, *Statement) outcome {
	return func(*session, *Statement) outcome { return outcome{cut: true, how: how} }
}

// CloseAfter closes the connection of the next statement that matches when it reaches the
// point: the client reads EOF.
func (n *Node) CloseAfter(p Point, matches ...Match) *Fault {
	return n.c.fault(n, p, matches, cutting(cutClose))
}

// ResetAfter is CloseAfter with a reset instead of EOF.
func (n *Node) ResetAfter(p Point, matches ...Match) *Fault {
	return n.c.fault(n, p, matches, cutting(cutReset))
}

// HangAfter lets the connection stay open and nothing come any more.
func (n *Node) HangAfter(p Point, matches ...Match) *Fault {
	return n.c.fault(n, p, matches, cutting(cutHang))
}

// Fail answers the next statement that matches with an error instead of running it.
func (n *Node) Fail(code, text string, matches ...Match) *Fault {
	return n.Inject(OnExecute(), ErrorMessage(code, text), matches...)
}

// Inject puts a message into the answer at a point. An ErrorMessage at OnExecute, OnParse, OnBind or OnLogin
// takes the place of the answer; every other message is sent besides it.
func (n *Node) Inject(p Point, m Message, matches ...Match) *Fault {
	return n.c.fault(n, p, matches, func(*session, *Statement) outcome {
		if m.replaces() && (p.kind == pointExecute || p.kind == pointParse || p.kind == pointBind || p.kind == pointLogin) {
			return outcome{answer: &injected{m}}
		}
		return outcome{insert: []injected{{m}}}
	})
}

// CloseAfter is Node.CloseAfter for whichever node the statement reaches.
func (c *Cluster) CloseAfter(p Point, matches ...Match) *Fault {
	return c.fault(nil, p, matches, cutting(cutClose))
}

// Fail is Node.Fail for whichever node the statement reaches.
func (c *Cluster) Fail(code, text string, matches ...Match) *Fault {
	return c.fault(nil, OnExecute(), matches, func(*session, *Statement) outcome {
		return outcome{answer: &injected{ErrorMessage(code, text)}}
	})
}
