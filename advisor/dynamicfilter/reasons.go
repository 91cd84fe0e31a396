package dynamicfilter

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// deciding applies Hive's rules to one filter that the plan does not have.
type deciding struct {
	query  *advisor.Query
	filter *Filter
	all    []Filter
	join   *advisor.Join
}

// reasons lists all rules in the way, so that a person need not find them one after the other.
func (d *deciding) reasons() []Reason {
	var list []Reason
	add := func(r Reason, in bool) {
		if in {
			list = append(list, r)
		}
	}
	s := &d.query.Settings.Filters
	const pruning, semijoin = "hive.tez.dynamic.partition.pruning", "hive.tez.dynamic.semijoin.reduction"
	add(Reason{Cause: PruningOff, Setting: pruning, Text: pruning + " is off", Fix: set(pruning, "true")}, !s.PartitionPruning)
	add(Reason{Cause: NullSafeKey, Text: "a key is compared with <=>"}, d.join.NullSafe)
	if d.filter.Kind == Pruning {
		add(d.events())
		add(d.cycle())
		return list
	}
	add(Reason{Cause: SemijoinOff, Setting: semijoin, Text: semijoin + " is off", Fix: set(semijoin, "true")}, !s.Semijoin)
	add(d.external())
	add(d.partitionKey())
	add(Reason{Cause: BelowUnion, Text: d.join.InputName(d.filter.Producer) + " comes out of a union"}, d.union())
	pruned := feedsEvent(d.filter.scan.Operator)
	if !pruned { // a scan whose keys prune partitions elsewhere may keep its filter against the next rules (markSemiJoinForDPP)
		add(d.mapJoin())
	}
	add(Reason{Cause: SortMergeJoin, Text: "the sort-merge-bucket join reads its sides as they lie"}, d.sortMerge())
	add(d.entries())
	if !pruned {
		add(d.smallScan())
		add(d.worth())
		add(d.second())
	}
	add(d.cycle())
	return list
}

// external: native external tables take no part, on neither side (disableSemiJoinOptDueToExternalTable).
func (d *deciding) external() (Reason, bool) {
	const name = "hive.disable.unsafe.external.table.operations"
	if !d.query.Settings.UnsafeExternalDisabled {
		return Reason{}, false
	}
	f := d.filter
	tables := []string{f.Table}
	for _, k := range f.Keys {
		tables = append(tables, f.producer.Keys[k].Table)
	}
	for _, table := range tables {
		if table != "" && d.isExternal(table) {
			return Reason{
				Cause: ExternalTable, Setting: name, Text: table + " is an external table, and " + name + " is on",
				Fix: set(name, "false") + " -- only where nothing but Hive writes the files",
			}, true
		}
	}
	return Reason{}, false
}

func (d *deciding) isExternal(table string) bool {
	if strings.EqualFold(d.query.Tables[table].Kind, "EXTERNAL_TABLE") {
		return true
	}
	for _, in := range [...]*advisor.Input{d.filter.producer, d.filter.consumer} {
		if in.Layout.External && len(in.Tables) == 1 && in.Tables[0] == table {
			return true
		}
	}
	return false
}

// partitionKey: keys that are partition columns of the producer are not collected.
func (d *deciding) partitionKey() (Reason, bool) {
	f := d.filter
	scans := f.producer.Scans()
	for _, k := range f.Keys {
		key := &f.producer.Keys[k]
		if scan, ok := scanOf(scans, key); ok && !f.producer.OverJoin && isPartitionColumn(d.query, &scan, key.Column) {
			return Reason{Cause: PartitionKey, Text: "the key is a partition column of " + d.join.InputName(f.Producer) + ", of which Hive makes no Bloom filter"}, true
		}
	}
	return Reason{}, false
}

// union: in the plan the members of a union write into the shuffle each for itself; Hive decides before (removeSemiJoinEdgesForUnion).
func (d *deciding) union() bool {
	_, below := d.filter.producer.Operators()
	return strings.HasPrefix(d.filter.producer.Vertex, "Union ") || slices.ContainsFunc(below, func(o *explain.Operator) bool { return o.Kind == "Union" })
}

// events: the distinct keys together are more than Hive sends (RemoveDynamicPruningBySize).
func (d *deciding) events() (Reason, bool) {
	const name = "hive.tez.dynamic.partition.pruning.max.data.size"
	key := &d.filter.producer.Keys[d.filter.Keys[0]]
	ndv := known(key.NDV)
	width, ok := advisor.ValueSize(key.Type, d.averageLength(key))
	if ndv < 0 || !ok {
		return Reason{}, false
	}
	size, limit := ndv*width, d.query.Settings.Filters.PruningMaxDataSize
	if size <= limit {
		return Reason{}, false
	}
	return Reason{
		Cause: EventsTooLarge, Setting: name, Have: float64(size), Limit: float64(limit),
		Text: advisor.Grouped(ndv) + " keys are about " + advisor.Bytes(size) + " of events, " + name + " is " + advisor.Bytes(limit),
		Fix:  set(name, number(above(size))),
	}, true
}

func (d *deciding) averageLength(key *advisor.Key) float64 {
	if c := d.query.Tables[key.Table].Columns[strings.ToLower(key.Column)]; c.AvgLen != nil {
		return *c.AvgLen
	}
	return -1
}

// mapJoin: the filter would run beside a map join that drops the same rows a little later (removeSemijoinsParallelToMapJoin).
func (d *deciding) mapJoin() (Reason, bool) {
	const name = "hive.tez.dynamic.semijoin.reduction.for.mapjoin"
	f, s := d.filter, &d.query.Settings
	hashes := d.join.Strategy == advisor.MapJoin || d.join.Strategy == advisor.BucketMapJoin
	if !hashes || d.join.BigTable != f.Consumer || s.Filters.SemijoinMapJoin || !s.AutoConvertJoin {
		return Reason{}, false
	}
	if v := f.scan.Operator.Vertex; v == nil || v.Name != d.join.Vertex {
		return Reason{}, false
	}
	return Reason{
		Cause: BesideMapJoin, Setting: name, Text: "the map join's hash table drops the same rows in the same task, and " + name + " is off",
		Fix: set(name, "true"),
	}, true
}

// sortMerge: the scans below a sort-merge-bucket join, also where a shuffle lies between (removeSemijoinOptimizationFromSMBJoins).
func (d *deciding) sortMerge() bool { return d.join.Strategy == advisor.SMB }

// entries: more keys than a Bloom filter may have (removeSemiJoinIfNoStats, GenericUDAFBloomFilter.getExpectedEntries).
func (d *deciding) entries() (Reason, bool) {
	const name = "hive.tez.max.bloom.filter.entries"
	f, s := d.filter, &d.query.Settings.Filters
	keys := f.producer.Rows
	if n := known(f.producer.Keys[f.Keys[0]].NDV); n > 0 {
		keys = n
	}
	if keys < 0 {
		return Reason{}, false
	}
	keys = max(int64(float64(keys)*float64(s.BloomFactor)), s.BloomMinEntries)
	if keys <= s.BloomMaxEntries {
		return Reason{}, false
	}
	return Reason{
		Cause: TooManyKeys, Setting: name, Have: float64(keys), Limit: float64(s.BloomMaxEntries),
		Text: "the Bloom filter would hold " + advisor.Grouped(keys) + " keys, " + name + " is " + advisor.Grouped(s.BloomMaxEntries),
		Fix:  set(name, number(above(keys))),
	}, true
}

// smallScan: Hive compares the rows of the scan before its filters, though the setting speaks of size (removeSemiJoinIfNoStats).
func (d *deciding) smallScan() (Reason, bool) {
	const name = "hive.tez.bigtable.minsize.semijoin.reduction"
	rows, limit := d.filter.ScanRows, d.query.Settings.Filters.BigTableMinRows
	if rows < 0 || rows >= limit {
		return Reason{}, false
	}
	return Reason{
		Cause: ScanTooSmall, Setting: name, Have: float64(rows), Limit: float64(limit),
		Text: "the scan has " + advisor.CountOf(rows, "row") + ", " + name + " is " + advisor.Grouped(limit),
		Fix:  set(name, number(below(rows))),
	}, true
}

// worth: the share of rows Hive expects to save, less the producer's rows, is below the threshold (removeSemijoinOptimizationByBenefit).
func (d *deciding) worth() (Reason, bool) {
	const name = "hive.tez.dynamic.semijoin.reduction.threshold"
	limit := float64(d.query.Settings.Filters.SemijoinThreshold)
	net, exact := d.benefit()
	if net >= limit || d.filter.Rows <= 0 {
		return Reason{}, false
	}
	r := Reason{Cause: BenefitTooLow, Setting: name, Have: net, Limit: limit}
	about := ""
	if !exact {
		about = "about "
	}
	r.Text = "by Hive's reckoning it saves " + about + percent(net) + " of the rows (" + advisor.CountOf(d.filter.producer.Rows, "producer row") + " taken off), " + name + " is " + percent(limit)
	if floor := math.Floor(net*95) / 100; floor > 0 {
		r.Fix = set(name, strconv.FormatFloat(floor, 'f', 2, 64))
	}
	return r, true
}

// second: after one filter of a scan Hive takes its rows for gone, so that a second one saves nothing.
func (d *deciding) second() (Reason, bool) {
	f := d.filter
	for i := range d.all {
		o := &d.all[i]
		other := o.Kind == Semijoin && o.State == Present && o.scan.Operator == f.scan.Operator && (o.Producer != f.Producer || o.Join != f.Join)
		if other {
			return Reason{Cause: OnePerScan, Text: "Hive keeps one such filter of a scan, that of " + strings.Join(o.Columns, ", ")}, true
		}
	}
	return Reason{}, false
}

// cycle: the producer waits for the consumer already, through a filter the other way, or because the consumer's rows are what the producer's
// task is given to hash (removeCycleOperator).
func (d *deciding) cycle() (Reason, bool) {
	f := d.filter
	for i := range d.all {
		if o := &d.all[i]; o.State == Present && o.Join == f.Join && o.Producer == f.Consumer && o.Consumer == f.Producer {
			return Reason{Cause: Cycle, Text: d.join.InputName(f.Producer) + " is itself filtered by the keys of " + d.join.InputName(f.Consumer)}, true
		}
	}
	hashes := d.join.Strategy == advisor.MapJoin || d.join.Strategy == advisor.BucketMapJoin || d.join.Strategy == advisor.DPHJ
	if v := d.join.Vertex; hashes && d.join.BigTable == f.Producer && f.producer.Vertex == v {
		return Reason{Cause: Cycle, Text: d.join.InputName(f.Producer) + " is streamed past a copy of " + d.join.InputName(f.Consumer) + ", and cannot come before it"}, true
	}
	return Reason{}, false
}

// feedsEvent: keys of the scan prune partitions of another one.
func feedsEvent(scan *explain.Operator) bool {
	found := false
	var visit func(o *explain.Operator, depth int)
	visit = func(o *explain.Operator, depth int) {
		if strings.HasPrefix(o.Kind, "Dynamic Partitioning Event") {
			found = true
		}
		if depth > 200 {
			return
		}
		for _, c := range o.Children {
			visit(c, depth+1)
		}
	}
	visit(scan, 0)
	return found
}
