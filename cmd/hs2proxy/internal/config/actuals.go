package config

import (
	"regexp"
	"time"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

// Actuals is how rows that operators really put out are counted, beyond what comes with clients' own statements.
type Actuals struct {
	ExplainAnalyze ExplainAnalyze `koanf:"explain_analyze"`
}

// ExplainAnalyze runs chosen queries again under EXPLAIN ANALYZE, which executes them. Off unless enabled.
type ExplainAnalyze struct {
	Enabled bool `koanf:"enabled"`
	// Cron and TimeZone say when, as a schedule of refreshes does; UTC when TimeZone is empty.
	Cron     string `koanf:"cron"`
	TimeZone string `koanf:"time_zone"`
	// Fingerprints are queries to run, as reports show them.
	Fingerprints []string `koanf:"fingerprints"`
	// MostJoined adds so many queries: those whose joins ran most often in the last seven days.
	MostJoined int `koanf:"most_joined"`
	// Timeout ends a query, in Hive too; MaxTime bounds all queries of one firing together.
	Timeout time.Duration `koanf:"timeout"`
	MaxTime time.Duration `koanf:"max_time"`
	// Queue is tez.queue.name of the sessions; empty: as the query's own session had it.
	Queue string `koanf:"queue"`
}

func defaultExplainAnalyze() ExplainAnalyze {
	return ExplainAnalyze{Cron: "0 4 * * 0", Timeout: 10 * time.Minute, MaxTime: time.Hour}
}

// maxCounted bounds the queries of one firing, listed and most joined.
const maxCounted = 1000

// fingerprint is what hiveql makes of a query.
var fingerprint = regexp.MustCompile(`^[0-9a-f]{16}$`)

func (v *validator) explainAnalyze(c Config) {
	const path = "actuals.explain_analyze."
	a := c.Actuals.ExplainAnalyze
	_, err := statscheck.ParseCron(a.Cron, a.TimeZone)
	v.below(path, err)
	for _, f := range a.Fingerprints {
		v.check(fingerprint.MatchString(f), path+"fingerprints", f, "fingerprints as reports show them, 16 hexadecimal digits")
	}
	v.check(len(a.Fingerprints) <= maxCounted, path+"fingerprints", len(a.Fingerprints), "at most 1000")
	v.check(a.MostJoined >= 0 && a.MostJoined <= maxCounted, path+"most_joined", a.MostJoined, "between 0 and 1000")
	v.positive(path+"timeout", a.Timeout)
	v.positive(path+"max_time", a.MaxTime)
	if !a.Enabled {
		return
	}
	v.check(len(a.Fingerprints)+a.MostJoined > 0, path+"fingerprints", "", "fingerprints, or most_joined above 0, since actuals.explain_analyze.enabled is true")
	v.check(c.Database.URL != "", "database.url", c.Database.URL, "a Postgres URL, since actuals.explain_analyze.enabled is true")
	v.check(c.Explain.Enabled, "explain.enabled", c.Explain.Enabled, "true, since actuals.explain_analyze.enabled is true")
}
