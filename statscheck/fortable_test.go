package statscheck

import (
	"slices"
	"testing"
	"time"
)

// What the partitions tell is not said of the table again, so that a refresh of them is enough.
func TestForTable(t *testing.T) {
	since := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	named := func(specs ...string) []Write { return []Write{{Specs: specs, At: since.Add(time.Hour)}} }
	of := func(partition string, rules ...Rule) []Staleness {
		var out []Staleness
		for _, r := range rules {
			out = append(out, Staleness{Partition: partition, Rule: r})
		}
		return out
	}
	for name, c := range map[string]struct {
		table, partitions []Staleness
		writes            []Write
		judged            []string
		want              []Rule
	}{
		"a partition overwritten with autogather off": {
			of("", R2NoBasic, R3Columns, R4Rows), of("ds=a", R2NoBasic, R3Columns, R4Rows), named("ds=a"), []string{"ds=a"}, nil,
		},
		"a partition added with its files": {of("", R2NoBasic, R3Columns, R6Uncounted), of("ds=c", R2NoBasic, R3Columns), named("ds=c"), []string{"ds=c"}, nil},
		"the partition written is fine":    {of("", R4Rows, R6Uncounted), of("ds=b", R3Columns), named("ds=a"), []string{"ds=a", "ds=b"}, []Rule{R4Rows, R6Uncounted}},
		"a write that names no partition":  {of("", R4Rows), of("ds=a", R4Rows), append(named("ds=a"), named("")...), []string{"ds=a"}, []Rule{R4Rows}},
		"a partition not judged yet":       {of("", R4Rows), of("ds=a", R4Rows), named("ds=a", "ds=b"), []string{"ds=a"}, []Rule{R4Rows}},
		"a write before the baseline":      {of("", R4Rows), of("ds=a", R4Rows), append(named("ds=a"), Write{Specs: []string{""}, At: since}), []string{"ds=a"}, nil},
		"no partition is stale":            {of("", R2NoBasic, R3Columns, R4Rows, R5Drift, R6Uncounted), nil, named("ds=a"), []string{"ds=a"}, []Rule{R2NoBasic, R3Columns, R4Rows, R5Drift, R6Uncounted}},
		"drift of one partition":           {of("", R5Drift), of("ds=a", R5Drift), nil, []string{"ds=a"}, nil},
		"R7 names partitions itself":       {of("ds=a", R7Partitions), of("ds=a", R4Rows), named("ds=a"), []string{"ds=a"}, []Rule{R7Partitions}},
		"R8 and R9 are the table's":        {of("", R8Contradicted, R9Age), of("ds=a", R1Corrupt, R9Age), named("ds=a"), []string{"ds=a"}, []Rule{R8Contradicted, R9Age}},
	} {
		t.Run(name, func(t *testing.T) {
			got := rulesOf(ForTable(c.table, c.partitions, c.writes, since, []string{"ds"}, c.judged))
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
