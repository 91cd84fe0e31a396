// Package admin is the port for operators and monitoring: /healthz, /readyz, /metrics, /debug/pprof/, /sessions and
// POST /sessions/{id}/kill.
//
// A [Server] only reads what the proxy knows anyway: nothing here opens a session in HiveServer2, asks Postgres or slows a
// relayed byte, and no failure here ends the proxy. It listens on the loopback interface, or asks every request for a token. A
// [Client] is the other end, for the command line. [Metrics] is the registry behind /metrics; SQL text leaves through this port
// without its literals, and session secrets never do.
package admin
