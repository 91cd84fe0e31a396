package movement

import (
	"math"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Skew is the heaviest key of one redistributed input: all its rows go to one node.
type Skew struct {
	Input int
	// Share of the input's rows, from 0 to 1, and the Bytes of them.
	Share float64
	Bytes int64
	// Cause says where the share comes from.
	Cause Cause
	// Count is the number of distinct keys or of null keys, as Cause says.
	Count int64
}

// Cause is where a share comes from.
type Cause string

// Causes.
const (
	// CauseMeasured: somebody counted the most frequent key.
	CauseMeasured Cause = "MEASURED"
	// CauseNulls: rows without a key, which an outer join keeps, go to one node.
	CauseNulls Cause = "NULLS"
	// CauseFewKeys: with NDV keys the most frequent one has at least 1 / NDV of the rows.
	CauseFewKeys Cause = "FEW_KEYS"
)

// Skews lists the heaviest key of each input, as far as statistics or measurements tell; inputs of which they tell nothing are left out.
// A share by NDV is the least possible one: real keys are rarely even.
func Skews(j *advisor.Join, m Measured) []Skew {
	var list []Skew
	for pos := range j.Inputs {
		in := &j.Inputs[pos]
		if in.DataSize < 0 || in.Rows <= 0 || len(in.Keys) == 0 {
			continue
		}
		best := Skew{Input: pos}
		take := func(share float64, cause Cause, count int64) {
			if share > best.Share && share <= 1 {
				best.Share, best.Cause, best.Count = share, cause, count
			}
		}
		if top, ok := m.TopShare[Place{Join: j.Ordinal, Input: pos}]; ok {
			take(top, CauseMeasured, 0)
		}
		if nulls := nullKeys(in); nulls > 0 && nulls <= in.Rows && keepsUnmatched(j, pos) { // more nulls than rows: nobody counted these
			take(float64(nulls)/float64(in.Rows), CauseNulls, nulls)
		}
		if ndv := distinct(in); ndv > 0 {
			take(1/float64(ndv), CauseFewKeys, ndv)
		}
		if best.Share > 0 {
			best.Bytes = int64(math.Round(best.Share * float64(in.DataSize)))
			list = append(list, best)
		}
	}
	return list
}

// nullKeys is the most nulls of any key; a row with one null key has no partner.
func nullKeys(in *advisor.Input) int64 {
	if len(in.Keys) != 1 || in.Keys[0].Nulls == nil { // with more keys the others still spread the rows
		return 0
	}
	return *in.Keys[0].Nulls
}

// distinct is a lower bound of the input's distinct keys: those of its most varied key column. 0 unknown.
func distinct(in *advisor.Input) int64 {
	var most int64
	for i := range in.Keys {
		if in.Keys[i].NDV == nil {
			return 0
		}
		most = max(most, *in.Keys[i].NDV)
	}
	return most
}

// keepsUnmatched: the join puts out rows of that side that have no partner, so that Hive cannot filter null keys before the exchange.
func keepsUnmatched(j *advisor.Join, pos int) bool {
	for _, c := range j.Conditions {
		switch c.Type {
		case advisor.FullOuter:
			return pos == c.Left || pos == c.Right
		case advisor.LeftOuter, advisor.Anti:
			if pos == c.Left {
				return true
			}
		case advisor.RightOuter:
			if pos == c.Right {
				return true
			}
		default:
		}
	}
	return false
}

// heavy tells whether a skew makes one node the query's run time: three times its fair share and at least worthBytes. Where the nodes are
// not known, a fifth of the rows counts.
func (s *Skew) heavy(nodes int64) bool {
	if s.Bytes < worthBytes {
		return false
	}
	if nodes < 2 {
		return nodes == 0 && s.Share >= 0.2
	}
	return s.Share*float64(nodes) >= 3
}
