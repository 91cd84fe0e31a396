package advisor

import "math"

const (
	// marginReach is how far the hashed side is scaled in search of another strategy, either way.
	marginReach = 1 << 24
	// marginPrecision is the relative width at which the search stops.
	marginPrecision = 1e-4
)

// marginOf replays the selection with the hashed side scaled and returns the nearest factor that changes the strategy.
func marginOf(j *Join, s *Settings, d *Decision) *Margin {
	if len(j.Inputs) < 2 || d.Refused {
		return nil
	}
	hashed := hashedSide(j, s, d)
	m := newScaling(j, hashed)
	var best *Margin
	for _, up := range []bool{true, false} {
		factor, next, ok := m.flip(s, d.Strategy, up)
		if ok && (best == nil || math.Abs(math.Log(factor)) < math.Abs(math.Log(best.Factor))) {
			best = &Margin{Factor: factor, Next: next}
		}
	}
	return best
}

// hashedSide marks every input but the streamed one; for a merge join, but the largest that may be streamed.
func hashedSide(j *Join, s *Settings, d *Decision) []bool {
	streamed := d.BigTable
	if streamed < 0 {
		candidates := streamable(j.Conditions, s.plansFullOuter())
		for pos := range j.Inputs {
			if candidates != 0 && candidates&bit(pos) == 0 {
				continue
			}
			if streamed < 0 || d.OnlineDataSizes[pos] > d.OnlineDataSizes[streamed] {
				streamed = pos
			}
		}
	}
	hashed := make([]bool, len(j.Inputs))
	for pos := range hashed {
		hashed[pos] = pos != streamed
	}
	return hashed
}

// scaling holds a join and a copy of it whose hashed inputs are rewritten for each factor.
type scaling struct {
	from   *Join
	to     Join
	hashed []bool
	// limit is the largest factor whose sums stay within 64 bits.
	limit float64
}

func newScaling(j *Join, hashed []bool) *scaling {
	m := &scaling{from: j, to: *j, hashed: hashed, limit: marginReach}
	m.to.Inputs = make([]Input, len(j.Inputs))
	copy(m.to.Inputs, j.Inputs)
	for pos := range m.to.Inputs {
		if !hashed[pos] {
			continue
		}
		in := &m.to.Inputs[pos]
		in.Keys = append([]Key(nil), in.Keys...)
		in.Columns = append([]Column(nil), in.Columns...)
		for i := range in.Keys {
			in.Keys[i].NDV = cloneNumber(in.Keys[i].NDV)
		}
		for i := range in.Columns {
			in.Columns[i].Nulls = cloneNumber(in.Columns[i].Nulls)
		}
		// Keep the sums of all sizes within 64 bits.
		if largest := float64(max(abs64(in.DataSize), in.Rows, 1)); largest*m.limit > 1<<56 {
			m.limit = math.Max((1<<56)/largest, 1)
		}
	}
	return m
}

func cloneNumber(n *int64) *int64 {
	if n == nil {
		return nil
	}
	v := *n
	return &v
}

// at decides with the hashed side scaled.
func (m *scaling) at(factor float64, s *Settings) Strategy {
	for pos := range m.to.Inputs {
		if m.hashed[pos] {
			scaleInput(&m.to.Inputs[pos], &m.from.Inputs[pos], factor)
		}
	}
	got, _ := Choose(&m.to, s)
	return got
}

func scaleInput(to, from *Input, factor float64) {
	to.Rows = scaleRows(from.Rows, factor)
	to.DataSize = scaleNumber(from.DataSize, factor)
	to.CumulativeRows = scaleRows(from.CumulativeRows, factor)
	for i := range from.Keys {
		if n := from.Keys[i].NDV; n != nil {
			*to.Keys[i].NDV = scaleRows(*n, factor)
		}
	}
	for i := range from.Columns {
		if n := from.Columns[i].Nulls; n != nil {
			*to.Columns[i].Nulls = scaleNumber(*n, factor)
		}
	}
}

func scaleNumber(n int64, factor float64) int64 { return toInt(math.Round(float64(n) * factor)) }

// scaleRows keeps at least one row of what had any, as the planner does, and leaves unknown numbers unknown.
func scaleRows(n int64, factor float64) int64 {
	if n <= 0 {
		return n
	}
	return max(scaleNumber(n, factor), 1)
}

// flip doubles the distance until the strategy changes, then halves the gap.
func (m *scaling) flip(s *Settings, current Strategy, up bool) (float64, Strategy, bool) {
	near, far, next := 1.0, 1.0, current
	for next == current {
		near = far
		if up {
			far *= 2
		} else {
			far /= 2
		}
		if far > m.limit || far < 1/float64(marginReach) {
			return 0, "", false
		}
		next = m.at(far, s)
	}
	for math.Abs(far-near) > marginPrecision*math.Min(near, far) {
		mid := (near + far) / 2
		if got := m.at(mid, s); got == current {
			near = mid
		} else {
			far, next = mid, got
		}
	}
	return far, next, true
}
