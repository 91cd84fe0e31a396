package explain_test

import (
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor/jsonl/jsonltest"
)

// goldenPlan is a line of golden/plans.jsonl.gz: an EXPLAIN output of Hive's own tests.
type goldenPlan struct {
	File, Form, Query, Plan string
	Join                    bool
}

// goldenPlans reads the plans of Hive's own tests, which stay outside the repository.
func goldenPlans(t testing.TB) []goldenPlan {
	t.Helper()
	return jsonltest.Shared[goldenPlan](t, "golden/plans.jsonl.gz")
}
