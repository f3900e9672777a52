package picodata

import (
	"log/slog"

	"github.com/picodata/go-picodata/internal/pool"
)

// againNames say how a statement comes to be run again.
var againNames = map[action]string{again: "retry", reroute: "reroute", revive: "leader_changed"}

// logAgain says that a statement is run again, which its caller doesn't see. Of the text only the fingerprint
// shows: its literals are the user's.
func (r *run) logAgain(a action, n *pool.NodeInfo, err error) {
	c := r.s.c
	if !c.log.Enabled(r.ctx, slog.LevelDebug) {
		return
	}
	c.log.LogAttrs(r.ctx, slog.LevelDebug, "picodata: statement is run again",
		slog.String("node", n.Name), slog.String("address", n.Address), slog.String("operation", operationNames[r.op]),
		slog.String("statement", r.text.fingerprint()), slog.String("reason", againNames[a]), slog.Int("attempt", r.attempts), slog.Any("error", err))
}

// logNoConnection says that a statement found no node that can be connected to and will look again.
func (c *Connector) logNoConnection(tries int, err error) {
	c.log.LogAttrs(c.done, slog.LevelDebug, "picodata: no node can be connected to, trying on",
		slog.Int("attempt", tries+1), slog.Any("error", err))
}
