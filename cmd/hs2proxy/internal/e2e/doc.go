// Package e2e runs real clients, PyHive and Hive's JDBC driver, through one list of statements and returns everything
// they were given, a JSON object a line: columns with types, every value with the client's own type, update counts,
// errors, the end of a cancelled query. What does not depend on the server's data (query ids, times) is left out, so
// the output of a run against HiveServer2 and of a run through a proxy in front of it must be the same bytes.
//
// It is for tests only; nothing of it is part of the hs2proxy program.
package e2e
