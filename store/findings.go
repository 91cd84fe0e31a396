package store

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/advisor"
)

const findingUpsert = `
INSERT INTO hs2proxy.findings AS f (upstream_id, fingerprint, kind, subject, severity, summary, evidence, advice, advisor, doc, tables, plan_id, first_seen, last_seen, times)
VALUES (@upstream, @fingerprint, @kind, @subject, @severity, @summary, @evidence, @advice, @advisor, @doc, @tables, @plan, @at, @at, 1)
ON CONFLICT (upstream_id, fingerprint, kind, subject) DO UPDATE SET
    severity = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.severity ELSE f.severity END,
    summary = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.summary ELSE f.summary END,
    evidence = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.evidence ELSE f.evidence END,
    advice = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.advice ELSE f.advice END,
    advisor = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.advisor ELSE f.advisor END,
    doc = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.doc ELSE f.doc END,
    tables = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.tables ELSE f.tables END,
    plan_id = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.plan_id ELSE f.plan_id END,
    first_seen = least(f.first_seen, excluded.first_seen), last_seen = greatest(f.last_seen, excluded.last_seen), times = f.times + @count`

// queueFindings counts each kind and subject once per statement.
func (r *recording) queueFindings(batch *pgx.Batch, plan int64, a Analysis) {
	count := 1
	if r.unused {
		count = 0
	}
	type key struct{ kind, subject string }
	byKey := map[key]advisor.Finding{}
	for _, f := range a.Findings {
		byKey[key{text(string(f.Kind)), text(f.Subject)}] = f
	}
	keys := slices.SortedFunc(maps.Keys(byKey), func(x, y key) int {
		return slices.Compare([]string{x.kind, x.subject}, []string{y.kind, y.subject})
	})
	for _, k := range keys {
		f := r.finding(byKey[k])
		ev, err := asJSON(f.Evidence)
		if err != nil { // numbers that JSON cannot hold, deep inside: the sentence has them
			ev = json.RawMessage(`{}`)
		}
		info, _ := advisor.KindOf(f.Kind) // an unknown one belongs to no advisor
		batch.Queue(findingUpsert, pgx.NamedArgs{
			"upstream": r.upstream, "fingerprint": a.Fingerprint, "kind": k.kind, "subject": k.subject, "severity": string(f.Severity),
			"summary": text(f.Summary), "evidence": ev, "advice": text(f.Advice), "plan": plan, "at": r.started(), "count": count,
			"advisor": string(info.Advisor), "doc": text(f.Doc), "tables": texts(f.Tables),
		})
	}
}
