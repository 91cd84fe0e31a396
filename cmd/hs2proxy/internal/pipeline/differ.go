package pipeline

import (
	"reflect"
	"slices"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// statsDiffer: something the planner reads is another one now. Columns count where both readings asked for them.
func statsDiffer(a, b advisor.TableStats) bool {
	for _, name := range a.ColumnsRead {
		if !slices.Contains(b.ColumnsRead, name) {
			continue
		}
		ca, wasThere := a.Columns[name]
		cb, isThere := b.Columns[name]
		if wasThere != isThere || !reflect.DeepEqual(ca, cb) ||
			slices.Contains(a.ColumnsAccurate, name) != slices.Contains(b.ColumnsAccurate, name) {
			return true
		}
	}
	return !reflect.DeepEqual(tableAlone(a), tableAlone(b))
}

// tableAlone leaves out the columns' statistics and the time.
func tableAlone(t advisor.TableStats) advisor.TableStats {
	t.Columns, t.ColumnsRead, t.ColumnsAccurate, t.ReadAt = nil, nil, nil, time.Time{}
	return t
}
