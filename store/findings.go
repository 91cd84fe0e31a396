package store

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// findingsUpsert counts each finding up by what is given, or, where @unused, not at all.
const findingsUpsert = `
INSERT INTO hs2proxy.findings AS f (upstream_id, fingerprint, kind, subject, severity, summary, evidence, advice, advisor, doc, tables, plan_id, first_seen, last_seen, times)
SELECT x.upstream, x.fingerprint, x.kind, x.subject, x.severity, x.summary, x.evidence::jsonb, x.advice, x.advisor, x.doc, x.tables::text[], x.plan, x.first_seen, x.last_seen, x.times
FROM unnest(@upstreams::bigint[], @fingerprints::text[], @kinds::text[], @subjects::text[], @severities::text[], @summaries::text[], @evidence::text[], @advice::text[],
            @advisors::text[], @docs::text[], @tables::text[], @plans::bigint[], @first::timestamptz[], @last::timestamptz[], @times::bigint[])
     AS x(upstream, fingerprint, kind, subject, severity, summary, evidence, advice, advisor, doc, tables, plan, first_seen, last_seen, times)
ORDER BY x.upstream, x.fingerprint COLLATE "C", x.kind COLLATE "C", x.subject COLLATE "C"
ON CONFLICT (upstream_id, fingerprint, kind, subject) DO UPDATE SET
    severity = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.severity ELSE f.severity END,
    summary = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.summary ELSE f.summary END,
    evidence = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.evidence ELSE f.evidence END,
    advice = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.advice ELSE f.advice END,
    advisor = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.advisor ELSE f.advisor END,
    doc = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.doc ELSE f.doc END,
    tables = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.tables ELSE f.tables END,
    plan_id = CASE WHEN excluded.last_seen >= f.last_seen THEN excluded.plan_id ELSE f.plan_id END,
    first_seen = least(f.first_seen, excluded.first_seen), last_seen = greatest(f.last_seen, excluded.last_seen),
    times = f.times + CASE WHEN @unused::boolean THEN 0 ELSE excluded.times END`

type findingKey struct {
	upstream                   int64
	fingerprint, kind, subject string
}

func (k findingKey) compare(o findingKey) int {
	return cmp.Or(cmp.Compare(k.upstream, o.upstream), cmp.Compare(k.fingerprint, o.fingerprint), cmp.Compare(k.kind, o.kind), cmp.Compare(k.subject, o.subject))
}

// findingRow is what a wave has of a finding, as it was seen last.
type findingRow struct {
	key         findingKey
	by          *recording
	finding     advisor.Finding
	plan        int64
	first, last time.Time
	times       int64
}

// findingFold gathers the findings of a wave.
type findingFold struct{ rows map[findingKey]*findingRow }

func newFindingFold() *findingFold { return &findingFold{map[findingKey]*findingRow{}} }

// told is the finding among those of its query.
func (k findingKey) told() string { return k.kind + " " + k.subject }

// add counts each kind and subject once, but for those that were counted, and returns what it counted.
func (f *findingFold) add(by *recording, plan int64, fingerprint string, list []advisor.Finding, counted ...string) (added []string) {
	once := map[findingKey]advisor.Finding{}
	for _, found := range list {
		once[findingKey{by.upstream, fingerprint, text(string(found.Kind)), text(found.Subject)}] = found
	}
	at := by.started()
	for key, found := range once {
		row := f.rows[key]
		if row == nil {
			row = &findingRow{key: key, first: at, last: at}
			f.rows[key] = row
		}
		if !at.Before(row.last) {
			row.by, row.finding, row.plan, row.last = by, found, plan, at
		}
		if at.Before(row.first) {
			row.first = at
		}
		if told := key.told(); !slices.Contains(counted, told) {
			row.times++
			added = append(added, told)
		}
	}
	return added
}

func (f *findingFold) queue(batch *pgx.Batch, unused bool) {
	rows := slices.SortedFunc(maps.Values(f.rows), func(a, b *findingRow) int { return a.key.compare(b.key) })
	var again []*findingRow // counted before: only what they say is new
	for _, r := range rows {
		r.finding = r.by.finding(r.finding)
		if r.times == 0 {
			r.times = 1 // should they be gone
			again = append(again, r)
		}
	}
	queueFindings(batch, slices.DeleteFunc(rows, func(r *findingRow) bool { return slices.Contains(again, r) }), unused)
	queueFindings(batch, again, true)
}

func queueFindings(batch *pgx.Batch, rows []*findingRow, unused bool) {
	if len(rows) == 0 {
		return
	}
	batch.Queue(findingsUpsert, pgx.NamedArgs{
		"upstreams":    column(rows, func(r *findingRow) int64 { return r.key.upstream }),
		"fingerprints": column(rows, func(r *findingRow) string { return r.key.fingerprint }),
		"kinds":        column(rows, func(r *findingRow) string { return r.key.kind }),
		"subjects":     column(rows, func(r *findingRow) string { return r.key.subject }),
		"severities":   column(rows, func(r *findingRow) string { return string(r.finding.Severity) }),
		"summaries":    column(rows, func(r *findingRow) string { return text(r.finding.Summary) }),
		"evidence":     column(rows, (*findingRow).evidence),
		"advice":       column(rows, func(r *findingRow) string { return text(r.finding.Advice) }),
		"advisors":     column(rows, (*findingRow).advisor),
		"docs":         column(rows, func(r *findingRow) string { return text(r.finding.Doc) }),
		"tables":       column(rows, func(r *findingRow) string { return arrayLiteral(texts(r.finding.Tables)) }),
		"plans":        column(rows, func(r *findingRow) int64 { return r.plan }),
		"first":        column(rows, func(r *findingRow) time.Time { return r.first }),
		"last":         column(rows, func(r *findingRow) time.Time { return r.last }),
		"times":        column(rows, func(r *findingRow) int64 { return r.times }),
		"unused":       unused,
	})
}

// evidence is nothing where there are numbers that JSON cannot hold, deep inside: the sentence has them.
func (r *findingRow) evidence() string {
	ev, err := asJSON(r.finding.Evidence)
	if err != nil {
		ev = json.RawMessage(`{}`)
	}
	return string(ev)
}

// advisor is empty for a kind that is unknown and so belongs to none.
func (r *findingRow) advisor() string {
	info, _ := advisor.KindOf(r.finding.Kind)
	return string(info.Advisor)
}
