// Package upstream is the set of HiveServer2s that a proxy relays to: fixed ones, or those registered in ZooKeeper. It says in
// which order a connect should try them, from the number of open connections and from how the last dials went, and it caches the
// addresses of their host names.
//
// The package dials nothing for a client. Its user asks Candidates, dials, and tells the Set with Dialed how that went; it calls
// Opened when it begins to dial and Closed when that failed or the connection has ended.
//
// Where the parts run: Candidates, Opened, Closed, Dialed and Resolver.Cached neither block nor do I/O, so an event loop may call
// them. A Set made by NewZooKeeper has a goroutine that follows ZooKeeper, a Set with Options.Probe one for its checks; Close ends
// both and waits for them.
//
// Locks: Set.mu may be held while a server's health.mu is taken, never the other way round; callbacks run without either.
package upstream
