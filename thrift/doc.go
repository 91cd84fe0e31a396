// Package thrift follows one HiveServer2 connection byte by byte without owning it.
//
// A relay feeds a [Conn] with whatever it read from either side, before it forwards it; the Conn never alters, holds back or
// reorders a byte. From the first byte it decides how the connection speaks, and then follows it through layers that are kept
// apart, each in its own file:
//
//	sasl     negotiation messages: status byte, length, payload (plain: the user name of a PLAIN response)
//	frame    the 4-byte length in front of every payload after a SASL login
//	header   version and type, method name, sequence id of strict TBinaryProtocol
//	walker   finds the end of a message by its structure alone, whatever the reads cut it into
//	copy     the bounded copy of the few messages that are decoded
//	decode   those messages as gohive's generated types, read by hand (plainread, fields) unless they hold anything unusual
//	pending  calls that wait for their reply, in order
//	http     requests and responses: heads, bodies by length or in chunks, compressed ones, the login of each request
//
// What it learns goes to an [Observer]. What it cannot follow (TLS, sealed SASL payloads, anything malformed) makes the
// connection blind: the bytes go on unseen, with a reason to count. The one exception is a length beyond the limit,
// which Feed refuses with an [OversizeError].
//
// [Stream.Skip] tells how many of the coming bytes carry nothing of interest, so that a relay can hand them to the kernel
// instead of reading them.
package thrift
