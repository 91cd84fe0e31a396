package advisor

import "strings"

// Release is a Hive release line whose planner rules and defaults are known.
type Release string

// Release lines. Hive4 is exact for 4.0.1; the older two carry their defaults and the rules that differ.
const (
	Hive4 Release = "hive-4"
	Hive3 Release = "hive-3"
	Hive2 Release = "hive-2"
)

// BigTablePolicy is how a sort-merge-bucket join picks the side it streams
// (hive.auto.convert.sortmerge.join.bigtable.selection.policy).
type BigTablePolicy string

// Policies, named after Hive's classes without package and suffix.
const (
	AvgPartitionSizePolicy BigTablePolicy = "AvgPartitionSize"
	TableSizePolicy        BigTablePolicy = "TableSize"
	LeftmostPolicy         BigTablePolicy = "Leftmost"
)

// Settings are the session settings the join selection reads, typed.
// Build them with NewSettings or SettingsFor: the zero value is no valid Hive configuration.
type Settings struct {
	Release Release `json:"release"`

	// AutoConvertJoin is hive.auto.convert.join: off, only sort-merge and merge joins are planned.
	AutoConvertJoin bool `json:"auto_convert_join"`
	// NoConditionalTaskSize is hive.auto.convert.join.noconditionaltask.size in bytes: the budget before LLAP inflates it.
	NoConditionalTaskSize int64 `json:"noconditionaltask_size"`
	// MaxEntries is hive.auto.convert.join.hashtable.max.entries in distinct keys; below 1 it is off.
	MaxEntries int64 `json:"max_entries"`
	// ShuffleMaxSize is hive.auto.convert.join.shuffle.max.size in bytes; below 1 it is off.
	ShuffleMaxSize int64 `json:"shuffle_max_size"`
	// BucketMapJoin is hive.convert.join.bucket.mapjoin.tez.
	BucketMapJoin bool `json:"bucket_map_join"`
	// DPHJ is hive.optimize.dynamic.partition.hashjoin.
	DPHJ bool `json:"dphj"`
	// SortMerge is hive.auto.convert.sortmerge.join; SortMergeReduceSide is …join.reduce.side.
	SortMerge           bool `json:"sort_merge"`
	SortMergeReduceSide bool `json:"sort_merge_reduce_side"`
	// SortMergePolicy is hive.auto.convert.sortmerge.join.bigtable.selection.policy.
	SortMergePolicy BigTablePolicy `json:"sort_merge_policy"`
	// HybridGrace is hive.mapjoin.hybridgrace.hashtable.
	HybridGrace bool `json:"hybrid_grace"`
	// FullOuter is hive.mapjoin.full.outer.
	FullOuter bool `json:"full_outer"`
	// OptimizedHashTable is hive.mapjoin.optimized.hashtable.
	OptimizedHashTable bool `json:"optimized_hash_table"`
	// VectorNative is hive.vectorized.execution.mapjoin.native.enabled.
	VectorNative bool `json:"vector_native"`
	// FastHashTable is hive.vectorized.execution.mapjoin.native.fast.hashtable.enabled.
	FastHashTable bool `json:"fast_hash_table"`
	// LoadFactor is hive.hashtable.loadfactor, a float in Hive: entries per slot.
	LoadFactor float32 `json:"load_factor"`
	// CartesianEdge is hive.tez.cartesian-product.enabled; XProdSmallTableRows is hive.xprod.mapjoin.small.table.rows in rows.
	CartesianEdge       bool  `json:"cartesian_edge"`
	XProdSmallTableRows int64 `json:"xprod_small_table_rows"`
	// UnsafeExternalDisabled is hive.disable.unsafe.external.table.operations.
	UnsafeExternalDisabled bool `json:"unsafe_external_disabled"`
	// BytesPerReducer is hive.exec.reducers.bytes.per.reducer in bytes; ReducersMax is hive.exec.reducers.max;
	// FixedReducers is mapreduce.job.reduces, in force above 0.
	BytesPerReducer int64 `json:"bytes_per_reducer"`
	ReducersMax     int64 `json:"reducers_max"`
	FixedReducers   int64 `json:"fixed_reducers"`
	// FetchColumnStats is hive.stats.fetch.column.stats: off, the planner knows no column statistics at all.
	FetchColumnStats bool `json:"fetch_column_stats"`
	// EstimateStats is hive.stats.estimate; NDVPercent and NullPercent are hive.stats.ndv.estimate.percent and
	// hive.stats.num.nulls.estimate.percent: what the planner assumes of a column without statistics, in percent of the scan's rows.
	EstimateStats bool    `json:"estimate_stats"`
	NDVPercent    float32 `json:"ndv_percent"`
	NullPercent   float32 `json:"null_percent"`

	// CBO is hive.cbo.enable. It decides no join here; without it the planner makes up no statistics for single columns of partitions.
	CBO bool `json:"cbo"`
	// AntiJoin is hive.auto.convert.anti.join; it chooses no strategy either.
	AntiJoin bool `json:"anti_join"`

	// LLAP is hive.execution.mode = llap.
	LLAP bool `json:"llap"`
	// Oversubscribe is hive.llap.mapjoin.memory.oversubscribe.factor, a float in Hive.
	Oversubscribe float32 `json:"oversubscribe"`
	// MaxExecutorsPerQuery is hive.llap.memory.oversubscription.max.executors.per.query; −1 derives it from the executors of a node.
	MaxExecutorsPerQuery int64 `json:"max_executors_per_query"`
	// DaemonExecutors is hive.llap.daemon.num.executors as this session sees it.
	DaemonExecutors int64 `json:"daemon_executors"`
	// DaemonHosts is hive.llap.daemon.service.hosts: empty (no registry), host names by comma, or "@name" for a ZooKeeper registry.
	DaemonHosts string `json:"daemon_hosts,omitempty"`
	// Nodes is the number of LLAP nodes: from DaemonHosts, or set by who knows it (configuration, the planner's own lines); 0 unknown.
	Nodes int64 `json:"nodes"`
	// NodeExecutors is the number of executors a node registers; 0 when no registry is known to answer.
	NodeExecutors int64 `json:"node_executors"`

	// ContainerMB is hive.tez.container.size in MB, −1 when Hive takes it from elsewhere; it decides nothing and backs advice on the budget.
	ContainerMB int64 `json:"container_mb"`
	// MapMemoryMB is mapreduce.map.memory.mb, which stands in where the container's size is not set; DaemonMB is
	// hive.llap.daemon.memory.per.instance.mb. They too only back advice. See Memory.
	MapMemoryMB int64 `json:"map_memory_mb"`
	DaemonMB    int64 `json:"daemon_mb"`

	Filters FilterSettings `json:"filters"`

	// Malformed lists settings whose value could not be read, as name=value: the default is in force instead.
	Malformed []string `json:"malformed,omitempty"`
}

// NewSettings reads Hive settings by name, as SET or SET -v return them, over the defaults of the release they name (ReleaseName,
// see Profile.Fill), else of Hive 4.0.1. Unknown names are ignored, malformed values leave the default and are listed in Malformed.
func NewSettings(values map[string]string) Settings {
	return SettingsFor(releaseIn(values, ""), values)
}

// SettingsFor is NewSettings over the defaults of a release; an unknown release is taken for Hive4.
func SettingsFor(release Release, values map[string]string) Settings {
	s := Settings{Release: Hive4}
	if release == Hive3 || release == Hive2 {
		s.Release = release
	}
	for i := range catalogue {
		d := &catalogue[i]
		if d.set == nil {
			continue
		}
		def, _ := defaultIn(values, s.Release, d.Name)
		if err := d.set(&s, def); err != nil {
			s.Malformed = append(s.Malformed, d.Name+"="+def) // a profile's that nobody validated
			def, _ = ReleaseDefault(s.Release, d.Name)
			if err := d.set(&s, def); err != nil {
				panic("advisor: default of " + d.Name + ": " + err.Error())
			}
		}
		value, ok := lookup(values, d)
		if !ok {
			continue
		}
		if err := d.set(&s, value); err != nil {
			s.Malformed = append(s.Malformed, d.Name+"="+value)
			_ = d.set(&s, def)
		}
	}
	s.readHosts()
	return s
}

func lookup(values map[string]string, d *settingDef) (string, bool) {
	names := append([]string{d.Name}, d.aliases...)
	for _, n := range names {
		if v, ok := values[n]; ok {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

// readHosts derives the cluster from a fixed host list, which LlapFixedRegistryImpl gives the session's executor count.
func (s *Settings) readHosts() {
	if s.DaemonHosts == "" || strings.HasPrefix(s.DaemonHosts, "@") {
		return
	}
	for host := range strings.SplitSeq(s.DaemonHosts, ",") {
		if strings.TrimSpace(host) != "" {
			s.Nodes++
		}
	}
	s.NodeExecutors = s.DaemonExecutors
}

// WithCluster returns the settings for an LLAP cluster of that many nodes and executors a node, as a registry would report it.
func (s Settings) WithCluster(nodes, executors int64) Settings {
	s.Nodes, s.NodeExecutors = nodes, executors
	return s
}
