package antijoin_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/antijoin"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/jsonl/jsonltest"
)

type oracleCase struct {
	ID       string            `json:"id"`
	SQL      string            `json:"sql"`
	Settings map[string]string `json:"settings"`
	Extended string            `json:"explain_extended"`
	Error    string            `json:"error"`
}

func (c *oracleCase) query(t *testing.T) advisor.Query {
	t.Helper()
	return queryOf(t, c.SQL, c.Extended, c.Settings)
}

func queryOf(t *testing.T, sql, plan string, settings map[string]string) advisor.Query {
	t.Helper()
	p, err := explain.Parse(plan)
	if err != nil {
		t.Fatal(err)
	}
	q := advisor.Query{SQL: sql, Plan: p, Settings: advisor.NewSettings(settings), Version: "4.0.1"}
	for _, j := range advisor.Joins(p) {
		q.Verdicts = append(q.Verdicts, advisor.Judge(j, q.Settings))
	}
	return q
}

var (
	asksInQuery = regexp.MustCompile(`(?i)not exists|\bis null\b|not in\b|anti join`)
	antiInPlan  = regexp.MustCompile(`Anti Join \d to \d`)
	outerInPlan = regexp.MustCompile(`(?:Left|Right) Outer Join \d to \d`)
	nullInPlan  = regexp.MustCompile(`predicate: .* is null`)
)

// Every finding over the oracle's plans must be what the plan's text says, and every query that asks must have one.
func TestOracleHasNothingToContradict(t *testing.T) {
	count, plans := map[string]int{}, 0
	for _, c := range jsonltest.Shared[oracleCase](t, "oracle/cases.jsonl.gz") {
		if c.Error != "" {
			continue
		}
		plans++
		found := antijoin.Find(c.query(t))
		if !asksInQuery.MatchString(c.SQL) {
			if len(found) > 0 {
				t.Errorf("%s: %s\nfalse alarm: %+v", c.ID, c.SQL, found)
			}
			continue
		}
		if len(found) != 1 {
			t.Errorf("%s: %s\n%v\nfindings: %+v", c.ID, c.SQL, c.Settings, found)
			continue
		}
		f := found[0]
		count[string(f.Kind)]++
		anti, outer := antiInPlan.MatchString(c.Extended), outerInPlan.MatchString(c.Extended) && nullInPlan.MatchString(c.Extended)
		var ok bool
		switch f.Kind {
		case antijoin.Saving:
			ok = anti
		case antijoin.Missed:
			off := c.Settings["hive.auto.convert.anti.join"] == "false"
			ok = outer && !anti && (off || c.Settings["hive.cbo.enable"] == "false") &&
				strings.Contains(f.Advice, map[bool]string{true: "SET hive.auto.convert.anti.join=true", false: "SET hive.cbo.enable=true"}[off])
		case antijoin.NullAware:
			ok = outer && !anti && strings.Contains(strings.ToLower(c.SQL), "not in")
		default: // no case is of an affected form
		}
		if !ok {
			t.Errorf("%s: %s\n%v\n%+v", c.ID, c.SQL, c.Settings, f)
		}
	}
	if plans < 500 || count["anti_join_saving"] < 10 || count["anti_join_missed"] < 10 || count["not_in_null_aware"] < 5 {
		t.Errorf("only %d plans, %v", plans, count)
	}
	t.Log(plans, count)
}
