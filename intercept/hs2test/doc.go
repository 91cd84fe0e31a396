// Package hs2test is a HiveServer2 in the test's own process: TCLIService over SASL PLAIN, NOSASL or HTTP, with sessions that end
// with the connection that opened them, synchronous and asynchronous statements, results in batches of a chosen size, and any
// call overridden, malformed answers included. It knows no SQL: what a statement does is decided by a function.
package hs2test
