package pipeline

import (
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// LogRecord is what becomes of a record without a database: the verdict of every join of an ended statement, and its
// findings, in the log.
func LogRecord(log zerolog.Logger, r Record) {
	o := r.Observation
	if o == nil || !o.Statement.State.Final() || o.Analysis == nil || o.Analysis.Reused {
		return
	}
	a := o.Analysis
	if a.Error != "" {
		log.Info().Str("fingerprint", a.Fingerprint).Str("error", a.Error).Msg("query not explained")
		return
	}
	for _, j := range a.Joins {
		log.Info().Str("fingerprint", a.Fingerprint).Int("join", j.Join.Ordinal).Str("vertex", j.Join.Vertex).
			Str("planned", string(j.Verdict.Planned)).Str("simulated", string(j.Verdict.Simulated)).Bool("agrees", j.Verdict.Agrees).
			Str("reason", j.Decision.Reason).Msg("join")
	}
	for _, f := range a.Findings {
		level := zerolog.InfoLevel
		if f.Severity == advisor.High || f.Severity == advisor.Critical {
			level = zerolog.WarnLevel
		}
		log.WithLevel(level).Str("fingerprint", a.Fingerprint).Str("kind", string(f.Kind)).Str("severity", string(f.Severity)).
			Str("subject", f.Subject).Str("summary", f.Summary).Str("advice", f.Advice).Msg("finding")
	}
}
