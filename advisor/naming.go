package advisor

// Subject names the join the way the plan's reader finds it: "join 0 MAPJOIN_25 (Map 1)".
func (j *Join) Subject() string { return subject(j) }

// InputName is what a person calls an input: its alias, its table, or its position.
func (j *Join) InputName(pos int) string { return inputName(j, pos) }

// MayStream tells whether a hash join may stream the input past copies of the others; no input of a FULL OUTER join may be.
func (j *Join) MayStream(pos int) bool { return streamable(j.Conditions, false)&bit(pos) != 0 }

// Bytes writes a number of bytes in decimal units: "2.4 GB", "812 B".
func Bytes(n int64) string { return human(n) }

// Grouped writes a number with its thousands separated: "21,000,000".
func Grouped(n int64) string { return grouped(n) }

// CountOf writes a number with its noun: "1 node", "400 reducers".
func CountOf(n int64, noun string) string { return count(n, noun) }

// AnalyzeTable is the ANALYZE of "database.table" and of some of its columns, two statements; empty when a name cannot be quoted.
func AnalyzeTable(table string, columns []string) string { return analyze(table, columns, true) }

// ValueSize is what the planner counts for one value of a type in its data sizes, in bytes; avgLen is the average length of texts and
// binaries, below 0 unknown: then it is the declared one, 100 for a STRING (hive.stats.max.variable.length). False for nested types.
func ValueSize(hiveType string, avgLen float64) (bytes int64, known bool) {
	if avgLen < 0 {
		avgLen = declaredLength(hiveType)
	}
	return valueSize(&columnStat{typ: hiveType, length: avgLen})
}

// Quoted puts a name in backticks; empty for a name that Hive could not have.
func Quoted(name string) string { return quote(name) }

// QuotedTable puts "database.table" in backticks, part by part; empty when it cannot be quoted.
func QuotedTable(table string) string { return quoteTable(table) }
