// Package intercept relays connections between clients and one HiveServer2, and watches them.
//
// A [Server] accepts, connects to HiveServer2 and moves bytes both ways, unchanged and at the pace of the slower side. Every
// read is shown to a [thrift.Conn] before it is forwarded, except for long stretches that the Conn has no interest in, which
// are spliced; what it makes out of the bytes goes to the [Tracker], a state
// machine of sessions and statements shared by all connections of the upstream. The Tracker's events go to a [Sink],
// which may drop but never block. Nothing flows back: whatever happens to the observation, the bytes go on.
//
// Ownership: Serve owns the accept loop, each relay's goroutines its two connections; Shutdown waits for all of
// them. Lock order: Server, relay, thrift.Conn, Tracker, then the Sink's own; no lock is held across I/O.
package intercept
