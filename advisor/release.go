package advisor

// releaseDefaults holds what older releases default to where it differs from the catalogue (HiveConf of 3.1.3 and 2.3.9).
// A setting a release does not know is given the value that makes Hive 4's rule behave as if it were not there.
var releaseDefaults = map[Release]map[string]string{
	Hive3: {
		"hive.mapjoin.hybridgrace.hashtable":                        "true",
		"hive.mapjoin.full.outer":                                   "false",
		"hive.stats.fetch.column.stats":                             "false",
		"hive.merge.nway.joins":                                     "true",
		"hive.auto.convert.anti.join":                               "false", // 3.1.3 refuses to SET it: the operator came with 4.0
		"hive.llap.memory.oversubscription.max.executors.per.query": "3",
	},
	Hive2: {
		"hive.auto.convert.anti.join":                               "false",
		"hive.mapjoin.hybridgrace.hashtable":                        "true",
		"hive.mapjoin.full.outer":                                   "false",
		"hive.merge.nway.joins":                                     "true",
		"hive.stats.fetch.column.stats":                             "false",
		"hive.stats.estimate":                                       "false",
		"hive.stats.deserialization.factor":                         "1.0",
		"hive.strict.checks.cartesian.product":                      "true",
		"hive.tez.bigtable.minsize.semijoin.reduction":              "1000000",
		"hive.tez.bloom.filter.factor":                              "2.0",
		"hive.vectorized.execution.enabled":                         "false",
		"hive.auto.convert.join.hashtable.max.entries":              "40000000",
		"hive.auto.convert.join.shuffle.max.size":                   "9223372036854775807",
		"hive.auto.convert.sortmerge.join":                          "false",
		"hive.convert.join.bucket.mapjoin.tez":                      "false",
		"hive.disable.unsafe.external.table.operations":             "false",
		"hive.llap.mapjoin.memory.oversubscribe.factor":             "0",
		"hive.llap.memory.oversubscription.max.executors.per.query": "0",
	},
}

// ReleaseDefault returns the value a release starts with for a setting of the catalogue, and whether the catalogue knows the setting.
func ReleaseDefault(release Release, name string) (string, bool) {
	if v, ok := releaseDefaults[release][name]; ok {
		return v, true
	}
	for i := range catalogue {
		if catalogue[i].Name == name {
			return catalogue[i].Default, true
		}
	}
	return "", false
}

// Releases lists the release lines with defaults of their own.
func Releases() []Release { return []Release{Hive4, Hive3, Hive2} }

// countsColumnOverhead: Hive 4 takes the Java object overhead of column values off the data size and knows the fast hash table
// (ConvertJoinMapJoin.computeOnlineDataSize); Hive 3 and 2 hash the data size as it is.
func (s *Settings) countsColumnOverhead() bool { return s.Release == Hive4 }

// plansFullOuter: only Hive 4 hash-joins FULL OUTER (MapJoinProcessor.isFullOuterMapEnabled).
func (s *Settings) plansFullOuter() bool { return s.Release == Hive4 }

// comparesNetwork: with a divided first attempt on LLAP, the network decides between a hash join of partitions and one of buckets
// (ConvertJoinMapJoin.selectJoinForLlap); Hive 2 has no such step.
func (s *Settings) comparesNetwork() bool { return s.Release != Hive2 }

// comparesBeforeNetwork: on LLAP, Hive 4 prefers a plain map join when the hashed sides fit without buckets; Hive 3 always compares network costs.
func (s *Settings) comparesBeforeNetwork() bool { return s.Release == Hive4 }
