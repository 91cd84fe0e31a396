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
	// Factors are what its refresh is worth. Severity is taken from Staleness.
	Factors Factors
	// Policies are those set in the database, in the order of PolicyOf.
	Policies []TablePolicy
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

// Decision is what a firing of a schedule makes of a candidate.
type Decision struct {
	Candidate Candidate
	// Priority is by the candidate's factors.
	Priority float64
	// Refresh is what is requested, where Why is empty.
	Refresh Refresh
	// Why says what keeps the table from being refreshed.
	Why string
}

// Plan picks what one firing of a schedule refreshes, in order: those of Decide that nothing keeps back.
func Plan(candidates []Candidate, s Schedule, p Policy, now time.Time) []Refresh {
	var out []Refresh
	for _, d := range Decide(candidates, s, p, now) {
		if d.Why == "" {
			out = append(out, d.Refresh)
		}
	}
	return out
}

// Decide judges every candidate that the schedule is for, in the order of their priority, then the worst level, then the table's
// name. A table below the schedule's level, barred by its policy, cooling down, off after failures, with an open refresh, or beyond the
// schedule's number of tables stays as it is, with the reason.
func Decide(candidates []Candidate, s Schedule, p Policy, now time.Time) []Decision {
	var out []Decision
	for _, c := range candidates {
		if !s.isFor(c) {
			continue
		}
		c.Factors.Severity = SeverityOf(Worst(c.Staleness))
		out = append(out, Decision{Candidate: c, Priority: c.Factors.Priority()})
	}
	slices.SortStableFunc(out, func(a, b Decision) int {
		return cmp.Or(
			cmp.Compare(b.Priority, a.Priority),
			cmp.Compare(b.Candidate.Factors.Severity, a.Candidate.Factors.Severity),
			cmp.Compare(a.Candidate.Table, b.Candidate.Table),
		)
	})
	taken := 0
	for i := range out {
		d := &out[i]
		if d.Refresh, d.Why = s.decide(d.Candidate, p, now); d.Why != "" {
			continue
		}
		if s.MaxTables > 0 && taken == s.MaxTables {
			d.Why = fmt.Sprintf("the schedule takes at most %d tables a firing, and others come first", s.MaxTables)
			continue
		}
		taken++
	}
	return out
}

func (s Schedule) isFor(c Candidate) bool {
	if s.Upstream != "" && s.Upstream != c.Upstream {
		return false
	}
	return len(s.Tables) == 0 || slices.ContainsFunc(s.Tables, func(p string) bool { return MatchTable(p, c.Table) })
}

func (s Schedule) decide(c Candidate, p Policy, now time.Time) (r Refresh, why string) {
	policy := PolicyOf(c.Table, c.Policies, p.Tables)
	if why := policy.Bars(s.Name); why != "" {
		return r, why
	}
	if worst := Worst(c.Staleness); levels[worst] < levels[s.minLevel()] {
		if worst == "" {
			return r, "nothing is stale"
		}
		return r, fmt.Sprintf("its level is %s, and the schedule acts on %s and above", worst, s.minLevel())
	}
	if ok, why := p.allows(c.History, policy, now); !ok {
		return r, why
	}
	partitions, whole := stalePartitions(c.Staleness)
	if len(policy.Partitions) > 0 {
		partitions, whole = slices.Clone(policy.Partitions), false
	}
	if !whole {
		cooling := p.coolingPartitions(c.History, policy, now)
		partitions = slices.DeleteFunc(partitions, func(name string) bool { return slices.Contains(cooling, name) })
		if len(partitions) == 0 {
			return r, "its stale partitions are cooling down"
		}
		partitions = partitions[:min(len(partitions), MaxPartitions)]
	}
	return s.request(c, policy, partitions, now), ""
}

func (s Schedule) minLevel() Level { return cmp.Or(s.MinLevel, LevelStale) }

func (s Schedule) request(c Candidate, policy TablePolicy, partitions []string, now time.Time) Refresh {
	r := Refresh{
		Upstream: c.Upstream, Table: c.Table, Mode: s.Mode, Partitions: partitions,
		Reason: reasons(c.Staleness), RequestedBy: "schedule " + s.Name, RequestedAt: now, State: RefreshRequested,
		Schedule: s.Name, WindowStart: s.windowStart(now), Budget: s.MaxAnalyze,
	}
	columns := columnsOf(c)
	if len(policy.Columns) > 0 {
		columns = policy.Columns
	}
	if r.Mode == "" {
		r.Mode, r.Scope = modeFor(c.Staleness, columns)
	} else {
		r.Scope = fmt.Sprintf("%s: the schedule says so", r.Mode)
	}
	if r.Mode == ModeColumns {
		r.Columns = columns
	}
	if s.Window > 0 {
		r.NotAfter = r.WindowStart.Add(s.Window)
	}
	return r
}

// columnsOf are the candidate's columns and those that R3 found without statistics, each once: what is flagged must be mended. Where
// R3 alone holds, and R7 because of it, the rows are those that the other columns' statistics were made of, so that these stand.
func columnsOf(c Candidate) []string {
	var out []string
	add := func(names []string) {
		for _, n := range names {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	onlyColumns := !slices.ContainsFunc(c.Staleness, func(s Staleness) bool {
		return s.Rule != R7Partitions && (s.Rule != R3Columns || len(s.Columns) == 0)
	})
	if !onlyColumns {
		add(c.Columns)
	}
	for _, s := range c.Staleness {
		add(s.Columns)
	}
	return out
}

// stalePartitions are those that are stale, the worst first; whole when the table itself is stale too, so that only a refresh of all of it
// mends it.
func stalePartitions(found []Staleness) (partitions []string, whole bool) {
	for _, s := range slices.SortedStableFunc(slices.Values(found), byLevel) {
		if s.Partition == "" {
			return nil, true
		}
		if !slices.Contains(partitions, s.Partition) {
			partitions = append(partitions, s.Partition)
		}
	}
	return partitions, len(partitions) == 0
}

func byLevel(a, b Staleness) int { return cmp.Compare(levels[b.Level], levels[a.Level]) }

// reasons puts the worst first: "R2 CRITICAL: numRows is absent …; R4 HIGH: …".
func reasons(found []Staleness) string {
	sorted := slices.SortedStableFunc(slices.Values(found), byLevel)
	parts := make([]string, len(sorted))
	for i, s := range sorted {
		parts[i] = fmt.Sprintf("%s %s: %s", s.Rule, s.Level, s.Reason)
	}
	return strings.Join(parts, "; ")
}
