package advisor

// crowdedNowhere: Hive 3 walks the inputs of a FULL OUTER join too, although none may be streamed. When they all fit the budget and one has
// too many keys, it goes on to ask whether the streamed side is within the shuffle limit, takes the input at position −1 for that side, and
// refuses the query with an index out of bounds (ConvertJoinMapJoin.getMapJoinConversionPos of 3.1.3, checkShuffleSizeForLargeTable). Hive 4
// leaves before, and Hive 2 asks nothing of the streamed side.
func (c *choosing) crowdedNowhere(a conversion) (outcome, bool) {
	j, s := c.join, c.settings
	if s.Release != Hive3 || !a.thresholds || s.ShuffleMaxSize < 1 {
		return outcome{}, false
	}
	crowded, crowdedKeys, total := -1, int64(0), int64(0)
	for pos := range j.Inputs {
		if j.Inputs[pos].Rows < 0 || j.Inputs[pos].Uncounted {
			return outcome{}, false
		}
		total += c.size(pos)
		if c.size(pos)/a.divisor > a.budget || total/a.divisor > a.budget {
			return outcome{}, false
		}
		if keys, over := c.tooManyKeys(pos, true); over {
			crowded, crowdedKeys = pos, keys
		}
	}
	if crowded < 0 {
		return outcome{}, false
	}
	return fail(checkCrowdedNowhere, crowded, crowdedKeys, s.MaxEntries), true
}
