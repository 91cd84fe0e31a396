package advisor

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// SettingInfo describes one Hive setting that bears on join planning.
type SettingInfo struct {
	Name string `json:"name"`
	// Default is Hive 4.0.1's value as SET prints it; empty when Hive has none.
	Default string `json:"default"`
	// Meaning is one sentence; Unit is bytes, rows, MB, percent, … or empty.
	Meaning string `json:"meaning"`
	Unit    string `json:"unit,omitempty"`
	// Selector: the simulated selector reads it. Otherwise it shapes the plan the selector is given.
	Selector bool `json:"selector"`
}

type settingDef struct {
	SettingInfo
	aliases []string
	set     func(*Settings, string) error
	// advice: the selector does not read it, other advisors do.
	advice bool
}

// Catalogue lists the settings that bear on join planning: the names to read in a session, Hive 4.0.1's defaults and what they mean.
// The caller owns the slice.
func Catalogue() []SettingInfo {
	infos := make([]SettingInfo, len(catalogue))
	for i, d := range catalogue {
		infos[i] = d.SettingInfo
		infos[i].Selector = d.set != nil && !d.advice
	}
	return infos
}

var errValue = errors.New("malformed value")

func setBool(field func(*Settings) *bool) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		switch {
		case strings.EqualFold(v, "true"):
			*field(s) = true
		case strings.EqualFold(v, "false"):
			*field(s) = false
		default:
			return errValue
		}
		return nil
	}
}

func setInt(field func(*Settings) *int64) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return errValue
		}
		*field(s) = n
		return nil
	}
}

// setFloat reads a positive float, or one from 0 when zero is allowed. Hive holds these as 32-bit floats.
func setFloat(field func(*Settings) *float32, zero bool) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		f, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSuffix(v, "f"), "F"), 32)
		if err != nil || f != f || f < 0 || (f == 0 && !zero) || f > 1e9 {
			return errValue
		}
		*field(s) = float32(f)
		return nil
	}
}

func setPolicy(s *Settings, v string) error {
	name := v[strings.LastIndexByte(v, '.')+1:]
	switch strings.TrimSuffix(name, "BigTableSelectorForAutoSMJ") {
	case "AvgPartitionSizeBased", string(AvgPartitionSizePolicy):
		s.SortMergePolicy = AvgPartitionSizePolicy
	case "TableSizeBased", string(TableSizePolicy):
		s.SortMergePolicy = TableSizePolicy
	case string(LeftmostPolicy):
		s.SortMergePolicy = LeftmostPolicy
	default:
		return errValue
	}
	return nil
}

func setMode(s *Settings, v string) error {
	switch {
	case strings.EqualFold(v, "llap"):
		s.LLAP = true
	case strings.EqualFold(v, "container"):
		s.LLAP = false
	default:
		return errValue
	}
	return nil
}

func setHosts(s *Settings, v string) error {
	// SET prints "null" or "is undefined" for a setting without a value.
	if strings.EqualFold(v, "null") || strings.Contains(v, "undefined") {
		v = ""
	}
	s.DaemonHosts = v
	return nil
}

func def(name, value, unit, meaning string, set func(*Settings, string) error, aliases ...string) settingDef {
	return settingDef{SettingInfo: SettingInfo{Name: name, Default: value, Unit: unit, Meaning: meaning}, aliases: aliases, set: set}
}

// forAdvice is a setting that the selector does not read.
func forAdvice(d settingDef) settingDef {
	d.advice = true
	return d
}

var catalogue = slices.Concat(joinCatalogue, filterCatalogue())

// joinCatalogue holds the defaults of HiveConf 4.0.1.
var joinCatalogue = []settingDef{
	def("hive.auto.convert.join", "true", "", "Turns map joins, bucket map joins and dynamically partitioned hash joins on.",
		setBool(func(s *Settings) *bool { return &s.AutoConvertJoin })),
	def("hive.auto.convert.join.noconditionaltask.size", "10000000", "bytes", "The memory the hashed sides of a map join may need together; LLAP inflates it.",
		setInt(func(s *Settings) *int64 { return &s.NoConditionalTaskSize })),
	def("hive.auto.convert.join.hashtable.max.entries", "21000000", "distinct keys", "A hashed side with more distinct keys blocks a map join unless the big side is above the shuffle limit.",
		setInt(func(s *Settings) *int64 { return &s.MaxEntries })),
	def("hive.auto.convert.join.shuffle.max.size", "10000000000", "bytes", "Above this size of the big side a map join is kept even when its hash table has too many entries.",
		setInt(func(s *Settings) *int64 { return &s.ShuffleMaxSize })),
	def("hive.optimize.dynamic.partition.hashjoin", "false", "", "Allows a hash join of shuffled partitions where a map join does not fit.",
		setBool(func(s *Settings) *bool { return &s.DPHJ })),
	def("hive.convert.join.bucket.mapjoin.tez", "true", "", "Lets the bucket count divide the hashed sides, for bucket map joins.",
		setBool(func(s *Settings) *bool { return &s.BucketMapJoin })),
	def("hive.auto.convert.sortmerge.join", "true", "", "Allows sort-merge-bucket joins of tables bucketed and sorted by the keys.",
		setBool(func(s *Settings) *bool { return &s.SortMerge })),
	def("hive.auto.convert.sortmerge.join.reduce.side", "true", "", "Allows them also above a shuffle.",
		setBool(func(s *Settings) *bool { return &s.SortMergeReduceSide })),
	def("hive.auto.convert.sortmerge.join.bigtable.selection.policy", "org.apache.hadoop.hive.ql.optimizer.AvgPartitionSizeBasedBigTableSelectorForAutoSMJ",
		"", "How a sort-merge-bucket join picks the side it streams.", setPolicy),
	def("hive.mapjoin.hybridgrace.hashtable", "false", "", "Lets a map join's hash table spill; it rules out hash joins for FULL OUTER.",
		setBool(func(s *Settings) *bool { return &s.HybridGrace })),
	def("hive.mapjoin.full.outer", "true", "", "Allows dynamically partitioned hash joins for FULL OUTER.",
		setBool(func(s *Settings) *bool { return &s.FullOuter })),
	def("hive.mapjoin.optimized.hashtable", "true", "", "The memory-optimized hash table; FULL OUTER hash joins need it.",
		setBool(func(s *Settings) *bool { return &s.OptimizedHashTable })),
	def("hive.vectorized.execution.mapjoin.native.enabled", "true", "", "Native vectorized map joins.",
		setBool(func(s *Settings) *bool { return &s.VectorNative })),
	def("hive.vectorized.execution.mapjoin.native.fast.hashtable.enabled", "false", "", "The fast hash table; it changes the size estimate of the hashed sides.",
		setBool(func(s *Settings) *bool { return &s.FastHashTable })),
	def("hive.hashtable.loadfactor", "0.75", "entries per slot", "Rows divided by it, rounded up to a power of two, are the slots of a hash table.",
		setFloat(func(s *Settings) *float32 { return &s.LoadFactor }, false)),
	def("hive.tez.cartesian-product.enabled", "false", "", "Runs cross products over a cartesian edge when the small side is not tiny.",
		setBool(func(s *Settings) *bool { return &s.CartesianEdge })),
	def("hive.xprod.mapjoin.small.table.rows", "1", "rows", "With the cartesian edge, a hashed side with more rows is no map join.",
		setInt(func(s *Settings) *int64 { return &s.XProdSmallTableRows })),
	def("hive.disable.unsafe.external.table.operations", "true", "", "Keeps native external tables out of bucket map joins and sort-merge-bucket joins.",
		setBool(func(s *Settings) *bool { return &s.UnsafeExternalDisabled })),
	def("hive.exec.reducers.bytes.per.reducer", "256000000", "bytes", "The bytes a reducer should get; it fixes the reducers a hash join is divided by.",
		setInt(func(s *Settings) *int64 { return &s.BytesPerReducer })),
	def("hive.exec.reducers.max", "1009", "reducers", "The most reducers of a stage.",
		setInt(func(s *Settings) *int64 { return &s.ReducersMax })),
	def("mapreduce.job.reduces", "-1", "reducers", "Above 0, the number of reducers of every stage.",
		setInt(func(s *Settings) *int64 { return &s.FixedReducers }), "mapred.reduce.tasks"),
	def("hive.stats.fetch.column.stats", "true", "", "Lets the planner read column statistics.",
		setBool(func(s *Settings) *bool { return &s.FetchColumnStats })),
	def("hive.stats.estimate", "true", "", "Lets the planner make up statistics of columns that have none.",
		setBool(func(s *Settings) *bool { return &s.EstimateStats })),
	def("hive.stats.ndv.estimate.percent", "20.0", "percent", "Distinct values assumed of a column without statistics, of the rows of its scan.",
		setFloat(func(s *Settings) *float32 { return &s.NDVPercent }, true)),
	def("hive.stats.num.nulls.estimate.percent", "5.0", "percent", "Nulls assumed of a column without statistics, of the rows of its scan.",
		setFloat(func(s *Settings) *float32 { return &s.NullPercent }, true)),
	def("hive.execution.mode", "container", "", "container or llap: LLAP inflates the budget and compares network costs.", setMode),
	def("hive.llap.mapjoin.memory.oversubscribe.factor", "0.2", "share of the budget", "What a map join may borrow from each further executor.",
		setFloat(func(s *Settings) *float32 { return &s.Oversubscribe }, true)),
	def("hive.llap.memory.oversubscription.max.executors.per.query", "-1", "executors", "The most executors a query borrows from; -1 takes a third of a node's, at least 1, at most 8.",
		setInt(func(s *Settings) *int64 { return &s.MaxExecutorsPerQuery })),
	def("hive.llap.daemon.num.executors", "4", "executors", "Executors of an LLAP daemon.",
		setInt(func(s *Settings) *int64 { return &s.DaemonExecutors }), "llap.daemon.num.executors"),
	def("hive.llap.daemon.service.hosts", "", "", "The LLAP registry: host names, or @name for ZooKeeper.", setHosts, "llap.daemon.service.hosts"),
	def("hive.tez.container.size", "-1", "MB", "The memory of a Tez container, which has to back the budget.",
		setInt(func(s *Settings) *int64 { return &s.ContainerMB })),
	def("mapreduce.map.memory.mb", "-1", "MB", "The memory of a Tez container where hive.tez.container.size is not set.",
		setInt(func(s *Settings) *int64 { return &s.MapMemoryMB })),
	def("hive.llap.daemon.memory.per.instance.mb", "4096", "MB", "The memory of an LLAP daemon; its executors share it, and each has to back the budget.",
		setInt(func(s *Settings) *int64 { return &s.DaemonMB }), "llap.daemon.memory.per.instance.mb"),

	def("hive.execution.engine", "mr", "", "The engine; the five strategies are those of tez.", nil),
	def("hive.auto.convert.join.noconditionaltask", "true", "", "Map joins without a conditional task; Tez plans none with one.", nil),
	forAdvice(def("hive.auto.convert.anti.join", "true", "", "Turns an outer join that keeps only unmatched rows into an anti join.",
		setBool(func(s *Settings) *bool { return &s.AntiJoin }))),
	def("hive.cbo.enable", "true", "", "The cost-based optimizer, which orders the joins.", setBool(func(s *Settings) *bool { return &s.CBO })),
	def("hive.merge.nway.joins", "false", "", "Merges neighbouring joins on one key into one join of many inputs.", nil),
	def("hive.tez.auto.reducer.parallelism", "false", "", "Lets Tez lower the number of reducers at run time.", nil),
	def("hive.ignore.mapjoin.hint", "true", "", "Ignores MAPJOIN hints.", nil),
	def("hive.optimize.skewjoin", "false", "", "Handles skewed keys at run time (MapReduce).", nil),
	def("hive.strict.checks.cartesian.product", "false", "", "Refuses cross products.", nil),
	def("hive.vectorized.execution.enabled", "true", "", "Vectorized execution.", nil),
	def("hive.stats.deserialization.factor", "10.0", "", "File bytes to row bytes where a table has no raw data size.", nil),
	def("hive.stats.join.factor", "1.1", "", "Rows of a join over its largest input where column statistics are missing.", nil),
	def("hive.tez.exec.print.summary", "false", "", "Prints the rows each operator really gave after a query.", nil),
}
