package advisor

import "github.com/hs2proxy/hs2proxy/advisor/explain"

// Query is one query with what the advisors read: each looks at its part and tells what is worth a person's time.
type Query struct {
	// SQL is the query's own text; empty where only its plan is known.
	SQL string
	// Plan is what Hive planned; Verdicts are its joins, in plan order, enriched and judged.
	Plan     *explain.Plan
	Verdicts []JoinVerdict
	Settings Settings
	// Version is the server's, such as "4.0.1"; empty where no server was asked.
	Version string
	// Tables are the statistics that could be read, by "database.table"; nil where no server was asked.
	Tables map[string]TableStats
}
