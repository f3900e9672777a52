package picotest

// maxClosed bounds how many connections a node remembers after their end.
const maxClosed = 10_000

// ConnInfo describes a connection.
type ConnInfo struct {
	// ID counts a node's connections from 1.
	ID uint64
	// Open tells that the connection hasn't ended.
	Open bool
	// User is "" before the startup message.
	User string
	// Params are the startup parameters.
	Params map[string]string
	// LoggedIn tells that the login succeeded.
	LoggedIn bool
	// Remote is the client's address.
	Remote string
	// Counters are the connection's own; those that make sense for nodes only stay zero.
	Counters Counters
}

func (c *conn) info(open bool) ConnInfo {
	info := ConnInfo{ID: c.id, Open: open, LoggedIn: c.loggedIn.Load(), Remote: c.socket.RemoteAddr().String(), Counters: c.counters.snapshot()}
	info.User, info.Params = c.session.who()
	return info
}

// Conns returns the node's open connections, in order of their ids.
func (n *Node) Conns() []ConnInfo {
	var list []ConnInfo
	for _, c := range n.connections() {
		list = append(list, c.info(true))
	}
	return list
}

// ClosedConns returns the node's connections that have ended, the newest 10,000 of them, in the order of their ends.
func (n *Node) ClosedConns() []ConnInfo {
	n.door.mu.Lock()
	defer n.door.mu.Unlock()
	list := n.door.closed
	return append([]ConnInfo(nil), list[max(0, len(list)-maxClosed):]...)
}
