// Package mirror sends a copy of the traffic to another cluster: shadow traffic, whose answers
// nobody waits for.
//
// A Line belongs to one physical connection. Statements are handed to it whole or not at all, never
// with a wait; its worker executes them in order on a connection of its own, which it opens when the first
// one comes, and throws the answers away. What can't be handed over or executed is dropped and counted by
// reason, so that for every snapshot at rest
//
//	Offered = Sent + the sum of Dropped
//	Sent = OK + the sum of Errors
//
// Nothing that happens here reaches the caller: he takes a short lock that is held over no I/O. Dials are
// few whatever the number of lines: a target that failed isn't tried again before its pause is over, by nobody.
package mirror
