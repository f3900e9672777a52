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
package picotest
