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

// blocked is the error of a cool-down that only time can end. Where the password changes, the dial itself
// finds out whether it is another one now.
func (l *login) blocked(g *Gate) error {
	if l.err == nil || g.cfg.PasswordChanges || g.now() >= l.until {
		return nil
	}
	return l.err
}

// admitting is the key of the gate in the context of a dial.
type admitting struct{}

// Admit is for Config.Dial, with its context: it says whether the dial may log in with a password that isn't always the
// same, before anything is sent. credential stands for the password. While a refused one cools down, the same one isn't
// tried again; the error is what Dial has to return then, wrapped or not.
func Admit(ctx context.Context, credential string) error {
	g, ok := ctx.Value(admitting{}).(*Gate)
	if !ok {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := &g.login
	if l.err != nil && g.now() < l.until && l.credential == credential {
		return &coolingError{l.err}
	}
	l.credential = credential
	return nil
}

// coolingError marks the error of a dial that wasn't made.
type coolingError struct{ *LoginError }
