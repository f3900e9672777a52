package pool

import (
	"context"
	"time"
)

// The cool-down after a refused login doubles with every refusal in a row.
const (
	loginFirst = 30 * time.Second
	loginMax   = 10 * time.Minute
)

// login keeps the gate from spraying a wrong password: a server locks a user after four refusals in a row.
type login struct {
	proven     bool // the last login that was answered succeeded
	err        *LoginError
	until      int64
	step       int
	credential string // that was refused
}

// passed is for a login that succeeded.
func (l *login) passed() { *l = login{proven: true} }

// refuse is for a login that was refused.
func (l *login) refuse(g *Gate, err error, n *node) {
	l.proven = false
	d := min(loginFirst<<min(l.step, 16), loginMax)
	l.step++
	l.until = g.now() + int64(d)
	l.err = &LoginError{Node: n.spec.Name, Address: n.spec.Address, CoolDown: d, Err: err}
	g.event(Event{Kind: LoginRefused, Node: n.info, For: d, Err: err})
}

// blocked is the error of a cool-down that only time can end. With a Credential function the dial itself
// finds out whether the password is another one now.
func (l *login) blocked(g *Gate) error {
	if l.err == nil || g.cfg.Credential != nil || g.now() >= l.until {
		return nil
	}
	return l.err
}

// refused is the error of a cool-down for a dial that is about to begin, outside the lock.
func (g *Gate) refused(ctx context.Context) error {
	if g.cfg.Credential == nil {
		return nil
	}
	now := g.cfg.Credential(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	l := &g.login
	if l.err != nil && g.now() < l.until && l.credential == now {
		return &coolingError{l.err}
	}
	l.credential = now
	return nil
}

// coolingError marks the error of a dial that wasn't made.
type coolingError struct{ *LoginError }
