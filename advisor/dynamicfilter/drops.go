package dynamicfilter

import "github.com/hs2proxy/hs2proxy/advisor"

// Drops are the shares of the inputs' rows, from 0 to 1, that the filters in a query's plan are expected to drop before they come to the join,
// by ordinal of the join and position of the input. Inputs are left out of which that is not known, and those above another join or a
// grouping, where the share of the scan's rows says little.
func Drops(list []Filter) map[int]map[int]float64 {
	drops := map[int]map[int]float64{}
	for i := range list {
		f := &list[i]
		share := f.Share()
		if f.State != Present || share < 0 || !direct(f.consumer) {
			continue
		}
		if drops[f.Join] == nil {
			drops[f.Join] = map[int]float64{}
		}
		left := 1 - drops[f.Join][f.Consumer]
		drops[f.Join][f.Consumer] = 1 - left*(1-share)
	}
	return drops
}

// direct: the input is one scan with its own filters.
func direct(in *advisor.Input) bool { return !in.OverJoin && in.GroupBys == 0 && len(in.Scans()) == 1 }
