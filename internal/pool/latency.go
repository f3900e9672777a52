package pool

import "time"

const (
	// latencyEvery is how often a node's round trip is asked for.
	latencyEvery = time.Second
	// latencyFor is how long a latency counts that isn't measured again.
	latencyFor = time.Minute
)

// roundTripper is what a Conn may offer: the connection's round trip, 0 if it isn't known.
type roundTripper interface{ RTT() time.Duration }

// observe takes a round trip, in ns, into the node's moving average. One that isn't known is ignored.
func (n *node) observe(rtt, now int64) {
	if rtt <= 0 {
		return
	}
	n.measured = true
	if n.latency == 0 || now-n.count.latencyAt.Load() > int64(latencyFor) {
		n.latency = rtt
	} else {
		n.latency += (rtt - n.latency) / 8
	}
	n.count.latencyAt.Store(now)
	n.count.latency.Store(n.latency)
}

// observeDial makes do with the time of a dial as long as no round trip is known: it is several of them, on all nodes alike.
func (n *node) observeDial(took, now int64) {
	if n.measured {
		return
	}
	n.observe(took, now)
	n.measured = false
}

// forget makes an old latency unknown, so that the strategy nearest tries the node again. It is called with
// every snapshot of the topology.
func (g *Gate) forget(n *node, now int64) {
	if n.measured && n.latency > 0 && now-n.count.latencyAt.Load() > int64(latencyFor) {
		n.latency = 0
		n.count.latency.Store(0)
		g.refresh(n)
	}
}
