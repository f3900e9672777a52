// Package chaos runs the driver against a simulated cluster that breaks all the time, and keeps a
// ledger of what the driver said about every statement.
//
//	go test ./conformance/chaos -v -chaos.for 2m
//	go test ./conformance/chaos -v -chaos.for 10m -chaos.seed 4711
//
// Workers insert rows with unique keys, count in rows that they share, read by key and by range, over
// prepared statements, sql.Conns and contexts that end at random. Among the writes are INSERTs of several rows with a
// subquery in one, increments over several buckets, INSERTs that collide with a row that is there, and texts and rows that
// hold, word for word, what servers say when they refuse. Meanwhile every fault that picotest can make
// happens, in an order that the seed decides: the same seed makes the same faults, at the same times if the machine
// keeps up.
//
// In the end the ledger is compared with what the cluster holds:
//
//   - A write that was acknowledged took effect exactly once.
//   - A write that wasn't took effect once at most, and not at all unless the driver said that its outcome is unknown or
//     that it may be applied in part.
//   - No read failed unless its own context ended, and none gave a row that wasn't asked for, or missed one.
//   - Every counter is back at zero; no goroutine, descriptor or connection is left.
package chaos
