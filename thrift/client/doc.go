// Package client holds our own connections to HiveServer2. Everything the proxy asks for itself goes through it:
// EXPLAIN inside a client's session, SET -v, DESCRIBE, ANALYZE. It is the only adapter over beltran/gohive; nothing of
// gohive's appears in its interface.
//
// There are two kinds of connection. A [Session] is a session of our own, on gohive.Connect and its Cursor. A [Conn] is
// an authenticated connection without a session, on gohive's generated TCLIService client: HiveServer2 addresses sessions
// by handle and not by connection, so a Conn can run a statement in a session somebody else opened, with settings for that
// statement alone (confOverlay). Closing a Conn leaves such sessions alive.
//
// Both stand on a link, which has connected and logged in: binary or HTTP, with or without TLS, by password, by a Kerberos
// ticket from a keytab (gokrb5), or not at all.
//
// Contracts:
//   - One call at a time: both types serialize concurrent use.
//   - Every operation is closed in HiveServer2, also when the context ends: it is then cancelled first. For that a call
//     outlives its context by up to [Grace]; a server that does not answer even then is left by closing the socket, and
//     what it was doing stays with the session (see [AsyncCompile]).
//   - Every call has a deadline, every result a bound ([MaxRows], [MaxResultBytes], [MaxLogLines]).
//   - Errors name HiveServer2 and its address. What HiveServer2 refused is an [*Error] inside; the rest is transport. No
//     error holds a password or the secret of a handle.
//
// What gohive does that this package keeps from its callers: panics on what it does not know; the local user's name where
// none is given; an OpenSession refusal that goes unnoticed; sockets left open by a failed login; a login reply's length
// trusted up to 4 GB; Kerberos by C libraries only; a deadline in the context that makes Thrift read again and again after
// a timeout; no rows where the server compiles asynchronously; columns of one name folded into one; NULLs read as zero
// values; SQL states lost.
package client
