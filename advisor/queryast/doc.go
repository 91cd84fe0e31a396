// Package queryast reads the parts of a HiveQL query that advice about it needs: WITH, SELECT, FROM with its joins,
// WHERE, GROUP BY, HAVING, UNION, and the statements around a query (INSERT, CREATE … AS, multi-insert). Predicates are
// trees with their place in the text.
//
// The rules are those of Hive's grammar (FromClauseParser.g, IdentifiersParser.g, HiveLexer). The package knows neither
// tables nor types: what a name without a qualifier means is its caller's to find out. Text that it cannot read, SELECT
// TRANSFORM or a table function for instance, is an error and never half a tree, so that nobody guesses from it.
package queryast
