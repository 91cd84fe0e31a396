package statscheck

import (
	"slices"
	"testing"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// A metastore without direct SQL sums up no column statistics: the partitions' own flags stand in, and a plan's NONE condemns
// nothing then, since no ANALYZE would mend it. A partition without them keeps rule R3.
func TestColumnsVouchedByPartitions(t *testing.T) {
	const describe, parts = "DESCRIBE FORMATTED `h_statscheck_golden`.`parted`", "SHOW PARTITIONS `h_statscheck_golden`.`parted`"
	table := hiveql.TableName{Database: "h_statscheck_golden", Table: "parted"}
	silent := append(golden(t, "nostats_column"), rowsOf([]string{"COLUMN_STATS_ACCURATE", "{}"})...)
	const first, second = " PARTITION (`ds`='2024-01-01', `h`='1')", " PARTITION (`ds`='a b=c/d', `h`='2')"
	for name, c := range map[string]struct {
		partitions []string
		want       []Rule
		asked      int
	}{
		"every partition flags it":      {[]string{"ds=2024-01-01/h=1"}, nil, 4},
		"one partition does not":        {[]string{"ds=2024-01-01/h=1", "ds=a b%3Dc%2Fd/h=2"}, []Rule{R3Columns}, 4},
		"there are no partitions":       {nil, []Rule{R3Columns}, 3},
		"Hive tells no partition of it": {[]string{"ds=gone/h=1"}, []Rule{R3Columns}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			var list [][]string
			for _, p := range c.partitions {
				list = append(list, []string{p})
			}
			hive := newFakeHive(t).on(describe, answer{rows: golden(t, "parted")}).on(describe+" `id`", answer{rows: silent}).
				on(parts, answer{rows: rowsOf(list...)}).
				on(describe+first, answer{rows: golden(t, "partition")}).on(describe+second, answer{rows: golden(t, "partition_odd")}).
				on(describe+" PARTITION (`ds`='gone', `h`='1')", answer{err: refused(10006, "Partition not found")})
			got, err := ReadTable(t.Context(), hive, table, []string{"id"})
			if err != nil {
				t.Fatal(err)
			}
			got.BasicAccurate = true
			usage := Usage{JoinColumns: []string{"id"}, PlanColumn: "NONE"}
			if rules := rulesOf(Check(Subject{Stats: got, Usage: usage}, DefaultThresholds())); !slices.Equal(rules, c.want) {
				t.Errorf("got %v, want %v", rules, c.want)
			}
			if n := len(hive.statements()); n != c.asked {
				t.Errorf("sent %q", hive.statements())
			}
			if effect := EffectOf(got, got, []string{"id"}, nil); (effect == EffectIneffective) != (c.want != nil) {
				t.Errorf("a refresh of it would be %s", effect)
			}
		})
	}
}
