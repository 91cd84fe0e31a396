package advisor

import (
	"fmt"
	"slices"
	"strings"
)

// mostNodes keeps nodes times bytes within 64 bits.
const mostNodes = 1_000_000

// Sweep is one number of the planner's world, from Low to High, both included.
type Sweep struct {
	// Name is budget, nodes, executors or a setting of Hive's.
	Name      string
	Low, High int64
	// Bytes: the number is one of bytes.
	Bytes bool

	set func(*Settings, int64)
}

// sweepable are the numbers that decide in one direction only: with each of them, every comparison of the selector turns at most once.
var sweepable = []struct {
	names []string
	bytes bool
	set   func(*Settings, int64)
}{
	{[]string{"budget", "hive.auto.convert.join.noconditionaltask.size"}, true, func(s *Settings, n int64) { s.NoConditionalTaskSize = n }},
	{[]string{"nodes"}, false, func(s *Settings, n int64) {
		s.Nodes = n
		if s.NodeExecutors == 0 {
			s.NodeExecutors = s.DaemonExecutors
		}
	}},
	{[]string{"executors"}, false, func(s *Settings, n int64) { s.NodeExecutors = n }},
	{[]string{"hive.auto.convert.join.hashtable.max.entries"}, false, func(s *Settings, n int64) { s.MaxEntries = n }},
	{[]string{"hive.auto.convert.join.shuffle.max.size"}, true, func(s *Settings, n int64) { s.ShuffleMaxSize = n }},
	{[]string{"hive.exec.reducers.bytes.per.reducer"}, true, func(s *Settings, n int64) { s.BytesPerReducer = n }},
	{[]string{"hive.exec.reducers.max"}, false, func(s *Settings, n int64) { s.ReducersMax = n }},
	{[]string{"mapreduce.job.reduces", "mapred.reduce.tasks"}, false, func(s *Settings, n int64) { s.FixedReducers = n }},
	{[]string{"hive.xprod.mapjoin.small.table.rows"}, false, func(s *Settings, n int64) { s.XProdSmallTableRows = n }},
}

// NewSweep names what is swept: budget (hive.auto.convert.join.noconditionaltask.size, in bytes), nodes and executors of LLAP, or one of the
// settings that are compared with sizes and counts. The range begins at 1 or above.
func NewSweep(name string, low, high int64) (Sweep, error) {
	if low < 1 || high < low {
		return Sweep{}, fmt.Errorf("sweep %s from %d to %d: a range goes from 1 or more upwards", name, low, high)
	}
	if name == "nodes" && high > mostNodes {
		return Sweep{}, fmt.Errorf("sweep nodes to %d: at most %d", high, mostNodes)
	}
	var known []string
	for _, d := range sweepable {
		if slices.Contains(d.names, name) {
			return Sweep{Name: name, Low: low, High: high, Bytes: d.bytes, set: d.set}, nil
		}
		known = append(known, d.names[0])
	}
	return Sweep{}, fmt.Errorf("cannot sweep %q; there are %s", name, strings.Join(known, ", "))
}

// At are the settings with the swept number at n.
func (w *Sweep) At(s Settings, n int64) Settings {
	w.set(&s, n)
	return s
}

// Piece is a part of a sweep with one strategy throughout.
type Piece struct {
	From     int64    `json:"from"`
	To       int64    `json:"to"`
	Strategy Strategy `json:"strategy"`
}

// Pieces divides the range into parts with one strategy each, exact to the last byte or node, whatever the way the strategy goes and
// comes back: a single piece means that the number does not matter.
//
// The selector depends on the number through comparisons alone, each of which turns at most once in the range. So their turning points are
// found by halving, and between two neighbours one decision stands for all.
func (w *Sweep) Pieces(j *Join, s Settings) []Piece {
	cuts := w.cuts(j, s)
	pieces := make([]Piece, 0, 2)
	for i, from := range cuts {
		to := w.High
		if i+1 < len(cuts) {
			to = cuts[i+1] - 1
		}
		w.set(&s, from)
		got, _ := Choose(j, &s)
		if last := len(pieces) - 1; last >= 0 && pieces[last].Strategy == got {
			pieces[last].To = to
			continue
		}
		pieces = append(pieces, Piece{From: from, To: to, Strategy: got})
	}
	return pieces
}

// cuts are the numbers from which on a comparison comes out otherwise than just below, in order, the low end first.
func (w *Sweep) cuts(j *Join, s Settings) []int64 {
	low, high := s, s
	w.set(&low, w.Low)
	w.set(&high, w.High)
	atLow, atHigh := newComparing(j, &low), newComparing(j, &high)
	cuts := []int64{w.Low}
	var turned []comparison
	for _, c := range comparisons(j, &s) {
		if c.holds(&atLow) == c.holds(&atHigh) || slices.Contains(turned, c) {
			continue
		}
		turned = append(turned, c)
		cuts = append(cuts, w.turn(j, s, c, c.holds(&atLow)))
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// turn is the least number at which the comparison comes out otherwise than at the low end.
func (w *Sweep) turn(j *Join, s Settings, c comparison, atLow bool) int64 {
	same, other := w.Low, w.High
	for other-same > 1 {
		mid := same + (other-same)/2
		w.set(&s, mid)
		at := comparing{settings: &s}
		if c.kind <= overShare {
			at.budget = Budget(&s)
		}
		if c.kind == overShare || c.kind == dividedByReducers {
			at.reducers = reducersFor(j, &s)
		}
		if c.holds(&at) == atLow {
			same = mid
		} else {
			other = mid
		}
	}
	return other
}
