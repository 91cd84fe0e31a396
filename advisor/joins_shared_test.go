package advisor_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/jsonl/jsonltest"
)

// oracleCase is a line of oracle/cases.jsonl.gz: a query and what the real planner made of it.
type oracleCase struct {
	ID          string        `json:"id"`
	User        string        `json:"explain_user"`
	Plain       string        `json:"explain_plain"`
	Extended    string        `json:"explain_extended"`
	Formatted   string        `json:"explain_formatted"`
	OtherFormat bool          `json:"formatted_plan_differs"`
	Truth       []oracleTruth `json:"truth"`
}

type oracleTruth struct {
	OperatorID string            `json:"operator_id"`
	Vertex     string            `json:"vertex"`
	Strategy   advisor.Strategy  `json:"strategy"`
	Side       string            `json:"side"`
	BigTable   *int              `json:"big_table_position"`
	Types      []string          `json:"join_types"`
	Conditions []string          `json:"conditions"`
	Keys       map[string]string `json:"keys"`
	Inputs     []struct {
		Pos         int    `json:"pos"`
		OnlineSize  int64  `json:"online_size"`
		Rows        int64  `json:"rows"`
		DataSize    int64  `json:"data_size"`
		BasicStats  string `json:"basic_stats"`
		ColumnStats string `json:"column_stats"`
	} `json:"inputs"`
}

// tally counts what was compared and what was equal, by what.
type tally struct {
	t     *testing.T
	shown int
	all   map[string]int
	equal map[string]int
}

func (y *tally) check(what, where string, got, want any) {
	y.all[what]++
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g == w {
		y.equal[what]++
	} else if y.shown++; y.shown <= 30 {
		y.t.Errorf("%s: %s %s, want %s", where, what, g, w)
	}
}

func (y *tally) log() {
	for what, n := range y.all {
		y.t.Logf("%s: %d of %d", what, y.equal[what], n)
	}
}

func parseJoins(t *testing.T, id, text string) []advisor.Join {
	t.Helper()
	p, err := explain.Parse(text)
	if err != nil {
		t.Errorf("%s: %v", id, err)
		return nil
	}
	return advisor.Joins(p)
}

func words(ty advisor.JoinType) string {
	return map[advisor.JoinType]string{
		advisor.Inner: "Inner Join", advisor.Cross: "Inner Join", advisor.LeftOuter: "Left Outer Join",
		advisor.RightOuter: "Right Outer Join", advisor.FullOuter: "Full Outer Join", advisor.LeftSemi: "Left Semi Join",
		advisor.Anti: "Anti Join",
	}[ty]
}

// TestOracleExtended compares every join of EXPLAIN EXTENDED with what the real planner decided on.
func TestOracleExtended(t *testing.T) {
	y := &tally{t: t, all: map[string]int{}, equal: map[string]int{}}
	for _, c := range jsonltest.Shared[oracleCase](t, "oracle/cases.jsonl.gz") {
		if len(c.Truth) == 0 {
			continue
		}
		joins := parseJoins(t, c.ID, c.Extended)
		y.check("joins", c.ID, len(joins), len(c.Truth))
		for i := range min(len(joins), len(c.Truth)) {
			compareTruth(y, fmt.Sprintf("%s join %d", c.ID, i), joins[i], c.Truth[i], "extended", c.Extended)
		}
	}
	y.log()
}

func compareTruth(y *tally, where string, j advisor.Join, want oracleTruth, form, text string) {
	y.check("strategy", where, j.Strategy, want.Strategy)
	y.check("vertex", where, j.Vertex, want.Vertex)
	told := form == "extended" || j.Strategy == advisor.MapJoin || j.Strategy == advisor.BucketMapJoin ||
		j.Strategy == advisor.DPHJ && form != "user"
	told = told && (form != "user" || !keyless(want.Keys))
	if want.BigTable != nil && j.Strategy != advisor.MergeJoin && told {
		y.check("big table", where, j.BigTable, *want.BigTable)
	}
	var types, conds []string
	for _, c := range j.Conditions {
		types = append(types, words(c.Type))
		conds = append(conds, fmt.Sprintf("%s %d to %d", words(c.Type), c.Left, c.Right))
	}
	y.check("types", where, types, want.Types)
	y.check("conditions", where, conds, want.Conditions)
	if form == "extended" || form == "plain" { // FORMATTED sometimes plans the same tree under other column names
		keys := map[string]string{}
		for _, in := range j.Inputs {
			text := ""
			for i, k := range in.Keys {
				if i > 0 {
					text += ", "
				}
				text += k.Expr + " (type: " + k.Type + ")"
			}
			keys[fmt.Sprint(in.Position)] = text
		}
		y.check("keys", where, keys, want.Keys)
	}
	if form == "user" && keyless(want.Keys) {
		return // nothing in the text tells which input is which
	}
	for _, in := range want.Inputs {
		if in.Pos >= len(j.Inputs) {
			continue
		}
		got := j.Inputs[in.Pos]
		switch {
		case form == "user" && got.Rows == -1 && detour.MatchString(text):
			y.all["rows not printed"]++
			continue
		case form == "formatted" && j.Strategy == advisor.SMB && got.Rows == -1:
			// A JSON object keeps one of the two operator trees of a sort-merge join's vertex.
			y.all["tree not printed"]++
			continue
		}
		y.check("rows", where, got.Rows, in.Rows)
		if form == "user" {
			continue
		}
		y.check("data size", where, got.DataSize, in.DataSize)
		y.check("stats", where, got.BasicStats+" "+got.ColumnStats, in.BasicStats+" "+in.ColumnStats)
	}
}

// detour matches an operator without an estimate in a user-level plan: a reducer that only passes rows on, whose own
// input is not printed.
var detour = regexp.MustCompile(`Select Operator \[SEL_\d+\]\n`)

func keyless(keys map[string]string) bool {
	for _, k := range keys {
		if k != "" {
			return false
		}
	}
	return true
}

// TestOracleOtherForms compares the plain and user-level text of the same plans, as far as they print the same.
func TestOracleOtherForms(t *testing.T) {
	forms := map[string]*tally{}
	for _, c := range jsonltest.Shared[oracleCase](t, "oracle/cases.jsonl.gz") {
		if len(c.Truth) == 0 {
			continue
		}
		for form, text := range map[string]string{"plain": c.Plain, "user": c.User, "formatted": c.Formatted} {
			if form == "formatted" && c.OtherFormat {
				continue
			}
			y := forms[form]
			if y == nil {
				y = &tally{t: t, all: map[string]int{}, equal: map[string]int{}}
				forms[form] = y
			}
			joins := parseJoins(t, c.ID+" "+form, text)
			y.check("joins", c.ID+" "+form, len(joins), len(c.Truth))
			for i := range min(len(joins), len(c.Truth)) {
				compareTruth(y, fmt.Sprintf("%s %s join %d", c.ID, form, i), joins[i], c.Truth[i], form, text)
			}
		}
	}
	for form, y := range forms {
		t.Log(form)
		y.log()
	}
}
