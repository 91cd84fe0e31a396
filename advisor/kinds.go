package advisor

import "slices"

// Family names one advisor: a body of rules with one source. It is a column of the findings in Postgres, which keys the
// report_findings_… views.
type Family string

// Families.
const (
	FamilySelector      Family = "selector"
	FamilyOuterJoin     Family = "outer_join"
	FamilyMovement      Family = "movement"
	FamilyDynamicFilter Family = "dynamic_filter"
	FamilyAntiJoin      Family = "anti_join"
)

// Families lists them all, the selector's first.
func Families() []Family {
	return []Family{FamilySelector, FamilyOuterJoin, FamilyMovement, FamilyDynamicFilter, FamilyAntiJoin}
}

// KindInfo describes a kind of finding.
type KindInfo struct {
	Kind    FindingKind `json:"kind"`
	Advisor Family      `json:"advisor"`
	// Title says in a few words what the rule found.
	Title string `json:"title"`
	// Doc is the section that explains the rule, as path#anchor in the repository.
	Doc string `json:"doc"`
}

// docPage has a section for each kind, headed by its name.
const docPage = "docs/findings/README.md"

func kind(advisor Family, k FindingKind, title string) KindInfo {
	return KindInfo{Kind: k, Advisor: advisor, Title: title, Doc: docPage + "#" + string(k)}
}

// on gives the kind a section on another page of docs/findings.
func (i KindInfo) on(page string) KindInfo {
	i.Doc = "docs/findings/" + page + "#" + string(i.Kind)
	return i
}

// kinds registers every kind of finding, those of the packages below advisor too, which it may not import. A kind that is
// used and not here, or here without its section, fails a test.
var kinds = []KindInfo{
	kind(FamilySelector, StaleStatistics, "with the rows really written the rules choose another strategy"),
	kind(FamilySelector, MissingStatistics, "an input was planned without full statistics"),
	kind(FamilySelector, MergeJoinLargeSmall, "a merge join sorts both sides although one could be hashed"),
	kind(FamilySelector, MergeJoinMissingStatistics, "a merge join that statistics of an input could make a hash join"),
	kind(FamilySelector, NearFlip, "a change of the hashed side within a factor of two changes the strategy"),
	kind(FamilySelector, BucketedButShuffled, "a bucketed input is shuffled all the same"),
	kind(FamilySelector, FullOuterNoBroadcast, "a FULL OUTER join, which is never broadcast"),
	kind(FamilySelector, CrossProduct, "a join without keys"),
	kind(FamilySelector, MapJoinMemory, "a statement failed because a hash table did not fit into memory"),
	kind(FamilySelector, PlanChangedByResize, "another strategy after a resize of cluster, containers or budget"),
	kind(FamilySelector, PlanChangedByUpgrade, "another strategy after an upgrade of Hive"),
	kind(FamilySelector, PlanChangedBySettings, "another strategy under other settings"),
	kind(FamilySelector, PlanChangedByStatistics, "another strategy after statistics changed"),
	kind(FamilySelector, PlanChangeUnexplained, "another strategy, and nothing known restores the one before"),
	kind(FamilySelector, StrategyUnexplained, "the simulation does not arrive at Hive's choice"),
	kind(FamilySelector, "fidelity_fell", "the simulation agrees with a server's planner less than before"),

	kind(FamilyOuterJoin, "outer_join_becomes_inner", "a filter drops every row that an outer join pads").on("outer-join.md"),
	kind(FamilyOuterJoin, "during_join_preserved_filter", "a predicate in ON does not filter the table whose rows stay").on("outer-join.md"),
	kind(FamilyOuterJoin, "partition_pruning_lost", "a predicate stands where it keeps no partition from being read").on("outer-join.md"),

	kind(FamilyMovement, "broadcast_costs_more", "copies to every node move more than another way").on("movement.md"),
	kind(FamilyMovement, "redistribution_costs_more", "sending both sides by the key moves more than another way").on("movement.md"),
	kind(FamilyMovement, "broadcast_over_memory", "the side copied to every node is more than a node should hash").on("movement.md"),
	kind(FamilyMovement, "wide_rows", "columns make an exchange large, or keep a side from being copied").on("movement.md"),
	kind(FamilyMovement, "skew_risk", "one key brings much of a side to one node").on("movement.md"),
	kind(FamilyMovement, "broadcast_actual_dwarfs_estimate", "a copied side had ten times the rows it was planned with").on("movement.md"),

	kind(FamilyDynamicFilter, "dynamic_filter_missing", "keys of one side would remove most rows of the other, and the plan does not use them").on("dynamic-filter.md"),
	kind(FamilyDynamicFilter, "partition_pruning_missing", "keys of one side would prune partitions of the other, and the plan reads them all").on("dynamic-filter.md"),

	kind(FamilyAntiJoin, "anti_join_missed", "an outer join and a filter do the work of an anti join"),
	kind(FamilyAntiJoin, "anti_join_saving", "an anti join, and what it saves"),
	kind(FamilyAntiJoin, "anti_join_wrong_result", "a planned anti join that loses rows in this version"),
	kind(FamilyAntiJoin, "not_in_null_aware", "NOT IN has to care for NULLs, NOT EXISTS need not"),
}

// Kinds lists the registered kinds by family. The caller owns the slice.
func Kinds() []KindInfo { return slices.Clone(kinds) }

// KindOf finds a registered kind.
func KindOf(k FindingKind) (KindInfo, bool) {
	at := slices.IndexFunc(kinds, func(i KindInfo) bool { return i.Kind == k })
	if at < 0 {
		return KindInfo{}, false
	}
	return kinds[at], true
}
