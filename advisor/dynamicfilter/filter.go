package dynamicfilter

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// Kind is how the rows are removed.
type Kind string

// Kinds.
const (
	// Pruning reads only the partitions whose value is among the keys.
	Pruning Kind = "PARTITION_PRUNING"
	// Semijoin checks each row against minimum, maximum and a Bloom filter of the keys.
	Semijoin Kind = "SEMIJOIN_REDUCTION"
)

// State is whether the plan holds a filter.
type State string

// States.
const (
	Present State = "PRESENT"
	Absent  State = "ABSENT"
	// Unclear: the consumer is filtered by the same column, and the text does not tell by whose keys; or the plan's form leaves it out.
	Unclear State = "UNCLEAR"
)

// Filter is one possible dynamic filter of a join.
type Filter struct {
	// Join is the join's ordinal; Producer and Consumer are positions of its inputs.
	Join     int  `json:"join"`
	Producer int  `json:"producer"`
	Consumer int  `json:"consumer"`
	Kind     Kind `json:"kind"`
	// Table, Alias and Columns are what is filtered at the consumer's scan; Keys are the places of the columns among the join's keys.
	Table   string   `json:"table,omitempty"`
	Alias   string   `json:"alias"`
	Columns []string `json:"columns"`
	Keys    []int    `json:"keys"`
	State   State    `json:"state"`
	// By says how the plan does it: "minimum and maximum", "Bloom filter", "partition event", "probe decode".
	By []string `json:"by,omitempty"`
	// Reasons is what keeps an absent filter out, in Hive's order; empty where no rule does that is known here.
	Reasons []Reason `json:"reasons,omitempty"`
	// ScanRows are the rows of the consumer's scan, Rows those its own filters leave; −1 unknown.
	ScanRows int64 `json:"scan_rows"`
	Rows     int64 `json:"rows"`
	// Removed are the rows expected to be removed by containment: a consumer with NDV_c distinct keys loses all rows but the share
	// NDV_p / NDV_c, where the producer has NDV_p. −1 without both.
	Removed     int64 `json:"removed"`
	ProducerNDV int64 `json:"producer_ndv"`
	ConsumerNDV int64 `json:"consumer_ndv"`
	// Partitions are those the consumer reads without the filter, PartitionsLeft those expected with it; −1 where it is not pruned by one.
	Partitions     int64 `json:"partitions"`
	PartitionsLeft int64 `json:"partitions_left"`

	producer *advisor.Input
	consumer *advisor.Input
	scan     advisor.Scan
}

// Share is the share of the consumer's rows that is expected to be removed; −1 unknown.
func (f *Filter) Share() float64 {
	if f.Removed < 0 || f.Rows <= 0 {
		return -1
	}
	return float64(f.Removed) / float64(f.Rows)
}

// Of lists the dynamic filters that the joins of a Tez plan allow, in plan order, with what the plan makes of each. A direction whose key is
// no column of one scan below the consumer, or lies below something that no condition passes, is left out.
func Of(q advisor.Query) []Filter {
	if q.Plan == nil || q.Plan.Engine != explain.EngineTez {
		return nil
	}
	var list []Filter
	for i := range q.Verdicts {
		j := &q.Verdicts[i].Join
		for _, p := range pairs(j) {
			list = append(list, candidates(&q, j, p)...)
		}
	}
	marks := read(q.Plan)
	for i := range list {
		list[i].find(&marks, list)
	}
	for i := range list {
		f := &list[i]
		f.expect(&q)
		if f.State == Absent {
			d := deciding{query: &q, filter: f, all: list, join: joinOf(&q, f.Join)}
			f.Reasons = d.reasons()
		}
	}
	return list
}

func joinOf(q *advisor.Query, ordinal int) *advisor.Join {
	for i := range q.Verdicts {
		if q.Verdicts[i].Join.Ordinal == ordinal {
			return &q.Verdicts[i].Join
		}
	}
	return nil
}

// candidates are the filters one direction allows: one for each partition column among the keys, and one for the other keys of each scan.
func candidates(q *advisor.Query, j *advisor.Join, p pair) []Filter {
	producer, consumer := &j.Inputs[p.producer], &j.Inputs[p.consumer]
	scans := consumer.Scans()
	var list []Filter
	for k := range consumer.Keys {
		if k >= len(producer.Keys) {
			break
		}
		key := &consumer.Keys[k]
		scan, ok := scanOf(scans, key)
		if !ok {
			continue
		}
		kind := Semijoin
		if isPartitionColumn(q, &scan, key.Column) {
			kind = Pruning
		}
		at := slices.IndexFunc(list, func(f Filter) bool { return f.Kind == Semijoin && f.scan.Operator == scan.Operator })
		if kind == Semijoin && at >= 0 {
			list[at].Columns, list[at].Keys = append(list[at].Columns, key.Column), append(list[at].Keys, k)
			continue
		}
		list = append(list, Filter{
			Join: j.Ordinal, Producer: p.producer, Consumer: p.consumer, Kind: kind, Table: scan.Table, Alias: scan.Alias,
			Columns: []string{key.Column}, Keys: []int{k}, State: Absent,
			ScanRows: -1, Rows: -1, Removed: -1, ProducerNDV: -1, ConsumerNDV: -1, Partitions: -1, PartitionsLeft: -1,
			producer: producer, consumer: consumer, scan: scan,
		})
	}
	return list
}

// scanOf finds the one scan a key's column comes from, when a condition on it may be checked there.
func scanOf(scans []advisor.Scan, key *advisor.Key) (advisor.Scan, bool) {
	if key.Column == "" {
		return advisor.Scan{}, false
	}
	found := -1
	for i := range scans {
		if key.Table != "" && scans[i].Table != key.Table {
			continue
		}
		if found >= 0 { // a table joined with itself: the text does not tell which of the two
			return advisor.Scan{}, false
		}
		found = i
	}
	if found < 0 || !scans[found].Reached {
		return advisor.Scan{}, false
	}
	return scans[found], true
}

func isPartitionColumn(q *advisor.Query, scan *advisor.Scan, column string) bool {
	is := func(name string) bool { return strings.EqualFold(name, column) }
	return slices.ContainsFunc(scan.PartitionColumns, is) || slices.ContainsFunc(q.Tables[scan.Table].PartitionColumns, is)
}
