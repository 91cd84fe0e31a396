package advisor

import "strconv"

const budgetSetting = "hive.auto.convert.join.noconditionaltask.size"

// budget finds the smallest hive.auto.convert.join.noconditionaltask.size, with a tenth of headroom, under which the selector
// chooses a cheaper strategy, and checks it against the memory that has to back it.
func (l *leverage) budget() {
	size, got, ok := l.budgetFor()
	if !ok {
		return
	}
	small, _, _ := l.hashed()
	lever := Lever{Kind: LeverBudget, Strategy: got}
	backed, why := MemoryOf(l.settings).Backs(size)
	lever.Effect = "the hashed side of " + human(small) + " fits a budget of " + human(size) + " in place of " + human(l.settings.NoConditionalTaskSize) +
		"; only with memory to back it: " + why
	if backed {
		lever.Apply = setNumber(budgetSetting, size)
	} else {
		lever.Refused = why
	}
	l.add(lever)
}

// budgetFor searches the configured size: doubled until the strategy is cheaper, then halved down to the byte.
func (l *leverage) budgetFor() (int64, Strategy, bool) {
	with := func(n int64) Strategy {
		return l.under(func(s *Settings) { s.NoConditionalTaskSize = n })
	}
	low := max(l.settings.NoConditionalTaskSize, 0)
	high := max(low, 1)
	for !l.better(with(high)) {
		if high > 1<<56 {
			return 0, "", false // size is not in the way
		}
		low, high = high, high*2
	}
	for low+1 < high {
		mid := low + (high-low)/2
		if l.better(with(mid)) {
			high = mid
		} else {
			low = mid
		}
	}
	if size := Headroom(high); l.better(with(size)) {
		return size, with(size), true
	}
	return high, with(high), true
}

// Headroom is a tenth above n, rounded up to two leading digits: what to set a limit to that n must stay below.
func Headroom(n int64) int64 {
	n += n / 10
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit - 1) / unit * unit
}

// set is a SET statement.
func set(name, value string) string { return "SET " + name + "=" + value + ";" }

func setNumber(name string, n int64) string { return set(name, strconv.FormatInt(n, 10)) }
