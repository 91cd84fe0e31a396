package statscheck

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

func TestAnalyzeStatements(t *testing.T) {
	table := hiveql.TableName{Database: "sales", Table: "orders"}
	for name, c := range map[string]struct {
		partitions, columns []string
		want                []string
	}{
		"basic": {nil, nil, []string{"ANALYZE TABLE `sales`.`orders` COMPUTE STATISTICS"}},
		"columns": {nil, []string{"id", "odd name", "tick`"}, []string{
			"ANALYZE TABLE `sales`.`orders` COMPUTE STATISTICS FOR COLUMNS `id`, `odd name`, `tick```",
		}},
		"partitions": {[]string{"ds=2024-01-01/h=1", "ds=it's%2F$\\/h=__HIVE_DEFAULT_PARTITION__"}, []string{"id"}, []string{
			"ANALYZE TABLE `sales`.`orders` PARTITION (`ds`='2024-01-01', `h`='1') COMPUTE STATISTICS FOR COLUMNS `id`",
			"ANALYZE TABLE `sales`.`orders` PARTITION (`ds`='it\\'s/\\u0024\\\\', `h`='__HIVE_DEFAULT_PARTITION__') COMPUTE STATISTICS FOR COLUMNS `id`",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := AnalyzeStatements(table, ModeColumns, c.partitions, c.columns)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%v\ngot  %s\nwant %s", err, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
			}
		})
	}
	for name, c := range map[string]struct {
		table               hiveql.TableName
		partitions, columns []string
	}{
		"no database":         {hiveql.TableName{Table: "orders"}, nil, nil},
		"table not quotable":  {hiveql.TableName{Database: "a", Table: "b\nc"}, nil, nil},
		"column not quotable": {table, nil, []string{"id", "${x}"}},
		"no partition":        {table, []string{"2024"}, nil},
		"partition column":    {table, []string{"=1"}, nil},
		"too many partitions": {table, slices.Repeat([]string{"ds=1"}, MaxNamedPartitions+1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := AnalyzeStatements(c.table, ModeColumns, c.partitions, c.columns); err == nil {
				t.Errorf("got %q", got)
			}
		})
	}
}

// Every value survives Hive's escaping of partition names, and nothing of it can close the literal.
func TestPartitionValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.String(), rapid.StringMatching(`[%'"\\/=${}a-f0-9\n]{0,12}`)).Draw(t, "value")
		escaped := escapeName(value)
		if strings.ContainsAny(escaped, "/=\n'") {
			t.Fatalf("%q is escaped as %q", value, escaped)
		}
		if got := unescapeName(escaped); got != value {
			t.Fatalf("%q came back as %q", value, got)
		}
		literal := stringLiteral(value)
		inner := literal[1 : len(literal)-1]
		for i := 0; i < len(inner); i++ {
			switch inner[i] {
			case '\\':
				i++
			case '\'', '$', '\n':
				t.Fatalf("%q holds a bare %q", literal, inner[i])
			}
		}
		clause, err := partitionClause("ds=" + escaped)
		if err != nil || clause != "PARTITION (`ds`="+literal+")" {
			t.Fatalf("%q: %q, %v", value, clause, err)
		}
	})
}
