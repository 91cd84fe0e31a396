// Package hiveql reads the text of one HiveQL statement and tells what can be known without a server: its kind,
// whether EXPLAIN is worth asking for, the tables it writes, the assignment of a SET, and a fingerprint that
// groups the executions of one query.
//
// It is a lexer by the rules of Hive's HiveLexer.g and a shallow reader on top, not a parser: it accepts texts Hive
// refuses, never fails and never panics. Time is linear in the length of the text, and what it returns is bounded
// (see MaxNormalized), so a client cannot make the proxy work hard with a hostile statement.
//
// Three facts of HiveServer2 shape it (seen on 4.0.1). Statements whose first word is SET, RESET, ADD, DFS and the
// like are not HiveQL: ExecuteStatementOperation hands them to a command processor that takes the rest of the text
// literally, so "SET a=1;" sets the value "1;". HiveServer2 splits nothing at semicolons: a trailing one is a parse
// error of HiveQL, which clients such as Beeline avoid by cutting it off themselves. And ${...} is replaced before
// lexing everywhere, in strings and backticks too, so a name that holds it is not known from the text.
//
// [Parse] reads the whole text; [Peek] reads what changes the session, at next to no cost; [Split] cuts a script into its statements.
//
// The package is pure: no I/O, no state, safe for concurrent use.
package hiveql
