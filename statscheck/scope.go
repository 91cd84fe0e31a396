package statscheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// icebergHandler keeps its own statistics beside its snapshots and takes ANALYZE.
const icebergHandler = "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler"

const viewRefusal = "a view holds no data: refresh its base tables"

// Refusal says why ANALYZE must not or cannot run on a table; empty when it can.
func Refusal(t advisor.TableStats) string {
	switch {
	case t.Kind == kindView:
		return viewRefusal
	case t.Temporary:
		return "a temporary table belongs to its session: no other one can analyze it"
	case t.StorageHandler != "" && t.StorageHandler != icebergHandler:
		return fmt.Sprintf("the data lies in another system (storage handler %s): ANALYZE would read all of it there, and Hive's statistics would not follow its writes",
			t.StorageHandler)
	}
	return ""
}

// cheapRules are mended without reading the data: the files moved, the rules about rows and columns hold nothing against it.
var cheapRules = []Rule{"R5", R6Uncounted, "R9"}

// modeFor chooses the statements by the rules that hold, and says so. Where only R5, R6 and R9 hold, NOSCAN brings the sizes up to
// date; everything else needs the rows counted, and the columns that queries use.
func modeFor(found []Staleness, columns []string) (Mode, string) {
	var rules, dear []string
	for _, s := range found {
		if slices.Contains(rules, string(s.Rule)) {
			continue
		}
		rules = append(rules, string(s.Rule))
		if !slices.Contains(cheapRules, s.Rule) {
			dear = append(dear, string(s.Rule))
		}
	}
	switch {
	case len(rules) > 0 && len(dear) == 0:
		return ModeNoScan, fmt.Sprintf("NOSCAN: only %s", strings.Join(rules, ", "))
	case len(columns) > 0:
		return ModeColumns, fmt.Sprintf("COLUMNS: %s, and queries use columns of the table", strings.Join(dear, ", "))
	default:
		return ModeBasic, fmt.Sprintf("BASIC: %s, and no query is known to use a column", strings.Join(dear, ", "))
	}
}

// fit makes a request fit the table as it is. note says what was changed, and why; refusal is why nothing can be done.
func fit(t advisor.TableStats, mode Mode, partitions []string) (fitted Mode, kept []string, note, refusal string) {
	var notes []string
	if t.StorageHandler == icebergHandler {
		if len(partitions) > 0 {
			partitions = nil
			notes = append(notes, "the whole table: Iceberg's ANALYZE takes no partitions")
		}
		if mode == ModeNoScan {
			mode = ModeBasic
			notes = append(notes, "BASIC instead of NOSCAN: Iceberg's numbers come from its snapshot anyway")
		}
	}
	if len(partitions) > 0 && t.PartitionColumns == nil && t.StorageHandler == "" {
		return mode, partitions, "", "partitions were named, and the table is not partitioned"
	}
	if mode == ModeNoScan && !t.RowsInFooters {
		mode = ModeBasic
		notes = append(notes, "BASIC instead of NOSCAN: the files do not tell their rows, and NOSCAN would flag a wrong numRows as accurate")
	}
	return mode, partitions, strings.Join(notes, "; "), ""
}
