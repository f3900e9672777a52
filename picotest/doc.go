// Package picotest is a Picodata cluster inside the process of a test, in the manner of
// net/http/httptest: it listens on loopback (or on a network in memory), speaks the
// server's side of the PostgreSQL protocol as Picodata does, runs real SQL with every row
// in the bucket that the server would put it in, and can be stopped, killed, frozen, cut
// off and reorganised instance by instance.
//
//	c := picotest.Start(t, picotest.Config{})
//	db, err := sql.Open("picodata", c.DSN())
//	…
//	c.Node("i1").Kill()
//
// What it answers was compared, message by message, with recordings of real clusters of
// two versions; the comparison is a test of this package and lists what may differ.
// It shares no code with the driver on purpose: an error in both would be invisible.
//
// # How it is built
//
// A Cluster holds the state that the governor of a real one would: topology.go keeps it and shows it to the
// instances as their system tables, lifecycle.go, switch.go and members.go change it. A Node has a door (door.go)
// through which clients come; a conn (conn.go) is one of them, its session (startup.go, auth.go, session.go, simple.go,
// extended.go, storage.go) speaks the protocol. A statement is planned (plan.go: whose copies, which hops, who is waited for) and
// run (run.go) by the engine below, which knows SQL, types and rows, but nothing of instances that come and go. Faults,
// holds and injected messages hang on points of a statement's life (hooks.go). Locks are taken in the order Cluster.moving,
// Cluster.mu, the engine's own; the engine asks back through live (topology.go), which takes none.
package picotest
