// Command plans reads every plan of a file of EXPLAIN outputs and compares the joins it finds with the join operators
// of the text, which it counts without the parser:
//
//	go run ./cmd/hs2proxy/internal/plans PLANS.jsonl.gz
//
// The file is JSONL, gzipped or not: an object a line, of which "plan" is the text and "file", "form" and "query" name it
// in messages. Its last line of output is "plans=N parsed=N join_operators=N joins=N"; above it stands a line for each
// difference, and the status is 1 when there is one. Plans of Spark have none of Hive's join strategies: they are read
// and have to be recognised, but are not among these counts. Nor are plans that are masked as a whole.
package main
