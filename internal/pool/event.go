package pool

import "time"

// EventKind says what happened.
type EventKind uint8

// The kinds of events.
const (
	NodeJoined     EventKind = iota // a node is new in the set, or back in it
	NodeChanged                     // its description changed
	NodeDraining                    // it left the set; InUse leases are still out
	NodeGone                        // its last connection is closed
	NodeEjected                     // its connections failed; it isn't used For that time
	ProbeFailed                     // the probe after an ejection failed; ejected again For that time
	NodeReadmitted                  // it is used again
	NodeFull                        // it has no room for new connections, and isn't asked For that time
	DialFailed                      // Err says why
	LoginRefused                    // the node isn't dialled For that time; Err says why
	ConnOpened
	ConnClosed     // Reason says why
	AllEjected     // On: no node of the set is healthy, so ejected ones are used; off: that is over
	OverflowBegan  // a node of weight 0 was leased, the first time in a second; Reason says why
	CapRaised      // max_conns is less than the number of nodes; Max is in force
	BalancerFailed // a user's strategy misbehaved; Reason says how. The first candidate was used
	WeightsAllZero // no node has a weight above 0, so that weights of 0 don't mean overflow
	eventKinds
)

var eventNames = [eventKinds]string{
	"node joined", "node changed", "node draining", "node gone", "node ejected", "probe failed", "node readmitted", "node full",
	"dial failed", "login refused", "connection opened", "connection closed", "all nodes ejected", "overflow", "cap raised", "balancer failed", "all weights are zero",
}

// String names the kind as a log message.
func (k EventKind) String() string {
	if k < eventKinds {
		return eventNames[k]
	}
	return "unknown event"
}

// Event is something that happened in the gate. Which fields are set depends on the kind.
type Event struct {
	Kind   EventKind
	Node   *NodeInfo
	Reason string
	For    time.Duration
	Err    error
	InUse  int
	Max    int
	On     bool
}

// event queues an event. unlock delivers it.
func (g *Gate) event(e Event) {
	if g.cfg.OnEvent != nil {
		g.events = append(g.events, e)
	}
}
