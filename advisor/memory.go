package advisor

import "strconv"

// fallbackContainerMB is what Hive counts with where neither the container's size nor a map task's is set
// (StatsUtils.getAvailableMemory; DagUtils.getContainerResource takes the same default from MRJobConfig).
const fallbackContainerMB = 1024

// memoryShare is the part of a task's memory that a budget may promise to hash tables. The planner's estimate may be exceeded by
// the inflation factor of two before LLAP's monitor ends the query, and a table may take two thirds of the memory
// (MemoryMonitorInfo.getEffectiveThreshold): half of that is a third.
const memoryShare = 3

// Memory is what backs the hash tables of one task.
type Memory struct {
	// MB is the memory of a Tez container, or of one LLAP executor, in Hive's MB of 2^20 bytes.
	MB int64
	// What names it: "a container", "an LLAP executor". Source is the settings it comes from, as a sentence has them.
	What, Source string
}

// MemoryOf reads the memory of a task from the settings: the container's size as Hive falls back (DagUtils.getContainerResource),
// under LLAP the daemon's memory divided by its executors.
func MemoryOf(s *Settings) Memory {
	if s.LLAP {
		executors := max(executorsPerNode(s), 1)
		return Memory{
			MB: max(s.DaemonMB, 0) / executors, What: "an LLAP executor",
			Source: "hive.llap.daemon.memory.per.instance.mb=" + strconv.FormatInt(s.DaemonMB, 10) + " for " + count(executors, "executor"),
		}
	}
	m := Memory{MB: s.ContainerMB, What: "a container", Source: "hive.tez.container.size"}
	if m.MB <= 0 {
		m.MB, m.Source = s.MapMemoryMB, "mapreduce.map.memory.mb, since hive.tez.container.size is not set"
	}
	if m.MB <= 0 {
		m.MB, m.Source = fallbackContainerMB, "Hive's default, since hive.tez.container.size is not set"
	}
	return m
}

// Largest is the largest budget the memory backs, in bytes: a third of it.
func (m Memory) Largest() int64 { return m.MB << 20 / memoryShare }

// Backs tells whether a budget of that many bytes has memory behind it, and the check in words with both numbers.
func (m Memory) Backs(budget int64) (ok bool, why string) {
	size := strconv.FormatInt(m.MB, 10) + " MB"
	if budget <= m.Largest() {
		return true, "a hash table of up to " + human(budget) + " in " + m.What + " of " + size + " (" + m.Source + ")"
	}
	need := (budget*memoryShare + 1<<20 - 1) >> 20
	return false, human(budget) + " of hash table in " + m.What + " of " + size + " (" + m.Source + "): a third of it, " + human(m.Largest()) +
		", is safe; it takes " + m.What + " of " + strconv.FormatInt(need, 10) + " MB"
}
