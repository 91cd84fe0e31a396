// Package load is the client side of the benchmark rig: scenarios that talk to a HiveServer2 (wirebench/fakehs2), directly or
// through a proxy, and measure. Calls are serialised once and replies are read without Thrift's library, so that the client
// costs little; yet every reply is walked to its end, and its name, sequence id, status and number of rows are checked. An
// operation that fails a check ends the slice with an error.
package load
