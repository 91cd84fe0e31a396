package statscheck

import (
	"slices"
	"time"
)

// ForTable leaves out of the rules that hold for a partitioned table those that were found for single partitions: a sum over
// partitions shows what the partitions show, and these say where. A refresh of them is enough then.
//
// R4 of the table goes when each of the writes after its baseline named one partition in full, and that partition was judged
// by itself: at least one of them must hold R1, R2 or R4. R6, which is left after a reading where the files moved and the rows
// did not, goes when R1, R2 or R6 holds for a partition.
func ForTable(table, partitions []Staleness, writes []Write, since time.Time, columns, judged []string) []Staleness {
	holds := func(rules ...Rule) bool {
		return slices.ContainsFunc(partitions, func(p Staleness) bool { return p.Partition != "" && slices.Contains(rules, p.Rule) })
	}
	return slices.DeleteFunc(slices.Clone(table), func(t Staleness) bool {
		if t.Partition != "" {
			return false
		}
		switch t.Rule {
		case R1Corrupt, R2NoBasic:
			return holds(R1Corrupt, R2NoBasic)
		case R3Columns, R5Drift:
			return holds(t.Rule)
		case R4Rows:
			return holds(R1Corrupt, R2NoBasic, R4Rows) && toldByPartitions(writes, since, columns, judged)
		case R6Uncounted:
			return holds(R1Corrupt, R2NoBasic, R6Uncounted)
		case R7Partitions, R8Contradicted, R9Age, RuleNoTables:
		}
		return false
	})
}

// toldByPartitions: every write after the moment named partitions in full, and all of them were judged.
func toldByPartitions(writes []Write, since time.Time, columns, judged []string) bool {
	for _, w := range writes {
		if !w.At.After(since) {
			continue
		}
		for _, spec := range w.Specs {
			if name, ok := PartitionOf(spec, columns); !ok || !slices.Contains(judged, name) {
				return false
			}
		}
	}
	return true
}
