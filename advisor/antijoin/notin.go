package antijoin

import "github.com/hs2proxy/hs2proxy/advisor"

// nullAware explains NOT IN where the plan counts rows and keys for it.
func (p *place) nullAware(q *advisor.Query) *advisor.Finding {
	a := &p.asked
	if !countsNulls(q.Plan) {
		return nil
	}
	j := match(q, a.tables)
	evidence := map[string]any{}
	summary, outer := "NOT IN on "+a.name+" has to know of NULLs: Hive counts the rows and the keys of the subquery, joins both counts to every row", "LEFT OUTER"
	if j != nil {
		n := j.numbers(q)
		evidence = n.evidence(j)
		if j.typ == advisor.RightOuter { // the sides change places
			outer = "RIGHT OUTER"
		}
		if rows := j.verdict.Join.Inputs[j.left].Rows; rows >= 0 {
			summary += " (" + grouped(rows) + ")"
		}
	}
	summary += ", joins the subquery itself " + outer + ", and filters after both joins; it never becomes an anti join"
	advice, severity := "", advisor.Low
	nulls, known := a.subqueryNulls(q)
	if known {
		evidence["nulls_in_subquery"] = nulls
	}
	form := a.asNotExists()
	switch {
	case form == "":
		form = "x IS NOT NULL AND NOT EXISTS (SELECT 1 FROM … WHERE key = x)"
		fallthrough
	case !known:
		advice = "-- where no key of the subquery is NULL: " + form
	case nulls > 0:
		severity = advisor.High
		summary += "; the statistics count " + counted(nulls, "NULL") + " among the keys, and with one NOT IN gives no row at all"
		advice = "-- if rows were expected, they are those of: " + form
	default:
		advice = "-- no key of the subquery is NULL by the statistics: " + form
	}
	if nulls == 0 || !known {
		advice += "\n-- gives the same, save for an x that is NULL over an empty subquery, and becomes an anti join"
	}
	return &advisor.Finding{
		Kind: NullAware, Severity: severity, Subject: p.subject(), Summary: summary, Advice: advice, Evidence: evidence, Tables: p.about(),
	}
}
