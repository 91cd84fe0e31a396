package main

import (
	"regexp"
	"strings"
)

var (
	// textJoin is the line of a join operator in EXPLAIN's text: alone at the left edge of its line, below a "<-" in
	// user-level plans, where an identifier and statistics follow.
	textJoin = regexp.MustCompile(`(?m)^[ \t|]*(?:<-)?(?:Map |Merge |Sorted Merge Bucket Map )?Join Operator(?: \[[A-Z]+_\d+\][^\n]*)?[ \t|\r]*$`)
	// jsonJoin is the key of a join operator in EXPLAIN FORMATTED.
	jsonJoin = regexp.MustCompile(`"(?:Map |Merge |Sorted Merge Bucket Map )?Join Operator"\s*:\s*[{\[]`)
	// jsonPlan is the start of EXPLAIN FORMATTED.
	jsonPlan = regexp.MustCompile(`(?m)^[ \t|]*\{\s*"`)
	// textPlan is what every text form but JSON has one of.
	textPlan = regexp.MustCompile(`(?m)^[ \t|]*(?:STAGE PLANS:|STAGE DEPENDENCIES:|Vertex dependency in |Stage-\d+[ \t|\r]*$)`)
	// sparkWork is the line or key of a Spark stage, a shuffle that only Spark has, or what only Spark's user-level plans
	// have: hash tables built before the join, and the sort-merge join in one vertex.
	sparkWork = regexp.MustCompile(`(?m)^[ \t|]*Spark[ \t|\r]*$|"Spark"\s*:\s*\{|[(\[](?:GROUP|(?:GROUP )?(?:PARTITION-LEVEL )?SORT)(?:, \d+)?[)\]]|\[HASHTABLESINK_\d+\]|Sorted Merge Bucket Map Join Operator \[`)
)

// joinOperators counts the join operators of a plan's text, without the parser.
func joinOperators(plan string) int {
	if jsonPlan.MatchString(plan) && !textPlan.MatchString(plan) {
		return len(jsonJoin.FindAllString(plan, -1))
	}
	return len(textJoin.FindAllString(plan, -1))
}

// isSpark tells plans of Spark, without the parser.
func isSpark(plan string) bool {
	return sparkWork.MatchString(plan)
}

// masked is what Hive's tests print for a line that differs between runs.
const masked = "#### A masked pattern was here ####"

// isMasked tells outputs of which nothing is left to read.
func isMasked(plan string) bool {
	return strings.Contains(plan, masked) && strings.TrimSpace(strings.ReplaceAll(plan, masked, "")) == ""
}
