package statscheck

import (
	"fmt"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// suspicionNames bounds the partitions that a suspicion names.
const suspicionNames = 3

// Suspicion is why rule R6 holds from a write on whose rows nobody knows, until the table is read again. Partitions are as in Write. It
// is empty where no reading is to be waited for: a table that was dropped has none.
func Suspicion(op hiveql.WriteOp, partitions []string) string {
	if op == hiveql.WriteDrop {
		return ""
	}
	where, more := "", ""
	if len(partitions) > suspicionNames {
		partitions, more = partitions[:suspicionNames], ", …"
	}
	if names := strings.Join(partitions, ", "); names != "" {
		where = " of " + names + more
	}
	return fmt.Sprintf("%s%s seen, whose rows could not be counted, and the table was not read since", op, where)
}

// Shown is what a reading shows in a few words: it is what rules end by that hold no longer.
func Shown(t advisor.TableStats) string {
	rows, size, flag := "no numRows", "no totalSize", "without BASIC_STATS"
	if t.Rows != nil {
		rows = fmt.Sprintf("numRows %d", *t.Rows)
	}
	if t.TotalSize != nil {
		size = fmt.Sprintf("totalSize %d", *t.TotalSize)
	}
	if t.BasicAccurate {
		flag = "with BASIC_STATS"
	}
	return fmt.Sprintf("a reading at %s: %s, %s, %s", t.ReadAt.UTC().Format(time.RFC3339), rows, size, flag)
}
