package statscheck

import (
	"errors"
	"slices"
	"testing"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// A scan for the columns counts the rows too, where the server is new enough and says so.
func TestStatementsForTheServer(t *testing.T) {
	const rows, columns = "ANALYZE TABLE `d`.`t` COMPUTE STATISTICS", "ANALYZE TABLE `d`.`t` COMPUTE STATISTICS FOR COLUMNS `id`"
	const rowsA, columnsA = "ANALYZE TABLE `d`.`t` PARTITION (`ds`='a') COMPUTE STATISTICS", "ANALYZE TABLE `d`.`t` PARTITION (`ds`='a') COMPUTE STATISTICS FOR COLUMNS `id`"
	const rowsB, columnsB = "ANALYZE TABLE `d`.`t` PARTITION (`ds`='b') COMPUTE STATISTICS", "ANALYZE TABLE `d`.`t` PARTITION (`ds`='b') COMPUTE STATISTICS FOR COLUMNS `id`"
	version := func(s string) answer { return answer{rows: [][]*string{{&s}}} }
	for name, c := range map[string]struct {
		version    answer
		mode       Mode
		partitions []string
		columns    []string
		want       []string
	}{
		"Hive 4":                {version("4.0.1 r3af4517eb8cfd9407ad34ed78a0b48b57dfaa264"), ModeColumns, nil, []string{"id"}, []string{columns}},
		"Hive 3":                {version("3.1.3 r4df4d75bf1e16fe0af75aad0b4179c34c07fc975"), ModeColumns, nil, []string{"id"}, []string{columns}},
		"Hive 2":                {version("2.3.9 r92dd0159f440ca7863be3232f3a683a510a62b9d"), ModeColumns, nil, []string{"id"}, []string{rows, columns}},
		"Hive 2, partitions":    {version("2.3.9 r92dd"), ModeColumns, []string{"ds=a", "ds=b"}, []string{"id"}, []string{rowsA, columnsA, rowsB, columnsB}},
		"no version":            {answer{err: errors.New("Invalid function version")}, ModeColumns, nil, []string{"id"}, []string{rows, columns}},
		"a version of no kind":  {version("unknown"), ModeColumns, nil, []string{"id"}, []string{rows, columns}},
		"no columns":            {version("2.3.9 r92dd"), ModeColumns, nil, nil, []string{rows}},
		"rows only":             {version("2.3.9 r92dd"), ModeBasic, nil, nil, []string{rows}},
		"sizes only, by NOSCAN": {version("2.3.9 r92dd"), ModeNoScan, nil, nil, []string{rows + " NOSCAN"}},
	} {
		t.Run(name, func(t *testing.T) {
			hive := newFakeHive(t).on("SELECT version()", c.version)
			job := Refresh{Mode: c.mode, Partitions: c.partitions}
			got, err := statementsFor(t.Context(), hive, hiveql.TableName{Database: "d", Table: "t"}, job, c.columns)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
			if asked := hive.statements(); len(asked) > 0 && (c.mode != ModeColumns || c.columns == nil) {
				t.Errorf("asked %q for nothing", asked)
			}
		})
	}
}
