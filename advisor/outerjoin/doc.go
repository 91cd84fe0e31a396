// Package outerjoin tells for each predicate of a query with outer joins where it is evaluated and what that does to the
// result: Hive evaluates a predicate of ON during the join and one of WHERE after it, and by the table it is about it may
// or may not be evaluated below the join already.
//
//	                 preserved row table                 null supplying table
//	during join      no: it stays in the join            yes: below the join
//	after join       yes: below the join                 no: a filter on the join's output
//
// A LEFT join preserves its left side and supplies nulls for the right one, a RIGHT join the other way round, a FULL join
// does both to both. Source: seed "Understanding Hive Outer Join Behavior"; Apache Hive, OuterJoinBehavior. Hive's
// cost-based optimizer goes further where the result allows it: an outer join whose padded rows a filter throws away
// anyway is planned as an inner one.
package outerjoin
