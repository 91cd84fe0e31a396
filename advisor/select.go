package advisor

// Selection is what the selector chose for a join. It keeps the numbers that were compared and refers to the join and the settings, so
// neither may change while it is in use: words are made of them when somebody asks for Decision.
type Selection struct {
	run    choosing
	chosen choice
}

// Select simulates the join selection of Hive on Tez for one join. It is a pure function of the join and the settings, and allocates
// nothing for joins of up to eight inputs. Sizes are simulated also where the planner's own are recorded.
func Select(j *Join, s *Settings) Selection {
	var x Selection
	x.run.init(j, s)
	x.chosen = x.run.run()
	return x
}

// Strategy is the strategy chosen; Unknown where Hive refuses the query.
func (x *Selection) Strategy() Strategy { return x.chosen.strategy }

// BigTable is the streamed position; −1 for a merge join.
func (x *Selection) BigTable() int { return x.chosen.big }

// Budget is maxJoinMemory in bytes.
func (x *Selection) Budget() int64 { return x.run.budget }

// OnlineDataSize is the simulated hash-table size of an input in bytes.
func (x *Selection) OnlineDataSize(pos int) int64 { return x.run.size(pos) }

// Decision says it in words: each attempt, why, and how far the choice is from the next one.
func (x *Selection) Decision() Decision {
	d := x.decision()
	d.Margin = marginOf(x.run.join, x.run.settings, &d)
	return d
}

// Explain is Select in words.
func Explain(j Join, s Settings) Decision {
	x := Select(&j, &s)
	return x.Decision()
}

// Choose is the strategy and the streamed position (−1 for none) alone, for replays over many joins.
func Choose(j *Join, s *Settings) (Strategy, int) {
	var c choosing
	c.init(j, s)
	got := c.run()
	return got.strategy, got.big
}

// decide leaves the margin out; witness takes the planner's own sizes where an input has them.
func decide(j *Join, s *Settings, witness bool) Decision {
	x := Selection{run: choosing{witness: witness}}
	x.run.init(j, s)
	x.chosen = x.run.run()
	return x.decision()
}

func (x *Selection) decision() Decision {
	c, got, j, s := &x.run, x.chosen, x.run.join, x.run.settings
	d := Decision{Strategy: got.strategy, BigTable: got.big, Budget: c.budget, Refused: got.refused, PlanPosition: got.big}
	if got.strategy == MergeJoin {
		d.PlanPosition = c.mergePosition()
	}
	d.OnlineDataSizes = make([]int64, len(j.Inputs))
	for i := range j.Inputs {
		d.OnlineDataSizes[i] = c.size(i)
	}
	d.Attempts = make([]Attempt, c.nsteps)
	for i := range d.Attempts {
		d.Attempts[i] = c.steps[i].attempt(j, s)
	}
	d.Reason = c.reason(got)
	d.Uncertain = uncertain(j, s)
	return d
}

func (st *step) attempt(j *Join, s *Settings) Attempt {
	a := Attempt{Strategy: st.strategy, Check: checkTexts[st.check], OK: st.ok, Note: st.why.text(j, s)}
	if st.numbers {
		left, right := st.left, st.right
		a.Left, a.Right = &left, &right
	}
	switch st.check {
	case checkStatistics, checkUncounted, checkSecondBig, checkMustHash, checkEntries, checkCross, checkCrowdedNowhere:
		a.Note = inputName(j, int(st.pos))
	case checkNetwork:
		a.Note = count(st.divisor, "node")
	default:
	}
	if st.divisor > 1 && st.check != checkNetwork {
		if a.Note != "" {
			a.Note += ", "
		}
		a.Note += "divided by " + count(st.divisor, st.divisorWord())
	}
	return a
}

func (st *step) divisorWord() string {
	if st.byReducers {
		return "reducer"
	}
	return "bucket"
}

// uncertain lists what the simulation had to assume.
func uncertain(j *Join, s *Settings) []string {
	var list []string
	for i := range j.Inputs {
		in := &j.Inputs[i]
		name := inputName(j, i)
		if in.Rows < 0 || in.DataSize < 0 && in.BasicStats == "" {
			list = append(list, name+": the plan shows no statistics")
		}
		if in.CumulativeRows < 0 && !in.Uncounted {
			list = append(list, name+": the cumulative row estimate is unknown, its own rows are taken")
		}
		if in.WholeTable {
			list = append(list, name+": statistics of the partitions read are not known, those of the whole table are taken")
		}
		list = append(list, unknownColumns(in, name, s)...)
	}
	if s.LLAP && s.NodeExecutors == 0 && s.DaemonHosts != "" {
		list = append(list, "the executors of an LLAP node are unknown, hive.llap.daemon.num.executors is taken")
	}
	if divisor, _ := firstDivisor(j, s); s.LLAP && s.DPHJ && s.comparesNetwork() && s.Nodes == 0 && s.DaemonHosts != "" && divisor > 1 {
		list = append(list, "the number of LLAP nodes is unknown, the network comparison takes none")
	}
	return list
}

func unknownColumns(in *Input, name string, s *Settings) []string {
	if !s.countsColumnOverhead() || !s.FetchColumnStats {
		return nil
	}
	var list []string
	for i := range in.Columns {
		c := &in.Columns[i]
		if columnOverhead(c.Type) == 0 {
			continue
		}
		if !c.HasStats && !c.Estimated {
			list = append(list, name+": no column statistics known for "+c.Name)
		} else if c.Nulls == nil {
			list = append(list, name+": null count of "+c.Name+" unknown, none taken")
		}
	}
	return list
}
