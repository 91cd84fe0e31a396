package sample

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// followed names the tests that follow the advice of each kind on a real Hive. A kind without advice to run says why.
var followed = map[advisor.FindingKind]string{
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

// TestEveryAdviceIsFollowedOnHive: each kind of the advisors beside the selector has a test that follows its advice, and that test names
// the kind. Docs: docs/findings/advice.md lists the advice itself.
func TestEveryAdviceIsFollowedOnHive(t *testing.T) {
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
		texts[name] = string(b)
	}
	for _, k := range advisor.Kinds() {
		if k.Advisor == advisor.FamilySelector {
			continue
		}
		test := followed[k.Kind]
		if strings.HasPrefix(test, "- ") {
			continue
		}
		found := false
		for _, text := range texts {
			found = found || test != "" && strings.Contains(text, "func "+test+"(") && named(text, k.Kind)
		}
		if !found {
			t.Errorf("the advice of %s is followed by no test on Hive: %q", k.Kind, test)
		}
	}
}

// named: a test names the kind, as a word or as its package's constant.
func named(text string, kind advisor.FindingKind) bool {
	var constant strings.Builder
	for part := range strings.SplitSeq(string(kind), "_") {
		constant.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return strings.Contains(text, string(kind)) || strings.Contains(text, "."+constant.String())
}
