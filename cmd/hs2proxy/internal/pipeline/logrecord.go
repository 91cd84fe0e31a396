package pipeline

import (
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/store"
)

// Logged reports whether LogObservation has something to say.
func Logged(o store.Observation) bool {
	return o.Statement.State.Final() && o.Analysis != nil && (!o.Analysis.Reused || len(o.Findings) > 0)
}

// LogObservation is what becomes of an observation without a database: the verdict of every join of an ended statement, and its
// findings, in the log. The observation has been redacted.
func LogObservation(log zerolog.Logger, o store.Observation) {
	if !Logged(o) {
		return
	}
	a := o.Analysis
	if a.Error != "" {
		log.Info().Str("fingerprint", a.Fingerprint).Str("error", a.Error).Msg("query not explained")
		return
	}
	logFindings(log, a.Fingerprint, o.Findings)
	if a.Reused {
		return
	}
	for _, j := range a.Joins {
		log.Info().Str("fingerprint", a.Fingerprint).Int("join", j.Join.Ordinal).Str("vertex", j.Join.Vertex).
			Str("planned", string(j.Verdict.Planned)).Str("simulated", string(j.Verdict.Simulated)).Bool("agrees", j.Verdict.Agrees).
			Str("reason", j.Decision.Reason).Msg("join")
	}
	logFindings(log, a.Fingerprint, a.Findings)
}

func logFindings(log zerolog.Logger, fingerprint string, findings []advisor.Finding) {
	for _, f := range findings {
		level := zerolog.InfoLevel
		if f.Severity == advisor.High || f.Severity == advisor.Critical {
			level = zerolog.WarnLevel
		}
		log.WithLevel(level).Str("fingerprint", fingerprint).Str("kind", string(f.Kind)).Str("severity", string(f.Severity)).
			Str("subject", f.Subject).Str("summary", f.Summary).Str("advice", f.Advice).Msg("finding")
	}
}
