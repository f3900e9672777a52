package pool

import (
	"context"
	"time"

	"github.com/picodata/go-picodata/options"
)

// The cool-down after a refused login doubles with every refusal of that node in a row.
const (
	loginFirst = 30 * time.Second
	loginMax   = 10 * time.Minute
)

// asks bounds the nodes that are dialled at once to find out whether the password is another one.
const asks = 4

// login is what the cluster's answers to logins have shown.
type login struct {
	proven  bool // one has succeeded: dials needn't go one by one
	refused int  // nodes that cool down
}

// refusal keeps the gate from trying a wrong password on a node again and again: a server locks a user after four
// refusals in a row. The lock is that instance's, and so is the cool-down.
type refusal struct {
	active     bool // the node isn't dialled
	asking     bool // but for this dial, which finds out whether the password is another one
	err        *LoginError
	until      int64
	step       int
	cleared    bool          // its last answer to a login was to accept it
	credential string        // that was refused
	proven     string        // that was accepted last
	trying     chan struct{} // another one is under way; closed when it has its answer
	timer      options.Timer
}

// accepted is for a login that succeeded.
func (g *Gate) accepted(n *node, credential string) {
	g.login.proven = true
	n.refusal.step, n.refusal.proven, n.refusal.cleared = 0, credential, true
	g.lift(n)
	if g.login.refused == 0 || !g.cfg.PasswordChanges {
		return
	}
	for _, o := range g.slots { // those that refused another one
		if o != nil && o.refusal.credential != credential {
			g.lift(o)
		}
	}
}

// refused is for a login that a node refused.
func (g *Gate) refused(n *node, err error, credential string) *LoginError {
	r := &n.refusal
	d := min(loginFirst<<min(r.step, 16), loginMax)
	r.step++
	r.err = &LoginError{Node: n.Spec.Name, Address: n.Spec.Address, CoolDown: d, Err: err}
	r.until, r.credential, r.cleared = g.now()+int64(d), credential, false
	g.coolDown(n)
	g.event(Event{Kind: LoginRefused, Node: n.Info, For: d, Err: err})
	return r.err
}

// coolDown keeps a node from being dialled until the time of its refusal has passed.
func (g *Gate) coolDown(n *node) {
	r := &n.refusal
	r.asking = false
	if r.active {
		g.dropDials(n)
		return
	}
	r.active = true
	g.login.refused++
	stop(&r.timer)
	r.timer = g.clock.AfterFunc(time.Duration(max(r.until-g.now(), 0)), func() {
		g.mu.Lock()
		defer g.unlock()
		g.lift(n)
	})
	g.condition(n)
	g.dropDials(n)
}

// lift ends a node's cool-down.
func (g *Gate) lift(n *node) {
	if !n.refusal.active {
		return
	}
	n.refusal.active, n.refusal.asking = false, false
	g.login.refused--
	stop(&n.refusal.timer)
	if g.closed || n.leaving {
		return
	}
	g.condition(n)
	g.warmSoon(n)
	g.due = true
}

// askAgain dials nodes that cool down, for a password that may be another one now: Admit tells, before it is sent. It
// returns whether any is being asked. Who waits for nothing else hears of the outcome.
func (g *Gate) askAgain(w *waiter) bool {
	asking := 0
	for _, x := range w.lane.class.Nodes() {
		n := g.node(x)
		if !n.refusal.active || !w.lane.class.Open(x, w.tried) {
			continue
		}
		if !n.refusal.asking && asking < asks && n.room() && !g.full() && !g.closed {
			n.refusal.asking = true
			g.reserve(n)
			g.startDials(n)
		}
		if n.refusal.asking {
			asking++
		}
	}
	return asking > 0
}

// admitting is the key of the dial in its context.
type admitting struct{}

// Admit is for Config.Dial, with its context: it says whether the dial may log in with a password that isn't always the
// same, before anything is sent. credential stands for the password. While a refused one cools down, the same one isn't
// tried again on that node; the error is what Dial has to return then, wrapped or not.
func Admit(ctx context.Context, credential string) error {
	op, ok := ctx.Value(admitting{}).(*dialOp)
	if !ok {
		return nil
	}
	g, r := op.node.gate, &op.node.refusal
	for {
		g.mu.Lock()
		if r.err != nil && g.now() < r.until && r.credential == credential {
			g.mu.Unlock()
			return &coolingError{r.err}
		}
		trying := r.trying
		if credential == r.proven || trying == nil {
			if op.credential = credential; credential != r.proven {
				op.trying = make(chan struct{})
				r.trying = op.trying
			}
			g.mu.Unlock()
			return nil
		}
		g.mu.Unlock()
		// Whether this one is good will be known in a moment: it isn't tried twice on one node.
		select {
		case <-trying:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Admit is the function Admit for a dial that isn't the gate's.
func (g *Gate) Admit(address, credential string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.nodes {
		if r := &n.refusal; n.Spec.Address == address && r.err != nil && g.now() < r.until && r.credential == credential {
			return &coolingError{r.err}
		}
	}
	return nil
}

// coolingError marks the error of a dial that wasn't made.
type coolingError struct{ *LoginError }
