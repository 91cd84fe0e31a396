package advise_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/advise"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/jsonl/jsonltest"
	"github.com/hs2proxy/hs2proxy/advisor/oracle"
)

// recordedNodes is the cluster of the cases that name none, as upstream.llap_nodes gives one.
const recordedNodes = 20

// recordedFinding is a finding over a recorded plan.
type recordedFinding struct {
	source, id, sql string
	advisor.Finding
}

// recorded are all findings over the shared plans: those of a real planner with settings and statistics, and Hive's own expected
// results, of which neither is known.
func recorded(t *testing.T) []recordedFinding {
	t.Helper()
	var all []recordedFinding
	for _, c := range jsonltest.Shared[oracle.Case](t, "oracle/cases.jsonl.gz") {
		if c.Error != "" {
			continue
		}
		for _, f := range ofCase(t, &c) {
			all = append(all, recordedFinding{"oracle", c.ID, c.SQL, f})
		}
	}
	for i, p := range jsonltest.Shared[expectedPlan](t, "golden/plans.jsonl.gz") {
		if sql, ok := p.sql(); ok {
			for _, f := range p.findings(sql) {
				all = append(all, recordedFinding{"golden", fmt.Sprintf("%s, line %d", p.File, i+1), sql, f})
			}
		}
	}
	return all
}

// ofCase are the findings as the pipeline comes to them.
func ofCase(t *testing.T, c *oracle.Case) []advisor.Finding {
	t.Helper()
	plan, err := explain.Parse(c.Extended)
	if err != nil {
		t.Errorf("%s: %v", c.ID, err)
		return nil
	}
	q := advisor.Query{SQL: c.SQL, Plan: plan, Settings: advisor.NewSettings(c.Settings), Version: "4.0.1"}
	if q.Settings.Nodes == 0 && !q.Settings.LLAP { // under LLAP the number would change the budget that the planner had
		q.Settings = q.Settings.WithCluster(recordedNodes, q.Settings.DaemonExecutors)
	}
	joins := advisor.Joins(plan)
	q.Tables = c.Stats(joins)
	advisor.EnrichFor(joins, q.Tables, &q.Settings)
	for _, j := range joins {
		q.Verdicts = append(q.Verdicts, advisor.Judge(j, q.Settings))
	}
	return advise.Findings(q)
}

// expectedPlan is a line of golden/plans.jsonl.gz.
type expectedPlan struct {
	File  string `json:"file"`
	Form  string `json:"form"`
	Join  bool   `json:"join"`
	Query string `json:"query"`
	Plan  string `json:"plan"`
}

var explainWords = regexp.MustCompile(`(?is)^\s*explain\s+(extended\s+)?(select|with|from|insert|create)\b`)

// sql is the query that was explained.
func (p *expectedPlan) sql() (string, bool) {
	m := explainWords.FindStringSubmatchIndex(p.Query)
	if m == nil || !p.Join || p.Form != "plain" && p.Form != "extended" {
		return "", false
	}
	return p.Query[m[4]:], true
}

// findings are those of a saved plan (hs2proxy check --plans): the plan's own statistics, the defaults of Hive 4.
func (p *expectedPlan) findings(sql string) []advisor.Finding {
	plan, err := explain.Parse(p.Plan)
	if err != nil || plan.Engine != explain.EngineTez {
		return nil
	}
	q := advisor.Query{SQL: sql, Plan: plan, Settings: advisor.NewSettings(nil)}
	for _, j := range advisor.Joins(plan) {
		q.Verdicts = append(q.Verdicts, advisor.Judge(j, q.Settings))
	}
	return advise.Findings(q)
}
