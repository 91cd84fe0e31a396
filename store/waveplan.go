package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// plansKnown are the plans in force of queries whose analyses come from memory.
const plansKnown = `
SELECT x.place, p.id
FROM unnest(@places::integer[], @upstreams::bigint[], @fingerprints::text[], @databases::text[], @hashes::text[]) AS x(place, upstream, fingerprint, database_name, hash)
CROSS JOIN LATERAL (
    SELECT y.id FROM hs2proxy.plans y
    WHERE y.upstream_id = x.upstream AND y.fingerprint = x.fingerprint AND y.database_name = x.database_name AND y.settings_hash = x.hash
    ORDER BY y.explained_at DESC, y.id DESC
    LIMIT 1) p`

const usesUpsert = `
INSERT INTO hs2proxy.plan_uses AS u (plan_id, day, uses)
SELECT x.plan, x.day, x.uses FROM unnest(@plans::bigint[], @days::date[], @uses::bigint[]) AS x(plan, day, uses) ORDER BY x.plan, x.day
ON CONFLICT (plan_id, day) DO UPDATE SET uses = u.uses + excluded.uses`

// planChain is what plans follow each other in: those of one query, under one database and the same settings.
type planChain struct {
	upstream                    int64
	fingerprint, database, hash string
}

func (c planChain) compare(o planChain) int {
	return cmp.Or(cmp.Compare(c.upstream, o.upstream), cmp.Compare(c.fingerprint, o.fingerprint), cmp.Compare(c.database, o.database), cmp.Compare(c.hash, o.hash))
}

type planDay struct {
	plan int64
	day  time.Time
}

// queuePlansKnown asks for the plans of what was not explained again.
func (w *wave) queuePlansKnown(batch *pgx.Batch) {
	var asked []*entry
	for _, e := range w.entries {
		if a := e.o.Analysis; a != nil && a.Reused && a.Error == "" {
			asked = append(asked, e)
		}
	}
	if len(asked) == 0 {
		return
	}
	places := make([]int, len(asked))
	for i := range places {
		places[i] = i
	}
	batch.Queue(plansKnown, pgx.NamedArgs{
		"places":       places,
		"upstreams":    column(asked, func(e *entry) int64 { return e.chain.upstream }),
		"fingerprints": column(asked, func(e *entry) string { return e.chain.fingerprint }),
		"databases":    column(asked, func(e *entry) string { return e.chain.database }),
		"hashes":       column(asked, func(e *entry) string { return e.chain.hash }),
	}).Query(func(rows pgx.Rows) error {
		var place, plan int64
		_, err := pgx.ForEachRow(rows, []any{&place, &plan}, func() error {
			asked[place].known = plan
			return nil
		})
		return err
	})
}

// plans finds or makes the plan of each analysis. Where all that a wave has of a chain is known, nothing is locked.
func (w *wave) plans(ctx context.Context) error {
	chains := map[planChain][]*entry{}
	known := map[planChain]bool{}
	for _, e := range w.all() {
		if e.analysis == nil || e.analysis.Error != "" {
			continue
		}
		if e.analysis.Fingerprint == "" {
			return fmt.Errorf("%w: the analysis names no query", ErrData)
		}
		before, seen := known[e.chain]
		known[e.chain] = e.known != 0 && (before || !seen)
		chains[e.chain] = append(chains[e.chain], e)
	}
	var open []planChain
	for c, entries := range chains {
		if !known[c] {
			open = append(open, c)
			continue
		}
		for _, e := range entries {
			e.plan = e.known
		}
	}
	slices.SortFunc(open, planChain.compare)
	batch := &pgx.Batch{}
	for _, c := range open {
		batch.Queue(planChainLock, pgx.NamedArgs{"upstream": c.upstream, "fingerprint": c.fingerprint, "database": c.database, "settings_hash": c.hash})
	}
	if err := w.send(ctx, batch); err != nil {
		return err
	}
	for _, c := range open {
		for _, e := range chains[c] {
			var err error
			if e.plan, err = e.recordPlan(ctx, e.analysis); err != nil {
				return err
			}
		}
	}
	return nil
}

// planSeen notes what goes with the use of a plan.
func (w *wave) planSeen(e *entry) {
	a := *e.analysis
	w.tables.uses(e.upstream, e.plan, a)
	w.findings.add(&e.recording, e.plan, a.Fingerprint, a.Findings)
	if !e.unused {
		w.uses[planDay{e.plan, e.started().Truncate(24 * time.Hour)}]++
	}
}

func (w *wave) queueUses() {
	if len(w.uses) == 0 {
		return
	}
	rows := slices.SortedFunc(maps.Keys(w.uses), func(a, b planDay) int { return cmp.Or(cmp.Compare(a.plan, b.plan), a.day.Compare(b.day)) })
	w.last.Queue(usesUpsert, pgx.NamedArgs{
		"plans": column(rows, func(d planDay) int64 { return d.plan }), "days": column(rows, func(d planDay) time.Time { return d.day }),
		"uses": column(rows, func(d planDay) int64 { return w.uses[d] }),
	})
}
