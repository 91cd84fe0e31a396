package advisor

// Budget is maxJoinMemory in bytes: what the hashed sides of a map join may need together
// (ConvertJoinMapJoin.getMemoryMonitorInfo). A container gives the configured size; LLAP adds a share for each further executor.
func Budget(s *Settings) int64 {
	size := s.NoConditionalTaskSize
	if !s.LLAP || s.Release != Hive4 {
		// Hive 3 computes the inflated size for its run-time monitor and plans with the configured one.
		return size
	}
	borrowed := min(maxSlots(s), executorsPerNode(s))
	inflated := toInt(float64(size) + float64(size)*float64(s.Oversubscribe)*float64(borrowed))
	return max(size, inflated)
}

// executorsPerNode is what the registry says, else the configured number.
func executorsPerNode(s *Settings) int64 {
	if s.NodeExecutors > 0 {
		return s.NodeExecutors
	}
	return s.DaemonExecutors
}

// maxSlots is the most executors a query may borrow from. Derived ones need a registry: without, the planner counts one.
func maxSlots(s *Settings) int64 {
	if s.MaxExecutorsPerQuery != -1 {
		return s.MaxExecutorsPerQuery
	}
	return min(max(1, s.NodeExecutors/3), 8)
}
