package advisor

import (
	"strconv"
	"strings"
)

// Witness is what Hive's planner logged of its join decisions, in the order it took them. Hive 3 logs neither the inputs nor the budget.
type Witness struct {
	Joins []WitnessJoin `json:"joins,omitempty"`
	// CycleFree is false when the planner had to break a cycle of its plan after choosing the joins.
	CycleFree bool `json:"cycle_free"`
}

// WitnessJoin is one decision in the planner's own numbers. Numbers the planner did not log are nil or zero as said.
type WitnessJoin struct {
	// Strategy is what its last words imply; Unknown when the log breaks off before them.
	Strategy Strategy `json:"strategy"`
	// Budget is maxJoinMemory in bytes; Configured is the size before LLAP's inflation.
	Budget     int64 `json:"budget"`
	Configured int64 `json:"configured"`
	LLAP       bool  `json:"llap,omitempty"`
	// Executors of a node and Slots a query may borrow from, as the planner found them.
	Executors int64 `json:"executors"`
	Slots     int64 `json:"slots"`
	// Buckets is the divisor of the first attempt; 0 when map joins are off.
	Buckets int64 `json:"buckets"`
	// Inputs are by position, as far as the planner looked.
	Inputs []WitnessInput `json:"inputs,omitempty"`
	// Reducers is the divisor of the DPHJ attempt; 0 when none was made.
	Reducers int64 `json:"reducers,omitempty"`
	// Nodes is the LLAP node count of the network comparison; 0 when none was made. The costs are in bytes.
	Nodes       int64 `json:"nodes,omitempty"`
	DPHJCost    int64 `json:"dphj_cost,omitempty"`
	MapJoinCost int64 `json:"map_join_cost,omitempty"`
	// ShuffleSize is the big input's size tested against the shuffle limit; nil when not tested.
	ShuffleSize *int64 `json:"shuffle_size,omitempty"`
	// Notes are its words about a strategy it could not take.
	Notes []string `json:"notes,omitempty"`

	words lastWords
}

// WitnessInput is one join input as the planner saw it.
type WitnessInput struct {
	OnlineDataSize int64  `json:"online_data_size"`
	Rows           int64  `json:"rows"`
	DataSize       int64  `json:"data_size"`
	BasicStats     string `json:"basic_stats"`
	ColumnStats    string `json:"column_stats"`
	// NDV is the distinct-key estimate where it was tested; nil otherwise.
	NDV *int64 `json:"ndv,omitempty"`
}

// measured: the planner logged the input's size.
func (in *WitnessInput) measured() bool { return in.Rows >= 0 }

// lastWords are the lines that tell the strategy.
type lastWords struct {
	smb, dphj, merge, plain bool
	looked                  bool
}

// ParseWitness reads an operation log of HiveServer2 at level VERBOSE. Prefixes (time, level, thread, class) do not matter; lines of other
// classes are passed over.
func ParseWitness(lines []string) Witness {
	w := Witness{CycleFree: true}
	var monitor WitnessJoin // of a decision whose budget is not told yet
	for _, line := range lines {
		if monitor.Configured > 0 && beginsDecision(line) {
			monitor.Budget, monitor.words.looked = monitor.Configured, true
			w.Joins, monitor = append(w.Joins, monitor), WitnessJoin{}
		}
		switch {
		case strings.Contains(line, "Memory monitor info set to"):
			monitor = readMonitor(line)
		case strings.Contains(line, "maxJoinMemory:"):
			if n, ok := numberAfter(line, "maxJoinMemory:"); ok {
				join := monitor
				join.Budget = n
				w.Joins = append(w.Joins, join)
				monitor = WitnessJoin{}
			}
		case strings.Contains(line, "Cycle free: false"):
			w.CycleFree = false
		case len(w.Joins) > 0:
			w.Joins[len(w.Joins)-1].read(line)
		}
	}
	for i := range w.Joins {
		w.Joins[i].Strategy = w.Joins[i].conclude()
	}
	return w
}

// beginsDecision tells the first lines of a decision in Hive 3: 4.0 prints maxJoinMemory before them. ConvertJoinMapJoin.process of 3.1.3
// compares with the configured size, which it prints, under LLAP too.
func beginsDecision(line string) bool {
	return strings.Contains(line, "Estimated number of buckets") || strings.Contains(line, "We can convert the join to an SMB join") ||
		strings.Contains(line, "Fallback to common merge join operator")
}

func readMonitor(line string) WitnessJoin {
	var j WitnessJoin
	j.LLAP = strings.Contains(line, "isLlap: true")
	j.Executors, _ = numberAfter(line, "executorsPerNode:")
	j.Slots, _ = numberAfter(line, "maxExecutorsOverSubscribeMemory:")
	j.Configured, _ = numberAfter(line, " noConditionalTaskSize:")
	return j
}

func (j *WitnessJoin) read(line string) {
	switch {
	case strings.Contains(line, "Join input#"):
		j.readInput(line)
	case strings.Contains(line, "Estimated number of buckets"):
		j.Buckets, _ = numberAfter(line, "Estimated number of buckets")
	case strings.Contains(line, "Estimated NDV for input"):
		j.readNDV(line)
	case strings.Contains(line, "Estimated size for input"):
		if _, rest, ok := strings.Cut(line, "Estimated size for input"); ok {
			if n, ok := numberAfter(rest, ":"); ok {
				j.ShuffleSize = &n
			}
		}
	case strings.Contains(line, "Try dynamic partitioned hash join with estimated"):
		j.Reducers, _ = numberAfter(line, "with estimated")
	case strings.Contains(line, "networkCostDPHJ ="):
		j.DPHJCost, _ = numberAfter(line, "networkCostDPHJ =")
	case strings.Contains(line, "networkCostMJ ="):
		j.Nodes, _ = numberAfter(line, "numNodes =")
		j.MapJoinCost, _ = numberAfter(line, "networkCostMJ =")
	case strings.Contains(line, "We can convert the join to an SMB join"):
		j.words.smb = true
	case strings.Contains(line, "Selected dynamic partitioned hash join"):
		j.words.dphj = true
	case strings.Contains(line, "Fallback to common merge join operator"):
		j.words.merge = true
	case strings.Contains(line, "Convert to non-bucketed map join"):
		j.words.plain = true
	case strings.Contains(line, "ConvertJoinMapJoin: ") && (strings.Contains(line, "annot convert") || strings.Contains(line, "disabling") ||
		strings.Contains(line, "failed") || strings.Contains(line, "do not convert") || strings.Contains(line, "not met")):
		_, note, _ := strings.Cut(line, "ConvertJoinMapJoin: ")
		j.Notes = append(j.Notes, strings.TrimSpace(note))
	}
}

func (j *WitnessJoin) readInput(line string) {
	_, rest, _ := strings.Cut(line, "Join input#")
	pos, ok := numberAfter(rest, "")
	if !ok || pos < 0 || pos > 1<<10 {
		return
	}
	j.words.looked = true
	for int64(len(j.Inputs)) <= pos {
		j.Inputs = append(j.Inputs, WitnessInput{Rows: -1, DataSize: -1})
	}
	in := &j.Inputs[pos]
	in.OnlineDataSize, _ = numberAfter(rest, "onlineDataSize:")
	if n, ok := numberAfter(rest, "Num rows:"); ok {
		in.Rows = n
	}
	if n, ok := numberAfter(rest, "Data size:"); ok {
		in.DataSize = n
	}
	in.BasicStats = wordAfter(rest, "Basic stats:")
	in.ColumnStats = wordAfter(rest, "Column stats:")
}

func (j *WitnessJoin) readNDV(line string) {
	_, rest, _ := strings.Cut(line, "Estimated NDV for input")
	pos, ok := numberAfter(rest, "")
	if !ok || pos < 0 || pos >= int64(len(j.Inputs)) {
		return
	}
	if n, ok := numberAfter(rest, ":"); ok {
		j.Inputs[pos].NDV = &n
	}
}

// conclude reads the strategy off the last words. A bucket map join is announced by none: it is what is left when the planner
// passed a bucketed attempt and neither went on to a plain map join nor fell back.
func (j *WitnessJoin) conclude() Strategy {
	switch {
	case j.words.smb:
		return SMB
	case j.words.dphj:
		return DPHJ
	case j.words.merge:
		return MergeJoin
	case j.words.plain:
		return MapJoin
	case j.words.looked && j.Buckets > 1:
		return BucketMapJoin
	}
	return Unknown
}

// numberAfter reads the whole number that follows a marker, spaces skipped.
func numberAfter(line, marker string) (int64, bool) {
	_, rest, ok := strings.Cut(line, marker)
	if !ok {
		return 0, false
	}
	rest = strings.TrimLeft(rest, " ")
	end := 0
	for end < len(rest) && (rest[end] >= '0' && rest[end] <= '9' || end == 0 && rest[end] == '-') {
		end++
	}
	n, err := strconv.ParseInt(rest[:end], 10, 64)
	return n, err == nil
}

func wordAfter(line, marker string) string {
	_, rest, _ := strings.Cut(line, marker)
	if fields := strings.Fields(rest); len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// Attach matches the planner's decisions to the joins of the same EXPLAIN by the rows and bytes of their inputs and writes its online sizes
// into the inputs. The result has one entry a join, nil where no decision fits.
func (w *Witness) Attach(joins []Join) []*WitnessJoin {
	matched := make([]*WitnessJoin, len(joins))
	used := make([]bool, len(w.Joins))
	// A decision that saw every input identifies its join best; one that broke off early takes what is left.
	for _, strict := range []bool{true, false} {
		for i := range matched {
			if matched[i] == nil {
				matched[i] = w.take(&joins[i], strict, used) //nolint:gosec // matched has one entry a join
			}
		}
	}
	w.takeLast(matched, used)
	for i, m := range matched {
		if m != nil {
			m.witness(joins[i].Inputs) //nolint:gosec // matched has one entry a join
		}
	}
	return matched
}

// takeLast: the planner looks at no input where hive.auto.convert.join is off. One such decision and one join that are left belong together.
func (w *Witness) takeLast(matched []*WitnessJoin, used []bool) {
	decision, join := -1, -1
	for k, u := range used {
		if !u {
			if decision >= 0 || len(w.Joins[k].Inputs) > 0 {
				return
			}
			decision = k
		}
	}
	for i, m := range matched {
		if m == nil {
			if join >= 0 {
				return
			}
			join = i
		}
	}
	if decision >= 0 && join >= 0 {
		matched[join] = &w.Joins[decision]
	}
}

// take returns the first decision not yet used that fits the join.
func (w *Witness) take(join *Join, strict bool, used []bool) *WitnessJoin {
	for k := range used {
		if d := &w.Joins[k]; !used[k] && d.fits(join, strict) {
			used[k] = true
			return d
		}
	}
	return nil
}

// witness writes the planner's own sizes into the inputs it saw.
func (j *WitnessJoin) witness(inputs []Input) {
	for pos := range inputs {
		if pos < len(j.Inputs) && j.Inputs[pos].measured() {
			size := j.Inputs[pos].OnlineDataSize
			inputs[pos].OnlineDataSize = &size
		}
	}
}

// fits: the logged inputs are the join's; strict asks for the strategy too, and for every input.
func (j *WitnessJoin) fits(join *Join, strict bool) bool {
	if len(j.Inputs) > len(join.Inputs) || len(j.Inputs) == 0 {
		return false
	}
	if strict && (len(j.Inputs) != len(join.Inputs) || j.Strategy != join.Strategy) {
		return false
	}
	for pos := range j.Inputs {
		if j.Inputs[pos].Rows != join.Inputs[pos].Rows || j.Inputs[pos].DataSize != join.Inputs[pos].DataSize {
			return false
		}
	}
	return true
}
