package advisor

import (
	"math"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// lateral gives the columns of a Lateral View Join their statistics (LateralViewJoinStatsRule): the nulls of those that stay grow
// with the rows. The function's columns have none, but the rule looks every column up in both branches, by the name it has there.
func (p *propagation) lateral(o *explain.Operator) []columnStat {
	stay, function := lateralBranches(o)
	if stay == nil {
		return nil
	}
	kept, made := p.at(stay), p.at(function)
	if !kept.scaled || !made.scaled {
		return nil
	}
	factor := float64(max(made.rows, 1)) / float64(max(kept.rows, 1))
	names := outputNames(o)
	var left, right []columnStat
	for i, c := range p.flow.outputs(stay) {
		if i >= len(names) {
			break
		}
		if s := kept.named(c.name); s != nil {
			grown := *s
			grown.name = names[i]
			grown.nulls = toInt(float64(grown.nulls) * factor)
			if factor < 1 {
				grown.ndv = toInt(math.Ceil(float64(grown.ndv) * factor))
			}
			left = append(left, grown)
		}
		if s := made.named(c.name); s != nil {
			same := *s
			same.name = names[i]
			right = append(right, same)
		}
	}
	return p.mergeColumns(left, right)
}
