package movement

import "github.com/hs2proxy/hs2proxy/advisor"

// broadcast tells of a broadcast that moves more than it has to.
func (f *finder) broadcast(v *advisor.JoinVerdict, c *Cost) {
	if c.Planned != Broadcast || c.Ratio < worthRatio || uncertain(&v.Join, v.Join.BigTable) {
		return
	}
	change, found := f.towards(v, c, c.Cheapest)
	if !found {
		change, found = f.without(v, c)
	}
	then := change.moves(&v.Join, c)
	if !found || then < 0 || c.PlannedBytes-then < worthBytes || then > c.PlannedBytes/worthRatio {
		return
	}
	summary := "a copy of " + f.smallNames(v, c) + " on each of " + advisor.CountOf(f.planned(v, c), "node") + " moves " + advisor.Bytes(c.PlannedBytes) + ", "
	switch wayOf(change.strategy) {
	case Redistribute:
		summary += "sending both sides by the key " + advisor.Bytes(then)
		if v.Join.BigTable == c.Streamed {
			summary += "; the two are equal on " + nodesWord(c.BreakEven)
		}
	case SingleSided:
		summary += "one side lies by the key already: sending the other there is " + advisor.Bytes(then)
	case CoLocated, Broadcast:
		summary += "although both sides lie by the key already and nothing has to move"
	}
	f.add(advisor.Finding{
		Kind: BroadcastCostsMore, Severity: severity(c.PlannedBytes - then), Subject: v.Join.Subject(), Summary: summary,
		Evidence: with(with(evidence(c), "strategy_then", change.strategy), "bytes_then", then), Advice: change.text(),
	})
}

// planned are the nodes that get a copy as it is planned.
func (f *finder) planned(v *advisor.JoinVerdict, c *Cost) int64 {
	kept := c.Streamed
	if v.Join.BigTable >= 0 {
		kept = v.Join.BigTable
	}
	return copies(c.Nodes, readers(&v.Join.Inputs[kept]))
}

// nodesWord writes the point where two ways cost the same.
func nodesWord(n float64) string {
	if n >= 1000 {
		return advisor.CountOf(int64(min(n, 9e15)), "node")
	}
	if text := ratio(n); text != "1" {
		return text + " nodes"
	}
	return "1 node"
}

// redistribution tells of a shuffle that moves more than it has to.
func (f *finder) redistribution(v *advisor.JoinVerdict, c *Cost) {
	if c.Planned != Redistribute || c.Ratio < worthRatio || uncertain(&v.Join, -1) {
		return
	}
	change, found := f.towards(v, c, c.Cheapest)
	if !found {
		return
	}
	// The strategy that the settings lead to may move more than the cheapest way.
	best, then := c.Option(c.Cheapest), change.moves(&v.Join, c)
	saved := c.PlannedBytes - then
	if then < 0 || saved < worthBytes || then > c.PlannedBytes/worthRatio {
		return
	}
	e := with(with(evidence(c), "strategy_then", change.strategy), "bytes_then", then)
	summary := "sending both sides by the key moves " + advisor.Bytes(c.PlannedBytes) + ", "
	switch c.Cheapest {
	case Broadcast:
		summary += "a copy of " + f.smallNames(v, c) + " on each of " + advisor.CountOf(copies(c.Nodes, c.Readers), "node") + " " + advisor.Bytes(then) + " and needs " +
			advisor.Bytes(best.Memory) + " of memory on each; a broadcast moves more only above " + nodesWord(c.BreakEven)
	case SingleSided:
		summary += "one side lies by the key already: moving the other alone is " + advisor.Bytes(then)
	case CoLocated, Redistribute:
		summary += "although both lie by the key already and nothing has to move"
		if then > 0 {
			summary += ": a bucket map join, which sends the buckets of one side once, moves " + advisor.Bytes(then)
		}
	}
	f.add(advisor.Finding{
		Kind: RedistributionCostsMore, Severity: severity(saved), Subject: v.Join.Subject(), Summary: summary, Evidence: e, Advice: change.text(),
	})
}

// memory tells of a broadcast that needs more memory than a node should give.
func (f *finder) memory(v *advisor.JoinVerdict, c *Cost) {
	// The planner has kept to its budget already: only the container can be smaller than that.
	if s := &f.query.Settings; c.Planned != Broadcast || s.LLAP || s.ContainerMB <= 0 || v.Join.BigTable < 0 {
		return
	}
	need := hashed(v, v.Join.BigTable)
	if need <= c.Ceiling {
		return
	}
	change, found := f.without(v, c)
	if !found {
		return
	}
	severity := advisor.Medium
	if need/2 > c.Ceiling {
		severity = advisor.High
	}
	f.add(advisor.Finding{
		Kind: BroadcastOverMemory, Severity: severity, Subject: v.Join.Subject(),
		Summary: "every node hashes all of " + f.smallNames(v, c) + ", " + advisor.Bytes(need) + "; a third of the container is " + advisor.Bytes(c.Ceiling) +
			", and it is too much on all nodes at once",
		Evidence: with(with(evidence(c), "needed_bytes", need), "strategy_then", change.strategy), Advice: change.text(),
	})
}

// smallNames lists the inputs that are copied.
func (f *finder) smallNames(v *advisor.JoinVerdict, c *Cost) string {
	kept := c.Streamed
	if c.Planned == Broadcast && v.Join.BigTable >= 0 {
		kept = v.Join.BigTable
	}
	var names string
	for pos := range v.Join.Inputs {
		if pos == kept {
			continue
		}
		if names != "" {
			names += " and "
		}
		names += v.Join.InputName(pos)
	}
	return names
}

func with(e map[string]any, name string, value any) map[string]any {
	e[name] = value
	return e
}
