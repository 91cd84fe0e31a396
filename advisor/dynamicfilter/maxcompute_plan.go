package dynamicfilter

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// MaxComputeLines tells of a pasted plan of MaxCompute which dynamic filters and which dynamic partition pruning are in effect, one line each,
// and of what is not there how to turn it on. A DynamicFilterConsumer says that a filter is in effect, a DppDynamicProducer with
// PartitionPruneInfos that partitions are pruned (MaxCompute's documentation, "Verify the optimizations").
func MaxComputeLines(p *explain.MaxComputePlan) []string {
	var lines []string
	filters, prunes := false, false
	for _, o := range p.DynamicFilters() {
		switch o.Role {
		case explain.FilterConsumer:
			filters = true
			line := o.Name + where(o) + ": rows are filtered" + of(o.Columns)
			if from := p.Producer(o); from != nil {
				line += " by the keys of " + from.Name + where(from) + of(from.Columns)
			}
			lines = append(lines, line)
		case explain.PruneProducer:
			if len(o.Prunes) == 0 {
				lines = append(lines, o.Name+where(o)+": no PartitionPruneInfos, so that it prunes nothing")
				continue
			}
			prunes = true
			for _, info := range o.Prunes {
				target := info.Table + of(info.Columns)
				if strings.TrimSpace(target) == "" {
					target = info.Text
				}
				lines = append(lines, o.Name+where(o)+": partitions are pruned: "+strings.TrimSpace(target))
			}
		case explain.FilterProducer:
		}
	}
	if !filters {
		lines = append(lines, "no dynamic filter: "+maxComputeChoose+" by statistics, "+maxComputeForce+" for every join that allows one, or select /*+dynamicfilter(producer, consumer)*/ …; "+
			"of small data sets only merge joins are filtered: "+strings.Join(maxComputeSmall, " "))
	}
	if !prunes {
		lines = append(lines, "no dynamic partition pruning: "+maxComputePruning+" where the key is a partition column")
	}
	return lines
}

func where(o *explain.MaxComputeOperator) string {
	if o.Task == nil || o.Task.Name == "" {
		return ""
	}
	return " in " + o.Task.Name
}

func of(columns []string) string {
	if len(columns) == 0 {
		return ""
	}
	return " on " + strings.Join(columns, ", ")
}
