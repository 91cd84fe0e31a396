package advisor

// FilterSettings are the session settings that decide on Hive's runtime filters: dynamic partition pruning and dynamic semijoin
// reduction. They choose no join strategy.
type FilterSettings struct {
	// PartitionPruning is hive.tez.dynamic.partition.pruning; off, there is no semijoin reduction either.
	PartitionPruning bool `json:"partition_pruning"`
	// PruningMaxDataSize is hive.tez.dynamic.partition.pruning.max.data.size in bytes: more key values are not sent.
	PruningMaxDataSize int64 `json:"pruning_max_data_size"`
	// Semijoin is hive.tez.dynamic.semijoin.reduction.
	Semijoin bool `json:"semijoin"`
	// SemijoinMapJoin is hive.tez.dynamic.semijoin.reduction.for.mapjoin: keep the filter beside a map join.
	SemijoinMapJoin bool `json:"semijoin_map_join"`
	// SemijoinThreshold is hive.tez.dynamic.semijoin.reduction.threshold, a float in Hive: the least share of the rows the filter has to save.
	SemijoinThreshold float32 `json:"semijoin_threshold"`
	// BigTableMinRows is hive.tez.bigtable.minsize.semijoin.reduction in rows of the filtered scan, whatever its name says.
	BigTableMinRows int64 `json:"big_table_min_rows"`
	// BloomMinEntries, BloomMaxEntries and BloomFactor are hive.tez.min.bloom.filter.entries, hive.tez.max.bloom.filter.entries (keys)
	// and hive.tez.bloom.filter.factor, a float in Hive: the expected keys times the factor, at least the minimum, fit the maximum.
	BloomMinEntries int64   `json:"bloom_min_entries"`
	BloomMaxEntries int64   `json:"bloom_max_entries"`
	BloomFactor     float32 `json:"bloom_factor"`
}

// filterCatalogue holds the defaults of HiveConf 4.0.1.
func filterCatalogue() []settingDef {
	defs := []settingDef{
		def("hive.tez.dynamic.partition.pruning", "true", "", "Prunes partitions at run time by the keys of the other side of a join; semijoin reduction needs it too.",
			setBool(func(s *Settings) *bool { return &s.Filters.PartitionPruning })),
		def("hive.tez.dynamic.partition.pruning.max.data.size", "104857600", "bytes", "More key values than these are not sent to prune partitions.",
			setInt(func(s *Settings) *int64 { return &s.Filters.PruningMaxDataSize })),
		def("hive.tez.dynamic.semijoin.reduction", "true", "", "Prunes the big side of a shuffle join by a Bloom filter from the small side.",
			setBool(func(s *Settings) *bool { return &s.Filters.Semijoin })),
		def("hive.tez.dynamic.semijoin.reduction.for.mapjoin", "false", "", "Keeps that filter beside a map join, whose hash table does the same work later.",
			setBool(func(s *Settings) *bool { return &s.Filters.SemijoinMapJoin })),
		def("hive.tez.dynamic.semijoin.reduction.threshold", "0.5", "share of the rows", "The least share of the filtered side's rows that the filter must be expected to save.",
			setFloat(func(s *Settings) *float32 { return &s.Filters.SemijoinThreshold }, true)),
		def("hive.tez.bigtable.minsize.semijoin.reduction", "100000000", "rows", "Scans of fewer rows are not filtered.",
			setInt(func(s *Settings) *int64 { return &s.Filters.BigTableMinRows })),
		def("hive.tez.min.bloom.filter.entries", "1000000", "keys", "A Bloom filter is made for at least so many keys.",
			setInt(func(s *Settings) *int64 { return &s.Filters.BloomMinEntries })),
		def("hive.tez.max.bloom.filter.entries", "100000000", "keys", "For more keys no Bloom filter is made.",
			setInt(func(s *Settings) *int64 { return &s.Filters.BloomMaxEntries })),
		def("hive.tez.bloom.filter.factor", "1.0", "", "The expected keys are multiplied by it.",
			setFloat(func(s *Settings) *float32 { return &s.Filters.BloomFactor }, false)),
	}
	for i := range defs {
		defs[i].advice = true
	}
	return defs
}
