// Package sample is the demo's data: a small shop as HiveQL statements, named queries that between them show all five
// join strategies, and stories of tables whose statistics went stale.
//
// Nothing in it is pretended. Hive generates the rows itself, the statistics are those it gathers, and the queries
// run in a second or three on Hive on Tez in local mode. In place of large tables the sessions have a small budget:
// they set hive.auto.convert.join.noconditionaltask.size to Budget, which is to these tables what the usual tens of
// megabytes are to a warehouse. The same database therefore gives the same plans on every Hive 4.
package sample
