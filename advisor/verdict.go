package advisor

// Judge compares what the plan shows with what the selection rules choose from the same numbers.
func Judge(j Join, s Settings) JoinVerdict {
	d := Explain(j, s)
	return JoinVerdict{Join: j, Decision: d, Verdict: Verdict{
		Planned:   j.Strategy,
		Simulated: d.Strategy,
		Agrees:    agrees(&j, &d),
	}}
}

// agrees: the same strategy, and the same streamed side where the plan shows one.
func agrees(j *Join, d *Decision) bool {
	if j.Strategy != d.Strategy {
		return false
	}
	return j.BigTable < 0 || d.BigTable < 0 || j.BigTable == d.BigTable
}

// Expect fills the verdict's Expected: what the rules choose for the join with its inputs resized to the best-known true numbers.
// factors are true rows over the planner's rows by table ("database.table"); tables that are not listed keep theirs.
// It reports whether any input was resized; without one the verdict stays as it is.
func (v *JoinVerdict) Expect(factors map[string]float64, s Settings) bool {
	resized, changed := Resize(v.Join, factors)
	if !changed {
		return false
	}
	v.Verdict.Expected, _ = Choose(&resized, &s)
	v.Verdict.Growth = map[string]float64{}
	for i := range v.Join.Inputs {
		for _, table := range v.Join.Inputs[i].Tables {
			if f, ok := factors[table]; ok && f > 0 && f != 1 {
				v.Verdict.Growth[table] = f
			}
		}
	}
	return true
}

// Resize scales the inputs of a join by the growth of their tables. An input over several tables grows as the one that grew most,
// the way the planner takes the largest input of a join for its result; one that shrank counts only when all its tables did.
func Resize(j Join, factors map[string]float64) (Join, bool) {
	resize := make([]bool, len(j.Inputs))
	by := make([]float64, len(j.Inputs))
	changed := false
	for pos := range j.Inputs {
		tables := j.Inputs[pos].Tables
		for i, table := range tables {
			f, ok := factors[table]
			if !ok || !(f > 0) {
				f = 1
			}
			if i == 0 || f > by[pos] {
				by[pos] = f
			}
		}
		resize[pos] = len(tables) > 0 && by[pos] != 1
		changed = changed || resize[pos]
	}
	if !changed {
		return j, false
	}
	m := newScaling(&j, resize)
	for pos := range m.to.Inputs {
		if resize[pos] {
			scaleInput(&m.to.Inputs[pos], &j.Inputs[pos], by[pos])
			m.to.Inputs[pos].OnlineDataSize = nil
		}
	}
	return m.to, true
}
