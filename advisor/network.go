package advisor

// network compares what LLAP would move: a dynamically partitioned hash join shuffles every input once, a bucket map join sends the
// hashed sides to every node (ConvertJoinMapJoin.selectJoinForLlap).
type network struct {
	small int64 // bytes of the hashed sides together
	dphj  int64 // bytes moved by a dynamically partitioned hash join
	nodes int64
	bmj   int64 // bytes moved by a bucket map join
}

func (c *choosing) network(big int) network {
	var n network
	for pos := range c.join.Inputs {
		if pos != big {
			n.small += c.size(pos)
		}
	}
	n.dphj = n.small + c.size(big)
	n.nodes = nodes(c.settings)
	n.bmj = n.nodes * n.small
	return n
}

// nodes is the number of nodes the planner computes: the registry's executors over those of one node; 0 unknown.
func nodes(s *Settings) int64 { return max(s.Nodes, 0) }

// registryAnswers: the planner can ask a registry for the cluster. Without one it cannot compare network costs and refuses the query.
func registryAnswers(s *Settings) bool { return s.Nodes > 0 || s.DaemonHosts != "" }

// ShuffleFromNodes is the number of LLAP nodes from which on shuffling both sides of a bucketed join moves less than sending the
// hashed sides to every node: the network comparison turns there. False where the join does not come to that comparison.
func ShuffleFromNodes(j *Join, s *Settings) (int64, bool) {
	divisor, _ := firstDivisor(j, s)
	if !s.LLAP || !s.DPHJ || !s.AutoConvertJoin || !s.comparesNetwork() || divisor <= 1 {
		return 0, false
	}
	var c choosing
	c.init(j, s)
	first := c.convert(conversion{divisor: divisor, budget: c.budget, thresholds: true})
	if first.big < 0 {
		return 0, false
	}
	n := c.network(first.big)
	if n.small <= 0 || s.comparesBeforeNetwork() && n.small <= c.budget {
		return 0, false
	}
	return n.dphj/n.small + 1, true
}
