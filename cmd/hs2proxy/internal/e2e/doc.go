// Package e2e runs real clients (PyHive, impyla, hive-driver for Node.js, gohive, Hive's JDBC driver and Beeline) through
// one list of statements and returns everything they were given: columns with types, every value with the client's own
// type, update counts, errors, the end of a cancelled query, the driver's metadata; a JSON object a line, and of Beeline
// what it writes. What does not depend on the server's data (query ids, times) is left out, so the output of a run
// against HiveServer2 and of a run through a proxy in front of it must be the same bytes.
//
// A client is fetched into the user's cache by its first run. It is for tests only; nothing of it is part of the
// hs2proxy program.
package e2e
