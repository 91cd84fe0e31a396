package dynamicfilter

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Settings of MaxCompute that decide on dynamic filters, by its documentation.
const (
	maxComputeChoose  = "set odps.optimizer.enable.dynamic.filter=true;"
	maxComputeForce   = "set odps.optimizer.force.dynamic.filter=true;"
	maxComputePruning = "set odps.optimizer.dynamic.filter.dpp.enable=true;"
)

// maxComputeSmall lets a small data set be merge-joined, where alone MaxCompute filters it.
var maxComputeSmall = []string{"set odps.optimizer.enable.conditional.mapjoin=false;", "set odps.optimizer.cbo.rule.filter.black=hj;"}

// maxComputeSmallRows is what counts as a small data set here; MaxCompute names no number.
const maxComputeSmallRows = int64(10_000_000)

// maxCompute is the same advice for MaxCompute: its settings, and the hint that names the producer and the consumer.
func (f *Filter) maxCompute(q *advisor.Query) []string {
	if !maxComputeAllows(joinOf(q, f.Join)) {
		return nil
	}
	var list []string
	if f.Kind == Pruning {
		list = append(list, maxComputePruning)
	} else {
		if f.Rows >= 0 && f.Rows < maxComputeSmallRows {
			list = append(list, maxComputeSmall...)
		}
		list = append(list, maxComputeChoose)
	}
	if p, c := f.producer.Alias, f.consumer.Alias; p != "" && c != "" && p != c && isWord(p) && isWord(c) {
		list = append(list, "select /*+dynamicfilter("+p+", "+c+")*/ …")
	} else if f.Kind == Semijoin {
		list = append(list, maxComputeForce)
	}
	return list
}

// maxComputeAllows: its documentation gives roles to the sides of inner and outer joins alone.
func maxComputeAllows(j *advisor.Join) bool {
	for _, c := range j.Conditions {
		switch c.Type {
		case advisor.Inner, advisor.LeftOuter, advisor.RightOuter:
		default:
			return false
		}
	}
	return true
}

// isWord: a name that needs no quotes; nothing else is put into a hint.
func isWord(name string) bool {
	return name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func commented(title string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "-- " + title + " " + strings.Join(lines, " ")
}
