// Package fakehs2 is the HiveServer2 that the benchmark rig measures against, made to cost little beside a proxy: SASL PLAIN,
// TCLIService over TBinaryProtocol in 4-byte frames, and results serialised once.
//
// A statement that reads says in a comment what it returns (see [Ask]). EXPLAIN, DESCRIBE FORMATTED and SET -v are answered
// with what a HiveServer2 4.0.1 said of a map join of two tables. Like HiveServer2 it ends a session with the connection that
// opened it, takes its handle from any connection, and always says hasMoreRows=false: a client fetches until a batch is empty.
//
// For tests of behaviour, with statements that block, fail or are answered wrongly, see intercept/hs2test.
package fakehs2
