package advisor

import (
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// mostExecutors bounds the search for the executors of a node behind a recorded budget: beyond, no further one counts.
const mostExecutors = 64

// SettingsOf reads the settings a recorded decision was made with: the values, and of the LLAP cluster, which no setting tells where the
// registry is ZooKeeper's, what the decision shows: the executors its budget was borrowed from, the nodes its costs were compared for.
func SettingsOf(values map[string]string, d *Decision) Settings {
	s := NewSettings(values)
	if !s.LLAP || s.Nodes > 0 {
		return s
	}
	s.Nodes = d.Nodes()
	if Budget(&s) == d.Budget || d.Budget <= 0 {
		return s
	}
	for n := int64(1); n <= mostExecutors; n++ {
		if s.NodeExecutors = n; Budget(&s) == d.Budget {
			return s
		}
	}
	s.NodeExecutors = 0
	return s
}

// Nodes is the number of LLAP nodes the decision compared network costs for; 0 where it compared none.
func (d *Decision) Nodes() int64 {
	for i := range d.Attempts {
		if d.Attempts[i].Check != checkTexts[checkNetwork] {
			continue
		}
		number, _, _ := strings.Cut(d.Attempts[i].Note, " ")
		if n, err := strconv.ParseInt(strings.ReplaceAll(number, ",", ""), 10, 64); err == nil {
			return n
		}
	}
	return 0
}

// ScanSizes are the rows and bytes that the scans of a plan believe in, by table; of several scans of a table the largest.
func ScanSizes(p *explain.Plan) map[string]TableSize {
	sizes := map[string]TableSize{}
	f := newFlow(p)
	for _, join := range f.joins {
		for _, o := range f.below(join) {
			if o.Kind != kindTableScan || o.Stats == nil {
				continue
			}
			name := tableName(o)
			if was, ok := sizes[name]; name != "" && (!ok || o.Stats.Rows > was.Rows) {
				sizes[name] = TableSize{Rows: o.Stats.Rows, Bytes: o.Stats.DataSize}
			}
		}
	}
	return sizes
}
