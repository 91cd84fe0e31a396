// Package tlsfiles makes TLS configurations of PEM files and reads the files again on demand: [Server] for clients of the
// proxy, [Client] for connections to HiveServer2.
//
// A reload reads and checks every file before anything changes; after an error all stays as it was. Nothing here runs by
// itself: the caller reloads on a signal, or asks Changed now and then, which sees files replaced, rewritten and switched by
// symbolic links, as Kubernetes does with secrets. Connections that are there keep what they began with.
//
// Go's TLS decides what is safe: TLS 1.2 or newer, its own choice of cipher suites, no renegotiation.
package tlsfiles
