package explain_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// maxComputePlan has the layout of MaxCompute's EXPLAIN: attributes one column deeper than the operators' step.
const maxComputePlan = `job0 is root job

In Job job0:
root Tasks: M1, M2
J3_1_2 depends on: M1, M2

In Task M1:
    Data source: shop.customers
    TS: shop.customers
        FIL: ISNOTNULL(id)
            DynamicFilterProducer1: columns: [id]
                RS: order: +
                    nullDirection: *
                    keys:
                          id
                          JOIN
                    partitions:
                          id

In Task M2:
    Data source: shop.orders/ds=2026-01-01, shop.orders/ds=2026-01-02
    TS: shop.orders/ds=2026-01-01,shop.orders/ds=2026-01-02
        DynamicFilterConsumer1:
             producer: DynamicFilterProducer1
             columns:
                 customer
            RS: order: +
                dist: HASH

In Task J3_1_2:
    JOIN:
         StreamLineRead1 INNERJOIN StreamLineRead2
         keys:
             0:id
             1:customer

        AGGREGATE: group by:id
         UDAF: SUM(price) (sum)[Complete]
            SEL: id,sum
                FS: output: Screen
                    schema:
                      id (bigint)

OK
`

func parseMaxCompute(t *testing.T, text string) *explain.MaxComputePlan {
	t.Helper()
	p, err := explain.ParseMaxCompute(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// maxComputeOutline is a plan as a reader sees it: tasks, operators by depth.
func maxComputeOutline(p *explain.MaxComputePlan) string {
	var b strings.Builder
	for _, j := range p.Jobs {
		fmt.Fprintf(&b, "%s %t %v\n", j.Name, j.Root, j.DependsOn)
		for _, task := range j.Tasks {
			fmt.Fprintf(&b, " %s %s %t %v %v\n", task.Name, task.Kind, task.Root, task.DependsOn, task.Sources)
		}
	}
	for _, o := range p.Operators() {
		depth := 2
		for up := o.Parent; up != nil; up = up.Parent {
			depth++
		}
		fmt.Fprintf(&b, "%s%s|%s|%s|%v|%v\n", strings.Repeat(" ", depth), o.Name, o.Text, o.Role, o.Columns, o.Prunes)
	}
	return b.String()
}

func TestParseMaxCompute(t *testing.T) {
	p := parseMaxCompute(t, maxComputePlan)
	want := `job0 true []
 M1 MAP true [] [shop.customers]
 M2 MAP true [] [shop.orders/ds=2026-01-01 shop.orders/ds=2026-01-02]
 J3_1_2 JOIN false [M1 M2] []
  TS|shop.customers||[]|[]
   FIL|ISNOTNULL(id)||[]|[]
    DynamicFilterProducer1|columns: [id]|PRODUCER|[id]|[]
     RS|order: +||[]|[]
  TS|shop.orders/ds=2026-01-01,shop.orders/ds=2026-01-02||[]|[]
   DynamicFilterConsumer1||CONSUMER|[customer]|[]
    RS|order: +||[]|[]
  JOIN|||[]|[]
   AGGREGATE|group by:id||[]|[]
    SEL|id,sum||[]|[]
     FS|output: Screen||[]|[]
`
	if got := maxComputeOutline(p); got != want {
		t.Errorf("read\n%swant\n%s", got, want)
	}
	filters := p.DynamicFilters()
	if len(filters) != 2 || filters[1].Task.Name != "M2" || p.Producer(filters[1]) != filters[0] {
		t.Errorf("dynamic filters %+v", filters)
	}
	for name, paste := range map[string]func(string) string{
		"carriage returns": func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"a log":            func(s string) string { return prefixLines(s, "INFO  : ") },
		"a table":          func(s string) string { return prefixLines(s, "| ") },
		"shifted":          func(s string) string { return prefixLines(s, "      ") },
	} {
		if got := maxComputeOutline(parseMaxCompute(t, paste(maxComputePlan))); got != want {
			t.Errorf("as %s\n%swant\n%s", name, got, want)
		}
	}
}

// TestMaxComputePruning reads PartitionPruneInfos however they are spelled, and LogView's operators without a plan.
func TestMaxComputePruning(t *testing.T) {
	want := []explain.PartitionPrune{{Table: "shop.orders", Columns: []string{"ds"}}}
	for _, c := range []string{
		"M1\n  TableScan1: shop.days\n  DppDynamicProducer1\n    PartitionPruneInfos: [{tableName: shop.orders, partitionColumns: [ds]}]",
		"DppDynamicProducer1: PartitionPruneInfos: [{\"table\": \"shop.orders\", \"columns\": [\"ds\"]}]",
		"DppDynamicProducer1 (PartitionPruneInfos=[{table=shop.orders, key=ds}])",
		"In Task M1:\n    TS: shop.days\n        DppDynamicProducer2:\n            PartitionPruneInfos:\n                table: shop.orders\n                columns: ds",
	} {
		filters := parseMaxCompute(t, c).DynamicFilters()
		if len(filters) != 1 || filters[0].Role != explain.PruneProducer {
			t.Errorf("%q: %+v", c, filters)
			continue
		}
		got := slices.Clone(filters[0].Prunes)
		for i := range got {
			if got[i].Text == "" {
				t.Errorf("%q: an entry without its text", c)
			}
			got[i].Text = ""
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v", c, got)
		}
	}
	p := parseMaxCompute(t, "M2\nDynamicFilterConsumer1 (o.customer)\nDynamicFilterConsumer2\n")
	filters := p.DynamicFilters()
	if len(filters) != 2 || filters[0].Task.Name != "M2" || !slices.Equal(filters[0].Columns, []string{"o.customer"}) || p.Producer(filters[0]) != nil {
		t.Errorf("consumers without a plan: %+v", filters)
	}
}

func TestMaxComputeErrors(t *testing.T) {
	for text, line := range map[string]int{
		"":        1,
		"\nhello": 2,
		mrPlan:    1,
		"job0 is root job\n\nIn Job job0:\nroot Tasks: M1, M2\n\nIn Task M1:\n    TS: a\n": 7,
		"job0 is root job\n\nIn Job job0:\n":                                               3,
	} {
		p, err := explain.ParseMaxCompute(text)
		var syntax *explain.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != line || p != nil {
			t.Errorf("%.40q: plan %v, error %v, want line %d", text, p, err, line)
		}
	}
	if _, err := explain.Parse(maxComputePlan); err == nil || !strings.Contains(err.Error(), "MaxCompute") {
		t.Errorf("Hive's parser: %v", err)
	}
	if explain.IsMaxCompute(tezPlan) || explain.IsMaxCompute(userPlan) || !explain.IsMaxCompute(maxComputePlan) {
		t.Error("the form is told wrong")
	}
}

// FuzzParseMaxCompute: any text gives a plan or an error with a line.
func FuzzParseMaxCompute(f *testing.F) {
	f.Add(maxComputePlan)
	f.Add("DppDynamicProducer1 (PartitionPruneInfos=[{table=shop.orders, key=ds}])")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := explain.ParseMaxCompute(text)
		var syntax *explain.SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Line < 1 || p != nil) {
			t.Fatalf("plan %v, error %v", p, err)
		}
		if err != nil {
			return
		}
		for _, o := range p.Operators() {
			if o.Task == nil || o.Name == "" {
				t.Fatalf("operator %+v", o)
			}
		}
	})
}

func prefixLines(s, prefix string) string {
	return prefix + strings.ReplaceAll(s, "\n", "\n"+prefix)
}
