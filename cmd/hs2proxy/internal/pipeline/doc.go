// Package pipeline turns what the relay saw into what people read: it explains join candidates inside the client's own
// session over connections of our own, judges the plans, keeps an eye on the tables they read, and records it all.
//
// Data flows one way: events in (from intercept), records out (to a Store). Nothing here can slow or fail the relay: its
// queue is bounded, everything it asks of HiveServer2 is limited in number, rate and time, and a failure is a counter and
// an entry in the record.
package pipeline
