// Package fleet runs many clients of one cluster in one process, on virtual time and a network in memory, and says what
// the servers see of them: queries, bytes and logins per second, connections per node.
//
//	go test ./conformance/fleet -v
//	go test ./conformance/fleet -v -fleet.clients 1,10,100,1000 -fleet.instances 100
//	go test ./conformance/fleet -v -fleet.clients 10,100 -fleet.instances 1000
//
// Every client is a connector of its own with the first instance alone in its DSN, and runs one small statement every
// five seconds. What it takes beyond those statements is what the table shows. The table of docs/scale.md was made so.
package fleet
