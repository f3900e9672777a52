package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// kind is a kind of fault.
type kind int

// The kinds. Those up to lastOutage take an instance away for a while; there is one of them at a time, for a
// cluster that has lost all members of a replicaset owes nobody an answer.
const (
	stop kind = iota
	kill
	freeze
	refuse
	resetDials
	blackHole
	lastOutage = blackHole
)

const (
	drop kind = lastOutage + 1 + iota
	reset
	fatal // an error that ends the connection, as a proxy sends it
	notice
	closeBytes
	closeParse
	closeExecute
	resetExecute
	closeAnswer
	resetAnswer
	closeRow
	insideRow
	closeReady
	hangExecute
	hangAnswer
	failRoute
	failReadonly
	failStale
	switchLeader
	moveBuckets
	rebalance
	grow // an instance joins; it is expelled when the fault ends
	move // the instance listens elsewhere
	lagCatalog
	lagRouter
	slow
	fullConns
	fullStatements
	kinds
)

var kindNames = [kinds]string{
	stop: "stop", kill: "kill", freeze: "freeze", refuse: "refuse", resetDials: "reset dials", blackHole: "black hole",
	drop: "drop connections", reset: "reset connections", fatal: "fatal error", notice: "notice",
	closeBytes: "close inside a flight", closeParse: "close at Parse", closeExecute: "close before execution", resetExecute: "reset before execution",
	closeAnswer: "close before the answer", resetAnswer: "reset before the answer", closeRow: "close after a row", insideRow: "close inside a row",
	closeReady: "close before ReadyForQuery", hangExecute: "hang before execution", hangAnswer: "hang before the answer",
	failRoute: "route error", failReadonly: "read-only error", failStale: "stale statement", switchLeader: "switch leader",
	moveBuckets: "move buckets", rebalance: "rebalance", grow: "add and expel", move: "move", lagCatalog: "lagging catalog", lagRouter: "lagging router",
	slow: "delay", fullConns: "no room for connections", fullStatements: "no room for statements",
}

func (k kind) String() string { return kindNames[k] }

// step is one fault of a schedule.
type step struct {
	at   time.Duration // since the beginning
	kind kind
	node int           // which of the instances, or replicasets
	arg  int           // how many times, which row, how many bytes
	last time.Duration // how long it lasts, if it is one that lasts
}

func (s step) String() string {
	return fmt.Sprintf("%8.3fs %s, node %d, %d, for %v", s.at.Seconds(), s.kind, s.node, s.arg, s.last)
}

// schedule lists the faults of a run: a pure function of the seed and the length.
func schedule(seed uint64, length time.Duration) []step {
	rnd := rand.New(rand.NewPCG(seed, 0))
	var steps []step
	var outageOver time.Duration
	at := 200 * time.Millisecond
	for n := 0; ; n++ {
		at += time.Duration(10+rnd.IntN(60)) * time.Millisecond
		if at >= length {
			return steps
		}
		s := step{at: at, kind: kind(rnd.IntN(int(kinds))), node: rnd.IntN(1 << 16), arg: 1 + rnd.IntN(8)}
		if n < int(kinds) {
			s.kind = kind(n) // every kind once, however short the run
		}
		s.last = time.Duration(50+rnd.IntN(250)) * time.Millisecond
		if s.kind <= lastOutage {
			if at < outageOver {
				if n >= int(kinds) {
					continue
				}
				at = outageOver
				s.at = at
			}
			s.last += time.Duration(rnd.IntN(600)) * time.Millisecond
			outageOver = at + s.last + settled
		}
		steps = append(steps, s)
	}
}
