// Package wire is one physical connection to one node: lib/pq over a socket of our own.
//
// lib/pq encodes arguments, decodes rows and logs in. What it can't be trusted with, this
// package does around it:
//
//   - The guard, a net.Conn between lib/pq and the network, sees every frame of both
//     directions. It checks and bounds what the server sends before lib/pq sees it, counts
//     what was written, remembers every failure, and takes out what lib/pq must not meet.
//   - Statements: one flight each. A text runs unnamed at first and by name once it repeats;
//     the guard turns the one form into the other on its way, so naming costs no flight.
//   - Cancellation: lib/pq gets a context that never ends. Ours is watched with
//     context.AfterFunc, and its end passes the socket's deadline. No CancelRequest is sent:
//     Picodata doesn't know it.
//   - TLS is asked for here, so that no mode needs a second connection to find out.
//   - Errors say what happened to the bytes (*Error); driver.ErrBadConn stays inside.
//
// A Conn belongs to one goroutine at a time. Only Close may be called from another one.
package wire
