// Package antijoin tells of queries that look for rows without a match: LEFT JOIN … WHERE right.key IS NULL, NOT EXISTS,
// NOT IN. Where Hive planned an outer join and a filter it names the condition that kept an anti join away; where it
// planned an anti join it tells what that saves, or that the version loses rows; and it explains what NOT IN costs.
//
// The query's text tells what was asked, the plan what came of it, and a finding needs both: a predicate that is not
// certain to be one of these forms, or that no join of the plan answers to, is passed over.
//
// Sources: seed "HIVE-23716 Support Anti Join in Hive"; Hive 4.0.1, HiveAntiSemiJoinRule (what is converted),
// HiveSubQueryRemoveRule (how NOT EXISTS and NOT IN become joins) and CalcitePlanner (when).
package antijoin
