package sample

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/dynamicfilter"
)

// followed names the test that follows the advice of each kind on a real Hive. A kind without advice to run says why.
var followed = map[advisor.FindingKind]string{
	advisor.StaleStatistics:            "TestSelectorAdviceOnHive",
	advisor.MissingStatistics:          "TestSelectorAdviceOnHive",
	advisor.MergeJoinMissingStatistics: "TestSelectorAdviceOnHive",
	advisor.MergeJoinLargeSmall:        "TestSelectorAdviceOnHive",
	advisor.NearFlip:                   "TestSelectorAdviceOnHive",
	advisor.BucketedButShuffled:        "TestSelectorAdviceOnHive",
	advisor.FullOuterNoBroadcast:       "TestSelectorAdviceOnHive",
	advisor.CrossProduct:               "TestSelectorAdviceOnHive",
	advisor.MapJoinMemory:              "TestSelectorAdviceOnHive",
	advisor.StrategyUnexplained:        "TestSelectorAdviceOnHive",
	advisor.PlanChangedByResize:        "TestPlanChangeAdviceOnHive",
	advisor.PlanChangedByUpgrade:       "TestPlanChangeAdviceOnHive",
	advisor.PlanChangedBySettings:      "TestPlanChangeAdviceOnHive",
	advisor.PlanChangedByStatistics:    "TestPlanChangeAdviceOnHive",
	advisor.PlanChangeUnexplained:      "- it names what differs, and advises nothing",
	advisor.FidelityFell:               "- it is a report of ours to read",
	"outer_join_becomes_inner":         "TestOuterJoinOnHive",
	"during_join_preserved_filter":     "TestOuterJoinOnHive",
	"partition_pruning_lost":           "TestOuterJoinOnHive",
	"broadcast_costs_more":             "TestAdviceOnHive",
	"redistribution_costs_more":        "TestAdviceOnHive",
	"broadcast_over_memory":            "TestAdviceOnHive",
	"wide_rows":                        "TestAdviceOnHive",
	"skew_risk":                        "TestAdviceOnHive",
	"broadcast_actual_dwarfs_estimate": "TestMovementOnHive",
	"dynamic_filter_missing":           "TestDynamicFilterOnHive",
	"partition_pruning_missing":        "TestDynamicFilterOnHive",
	"anti_join_missed":                 "TestAntiJoinOnHive",
	"anti_join_saving":                 "- it tells what is saved, there is nothing to change",
	"anti_join_wrong_result":           "TestAntiJoinOnHive",
	"not_in_null_aware":                "TestAntiJoinOnHive",
}

// hiveTests are the sources of the tests on a real Hive, by the test's name.
func hiveTests(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*_hive_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests on Hive: %v", err)
	}
	texts := map[string]string{}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+OnHive)\(`).FindAllStringSubmatch(string(b), -1) {
			texts[m[1]] = string(b)
		}
	}
	return texts
}

// TestEveryAdviceIsFollowedOnHive: each kind of finding has a test that follows its advice on a real Hive, that test names the kind, and the
// inventory docs/findings/advice.md has a line for it.
func TestEveryAdviceIsFollowedOnHive(t *testing.T) {
	texts, rows := hiveTests(t), inventory(t)
	for _, k := range advisor.Kinds() {
		test := followed[k.Kind]
		if !strings.HasPrefix(test, "- ") && (texts[test] == "" || !named(texts[test], k.Kind)) {
			t.Errorf("the advice of %s is followed by no test on Hive: %q", k.Kind, test)
		}
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, string(k.Kind)) }) {
			t.Errorf("the inventory has no line for %s", k.Kind)
		}
	}
	for kind := range followed {
		if _, ok := advisor.KindOf(kind); !ok {
			t.Errorf("there is no %s any more", kind)
		}
	}
	for _, name := range advisor.LeverSettings() { // TestLeversOnHive fails where one was not pulled
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, name) }) {
			t.Errorf("the inventory has no line for the lever %s", name)
		}
	}
}

// TestEveryCauseIsSeenOnHive: each reason that keeps a dynamic filter out has a case on a real Hive.
func TestEveryCauseIsSeenOnHive(t *testing.T) {
	text := hiveTests(t)["TestDynamicFilterOnHive"]
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "advisor", "dynamicfilter", "cause.go"))
	if err != nil {
		t.Fatal(err)
	}
	causes := regexp.MustCompile(`(?m)^\s(\w+)\s+Cause = "`).FindAllStringSubmatch(string(source), -1)
	if len(causes) < 14 {
		t.Fatalf("%d causes", len(causes))
	}
	for _, m := range causes {
		if !strings.Contains(text, "dynamicfilter."+m[1]) {
			t.Errorf("no case for %s", m[1])
		}
	}
}

// inventory are the lines of the table of the inventory.
func inventory(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "findings", "advice.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "|") {
			rows = append(rows, line)
		}
	}
	return rows
}

// named: a test names the kind, as a word or as its package's constant.
func named(text string, kind advisor.FindingKind) bool {
	for k, constant := range constants {
		if k == kind {
			return strings.Contains(text, "."+constant)
		}
	}
	var constant strings.Builder
	for part := range strings.SplitSeq(string(kind), "_") {
		constant.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return strings.Contains(text, string(kind)) || strings.Contains(text, "."+constant.String())
}

// constants are those of kinds that are not called what they say.
var constants = map[advisor.FindingKind]string{
	advisor.PlanChangedByResize: "PlanChangedByResize", advisor.PlanChangedByUpgrade: "PlanChangedByUpgrade",
	advisor.PlanChangedBySettings: "PlanChangedBySettings", advisor.PlanChangedByStatistics: "PlanChangedByStatistics",
	dynamicfilter.FilterMissing: "FilterMissing", dynamicfilter.PruningMissing: "PruningMissing",
}
