// Package advisor judges the joins of a Hive plan: what the planner chose, what its selection rules choose from the same numbers, and what
// would change the choice.
//
// Joins reads the joins of a parsed plan, Enrich adds what the metastore knows of their tables, Select simulates the join selection of
// Hive on Tez (class ConvertJoinMapJoin) over them, Judge compares plan and simulation, Findings says what is worth telling a person.
// ParseWitness reads the planner's own numbers from an operation log, where a server gives them.
//
// Everything here is a pure function: no I/O, no clock, no state.
package advisor
