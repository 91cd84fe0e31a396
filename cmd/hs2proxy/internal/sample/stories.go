package sample

import "github.com/hs2proxy/hs2proxy/advisor"

// Story is how a table's statistics go stale and what that does to one query. Told through a proxy, in order: a
// session runs Settings and SQL; another runs Load; SQL, run again, is still planned on the old numbers; an
// ANALYZE of Table and JoinColumns changes its plan. All of it starts from Setup's database.
type Story struct {
	Name string
	// Why is one sentence on what happens to the table.
	Why string
	// Table is "database.table"; JoinColumns are the columns of it that the query joins on, Columns all it reads.
	Table       string
	JoinColumns []string
	Columns     []string
	// Settings are the USE and SETs of the query's session.
	Settings []string
	SQL      string
	// Load are the statements of the loading session: SETs that turn automatic statistics off, then the INSERT.
	Load []string
	// RowsBefore is what the statistics say before and after the load; RowsLoaded what Load writes; RowsAfter what the
	// table then holds. For tests only, as are the strategies.
	RowsBefore, RowsLoaded, RowsAfter int64
	// Stale is the strategy on the old numbers, Fresh the one after the ANALYZE.
	Stale, Fresh advisor.Strategy
}

// Stories are the stories of both directions: statistics that claim too much and lose a map join, and statistics that
// claim too little and win a broadcast that the budget does not allow.
func Stories(db string) []Story {
	quiet := func(statement string) []string {
		return []string{use(db), "SET hive.stats.autogather=false", "SET hive.stats.column.autogather=false", statement}
	}
	session := []string{use(db), budget()}
	return []Story{
		{
			Name:        "a rebuilt list",
			Why:         "a nightly job overwrites campaign_targets with a shorter list and gathers no statistics: Hive still counts 6,000 rows",
			Table:       db + ".campaign_targets",
			JoinColumns: []string{"customer_id"},
			Columns:     []string{"customer_id", "channel"},
			Settings:    session,
			SQL: `SELECT t.channel, count(*) AS orders, sum(o.amount) AS revenue
FROM orders o JOIN campaign_targets t ON o.customer_id = t.customer_id
GROUP BY t.channel`,
			Load:       quiet("INSERT OVERWRITE TABLE campaign_targets " + generate(targetValues, 2000)),
			RowsBefore: 6000, RowsLoaded: 2000, RowsAfter: 2000,
			Stale: advisor.MergeJoin, Fresh: advisor.MapJoin,
		},
		{
			Name:        "a growing log",
			Why:         "a bulk load puts 15,000 rows into web_sessions and gathers no statistics: Hive still counts 500 rows",
			Table:       db + ".web_sessions",
			JoinColumns: []string{"customer_id"},
			Columns:     []string{"customer_id", "pages"},
			Settings:    session,
			SQL: `SELECT c.segment, count(*) AS sessions, sum(s.pages) AS pages
FROM customers c JOIN web_sessions s ON c.customer_id = s.customer_id
GROUP BY c.segment`,
			Load:       quiet("INSERT INTO TABLE web_sessions " + generate(sessionValues, 15000)),
			RowsBefore: 500, RowsLoaded: 15000, RowsAfter: 15500,
			Stale: advisor.MapJoin, Fresh: advisor.MergeJoin,
		},
	}
}
