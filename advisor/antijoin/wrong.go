package antijoin

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// defect is a known wrong result of anti joins.
type defect struct {
	issue string
	fixed version
	// inFixed names the version that has the mend.
	inFixed string
	// old: only versions before the first release have it, so that a version that is not known need not be suspected.
	old bool
	// lost says which rows.
	lost string
}

// The defects, with the versions that Hive's repository has the mends in: HIVE-26135 was merged in April 2022 (pull request
// 3205), HIVE-26659 in April 2023 (4190), HIVE-29175 and HIVE-29176 in September 2025 (6055, 6062).
var (
	castDefect     = defect{"HIVE-26135", version{4, 0, 0, 0, 2}, "4.0.0-alpha-2", true, "rows with a match whose CAST is NULL"}
	emptyDefect    = defect{"HIVE-26659", version{4, 0, 0, 1, 1}, "4.0.0-beta-1", true, "every row whose key is not in the hash table"}
	leftDefect     = defect{"HIVE-29175", version{4, 2, 0, 2, 0}, "4.2.0", false, "the rows that the condition does not hold for"}
	nullableDefect = defect{"HIVE-29176", version{4, 2, 0, 2, 0}, "4.2.0", false, "rows with a match whose tested column is NULL itself"}
)

// wrong tells of an anti join that loses rows.
func (p *place) wrong(q *advisor.Query) *advisor.Finding {
	d, why, sure := p.defect(q)
	if d == nil {
		return nil
	}
	v, known := parseVersion(q.Version)
	if known && !v.before(d.fixed) || !known && d.old {
		return nil
	}
	n := p.joined.numbers(q)
	e := n.evidence(p.joined)
	e["issue"], e["fixed_in"] = d.issue, d.inFixed
	severity := advisor.High
	of := "Hive " + q.Version
	if !known {
		of = "Hive before " + d.inFixed
		severity = advisor.Medium
	} else {
		e["version"] = q.Version
	}
	if !sure {
		severity = advisor.Medium
	}
	return &advisor.Finding{
		Kind: WrongResult, Severity: severity, Subject: p.subject(),
		Summary: "the anti join to " + p.asked.name + " loses " + d.lost + " in " + of + " (" + d.issue + ", fixed in " + d.inFixed + "): " + why,
		Advice:  "SET " + setting + "=false; -- gives the right result until the server has " + d.inFixed, Evidence: e, Tables: p.about(),
	}
}

// defect is the one that the form and the plan match, why, and whether rows are sure to be affected where there are such.
func (p *place) defect(q *advisor.Query) (d *defect, why string, sure bool) {
	a := &p.asked
	if a.tested != nil {
		for _, e := range a.tested {
			if hasCast(e) {
				return &castDefect, "it stands for " + a.text(e) + " IS NULL, which a match may fulfil", true
			}
		}
		if p.leftOnly() {
			return &leftDefect, "the join's condition reads the left side only, and is taken for a filter of it", true
		}
		if !a.certain() {
			column, nulls := p.nullable(q)
			switch {
			case column == "" || nulls == 0:
			case nulls > 0:
				return &nullableDefect, "the column statistics count " + counted(nulls, "NULL") + " in " + column, true
			default:
				return &nullableDefect, "no part of the join's condition keeps " + column + " from being NULL in a match", false
			}
		}
	}
	n := p.joined.numbers(q)
	if s := p.joined.verdict.Join.Strategy; (s == advisor.MapJoin || s == advisor.BucketMapJoin || s == advisor.DPHJ) && p.joined.operator != nil && !n.vectorized {
		return &emptyDefect, "it is a map join that is not vectorized", true
	}
	return nil, "", false
}

// nullable is a tested column that a match may have NULL and its NULLs by the statistics, −1 where they are not known; empty
// for an expression.
func (p *place) nullable(q *advisor.Query) (column string, nulls int64) {
	for _, e := range p.asked.tested {
		c, ok := e.(*queryast.ColumnRef)
		if !ok {
			continue
		}
		name := p.asked.scope.name(c)
		if len(p.asked.tables) != 1 {
			return p.asked.name + "." + name, -1
		}
		table := q.Tables[p.asked.tables[0]]
		for _, part := range table.PartitionColumns {
			if part == name { // the default partition's is NULL, which no statistics tell
				return p.asked.name + "." + name, -1
			}
		}
		if s, ok := table.Columns[strings.ToLower(name)]; ok && s.Nulls != nil {
			return p.asked.name + "." + name, *s.Nulls
		}
		return p.asked.name + "." + name, -1
	}
	return "", 0
}

// leftOnly tells of a condition without any column of the side looked up.
func (p *place) leftOnly() bool {
	j := p.asked.sel.From.Joins[p.asked.join]
	if j.On == nil || len(j.Using) > 0 {
		return false
	}
	sources, ok := p.asked.scope.reads(j.On)
	return ok && len(sources) > 0 && !sources[p.asked.source]
}
