package advisor

import (
	"strings"
	"testing"
)

// hiveConf holds, for each setting of the catalogue, what HiveConf.ConfVars of 2.3.9, 3.1.3 and 4.0.1 start with, as their sources write
// it; a dash where the release does not know the setting.
const hiveConf = `
hive.auto.convert.join                                          true       true        true
hive.auto.convert.join.noconditionaltask.size                   10000000   10000000    10000000
hive.auto.convert.join.hashtable.max.entries                    40000000   21000000    21000000
hive.auto.convert.join.shuffle.max.size                         -          10000000000 10000000000
hive.optimize.dynamic.partition.hashjoin                        false      false       false
hive.convert.join.bucket.mapjoin.tez                            false      true        true
hive.auto.convert.sortmerge.join                                false      true        true
hive.auto.convert.sortmerge.join.reduce.side                    true       true        true
hive.mapjoin.hybridgrace.hashtable                              true       true        false
hive.mapjoin.full.outer                                         -          -           true
hive.mapjoin.optimized.hashtable                                true       true        true
hive.vectorized.execution.mapjoin.native.enabled                true       true        true
hive.vectorized.execution.mapjoin.native.fast.hashtable.enabled false      false       false
hive.hashtable.loadfactor                                       0.75       0.75        0.75
hive.tez.cartesian-product.enabled                              -          false       false
hive.xprod.mapjoin.small.table.rows                             -          -           1
hive.disable.unsafe.external.table.operations                   -          true        true
hive.exec.reducers.bytes.per.reducer                            256000000  256000000   256000000
hive.exec.reducers.max                                          1009       1009        1009
mapreduce.job.reduces                                           -1         -1          -1
hive.stats.fetch.column.stats                                   false      false       true
hive.stats.estimate                                             -          true        true
hive.stats.ndv.estimate.percent                                 -          20.0        20.0
hive.stats.num.nulls.estimate.percent                           -          5.0         5.0
hive.execution.mode                                             container  container   container
hive.llap.mapjoin.memory.oversubscribe.factor                   -          0.2         0.2
hive.llap.memory.oversubscription.max.executors.per.query       -          3           -1
hive.llap.daemon.num.executors                                  4          4           4
hive.tez.container.size                                         -1         -1          -1
hive.llap.daemon.memory.per.instance.mb                         4096       4096        4096
hive.execution.engine                                           mr         mr          mr
hive.auto.convert.join.noconditionaltask                        true       true        true
hive.auto.convert.anti.join                                     -          -           true
hive.cbo.enable                                                 true       true        true
hive.merge.nway.joins                                           true       true        false
hive.tez.auto.reducer.parallelism                               false      false       false
hive.ignore.mapjoin.hint                                        true       true        true
hive.optimize.skewjoin                                          false      false       false
hive.strict.checks.cartesian.product                            true       false       false
hive.vectorized.execution.enabled                               false      true        true
hive.stats.deserialization.factor                               1.0        10.0        10.0
hive.stats.join.factor                                          1.1        1.1         1.1
hive.tez.exec.print.summary                                     false      false       false
hive.tez.dynamic.partition.pruning                              true       true        true
hive.tez.dynamic.partition.pruning.max.data.size                104857600  104857600   104857600
hive.tez.dynamic.semijoin.reduction                             true       true        true
hive.tez.dynamic.semijoin.reduction.for.mapjoin                 -          false       false
hive.tez.dynamic.semijoin.reduction.threshold                   0.5        0.5         0.5
hive.tez.bigtable.minsize.semijoin.reduction                    1000000    100000000   100000000
hive.tez.min.bloom.filter.entries                               1000000    1000000     1000000
hive.tez.max.bloom.filter.entries                               100000000  100000000   100000000
hive.tez.bloom.filter.factor                                    2.0        1.0         1.0
`

// notThere are the values that make Hive 4's rules behave as those of a release that lacks the setting; of what is not listed, no older
// release's rule asks.
var notThere = map[string]string{
	"hive.auto.convert.join.shuffle.max.size":                   "9223372036854775807", // too many entries always refuse
	"hive.mapjoin.full.outer":                                   "false",
	"hive.disable.unsafe.external.table.operations":             "false",
	"hive.stats.estimate":                                       "false",
	"hive.llap.mapjoin.memory.oversubscribe.factor":             "0",
	"hive.llap.memory.oversubscription.max.executors.per.query": "0",
	"hive.auto.convert.anti.join":                               "false",
}

// valueless are settings without a default in HiveConf, or of another program's: Hadoop's, or a class name that all releases share.
var valueless = map[string]bool{
	"hive.llap.daemon.service.hosts": true, "mapreduce.map.memory.mb": true,
	"hive.auto.convert.sortmerge.join.bigtable.selection.policy": true,
}

func TestReleaseDefaultsAreHiveConfs(t *testing.T) {
	releases := []Release{Hive2, Hive3, Hive4}
	known := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(hiveConf)) {
		fields := strings.Fields(line)
		known[fields[0]] = true
		for i, r := range releases {
			want := fields[i+1]
			if want == "-" {
				var told bool
				if want, told = notThere[fields[0]]; !told {
					continue
				}
			}
			if got, ok := ReleaseDefault(r, fields[0]); !ok || got != want {
				t.Errorf("%s: %s is %q, want %q", r, fields[0], got, want)
			}
		}
	}
	for _, info := range Catalogue() {
		if !known[info.Name] && !valueless[info.Name] {
			t.Errorf("%s is not compared with HiveConf", info.Name)
		}
	}
}
