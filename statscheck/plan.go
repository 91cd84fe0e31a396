package statscheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Candidate is a table with the staleness found last and what is needed to decide on a refresh.
type Candidate struct {
	Upstream string
	// Table is "database.table".
	Table     string
	Staleness []Staleness
	// Joins is the number of joins that read the table in the last 7 days.
	Joins int64
	// Columns are those that joins, filters and groupings use; joins first.
	Columns []string
	// History are the table's refreshes, open ones included; at least as many as Policy.MaxFailures, the youngest ones.
	History []Refresh
}

// levels orders Level; an unknown one is the lowest.
var levels = map[Level]int{LevelSuspect: 1, LevelWatch: 2, LevelStale: 3, LevelHigh: 4, LevelCritical: 5}

// Worst is the highest level of the staleness given; empty when there is none.
func Worst(found []Staleness) Level {
	var worst Level
	for _, s := range found {
		if levels[s.Level] > levels[worst] {
			worst = s.Level
		}
	}
	return worst
}

// Plan picks what one firing of a schedule refreshes, in order: the worst level first, then the most joins, then the
// table's name. A table below the schedule's level, cooling down, off after failures, or with an open refresh is left out.
func Plan(candidates []Candidate, s Schedule, p Policy, now time.Time) []Refresh {
	var chosen []Candidate
	for _, c := range candidates {
		if s.takes(c) {
			if ok, _ := p.Allows(c.History, now); ok {
				chosen = append(chosen, c)
			}
		}
	}
	slices.SortStableFunc(chosen, func(a, b Candidate) int {
		return cmp.Or(
			cmp.Compare(levels[Worst(b.Staleness)], levels[Worst(a.Staleness)]),
			cmp.Compare(b.Joins, a.Joins),
			cmp.Compare(a.Table, b.Table),
		)
	})
	if s.MaxTables > 0 && len(chosen) > s.MaxTables {
		chosen = chosen[:s.MaxTables]
	}
	out := make([]Refresh, len(chosen))
	for i, c := range chosen {
		out[i] = request(c, s, now)
	}
	return out
}

func (s Schedule) takes(c Candidate) bool {
	if s.Upstream != "" && s.Upstream != c.Upstream {
		return false
	}
	if levels[Worst(c.Staleness)] < levels[s.minLevel()] {
		return false
	}
	return len(s.Tables) == 0 || slices.ContainsFunc(s.Tables, func(p string) bool { return MatchTable(p, c.Table) })
}

func (s Schedule) minLevel() Level { return cmp.Or(s.MinLevel, LevelStale) }

func request(c Candidate, s Schedule, now time.Time) Refresh {
	r := Refresh{
		Upstream: c.Upstream, Table: c.Table, Mode: s.Mode, Partitions: partitionsOf(c.Staleness),
		Reason: reasons(c.Staleness), RequestedBy: "schedule " + s.Name, RequestedAt: now, State: RefreshRequested,
	}
	columns := columnsOf(c)
	if r.Mode == "" && len(columns) > 0 {
		r.Mode = ModeColumns
	}
	if r.Mode == ModeColumns {
		r.Columns = columns
	}
	r.Mode = cmp.Or(r.Mode, ModeBasic)
	if s.Window > 0 {
		r.NotAfter = now.Add(s.Window)
	}
	return r
}

// columnsOf are the candidate's columns and those that R3 found without statistics, each once: what is flagged must be mended.
func columnsOf(c Candidate) []string {
	var out []string
	add := func(names []string) {
		for _, n := range names {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	add(c.Columns)
	for _, s := range c.Staleness {
		add(s.Columns)
	}
	return out
}

// partitionsOf limits the refresh to partitions when only partitions are stale, and few enough.
func partitionsOf(found []Staleness) []string {
	var out []string
	for _, s := range found {
		if s.Partition == "" {
			return nil
		}
		if !slices.Contains(out, s.Partition) {
			out = append(out, s.Partition)
		}
	}
	if len(out) > MaxPartitions {
		return nil
	}
	return out
}

// reasons puts the worst first: "R2 CRITICAL: numRows is absent …; R4 HIGH: …".
func reasons(found []Staleness) string {
	sorted := slices.SortedStableFunc(slices.Values(found), func(a, b Staleness) int {
		return cmp.Compare(levels[b.Level], levels[a.Level])
	})
	parts := make([]string, len(sorted))
	for i, s := range sorted {
		parts[i] = fmt.Sprintf("%s %s: %s", s.Rule, s.Level, s.Reason)
	}
	return strings.Join(parts, "; ")
}
