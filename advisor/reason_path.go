package advisor

import "strconv"

// Path writes the attempts of a decision in Hive's order, a line each: the strategy tried, what its check asks, the answer, both
// numbers where two were compared (bytes, rows or keys, as the check says), and what it is about. The last one decided.
func Path(d *Decision) []string {
	lines := make([]string, len(d.Attempts))
	for i := range d.Attempts {
		a := &d.Attempts[i]
		line := strconv.Itoa(i+1) + ". " + string(a.Strategy) + "? " + a.Check + ": "
		if a.OK {
			line += "yes"
		} else {
			line += "no"
		}
		if a.Left != nil && a.Right != nil {
			line += ", " + grouped(*a.Left) + " against " + grouped(*a.Right)
		}
		if a.Note != "" {
			line += " (" + a.Note + ")"
		}
		lines[i] = line
	}
	return lines
}
