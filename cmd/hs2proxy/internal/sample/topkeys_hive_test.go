package sample

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTopKeysOnHive asks hs2proxy explain to count keys: statistics tell of a million distinct ones, and one has six rows of ten. The heavy
// key apart, as the finding advises, gives the same rows.
func TestTopKeysOnHive(t *testing.T) {
	skewed := facts("skewed", "")
	skewed.values, skewed.rows = "if(i < 1200, 7, i), i", 1_000_000_000
	r := newSelectorRig(t, "topkeys", skewed, dim("dim", ""))
	settings := map[string]string{budgetSetting: "1"}
	sql := onFacts("skewed", "dim")
	c := newChecker(t)
	explain := func(more ...string) string {
		args := append([]string{"explain", "--upstream", os.Getenv("HS2PROXY_TEST_HS2"), "-d", r.db, "-s", budgetSetting + "=1", "-s", "hive.tez.dynamic.semijoin.reduction=false"}, more...)
		out, err := exec.CommandContext(t.Context(), c.program, append(args, sql)...).CombinedOutput()
		if err != nil {
			t.Fatalf("explain %v: %v\n%s", more, err, out)
		}
		return string(out)
	}
	if out := explain(); strings.Contains(out, "skew_risk") || strings.Contains(out, "top key:") {
		t.Errorf("unasked:\n%s", out)
	}
	out := explain("--top-keys")
	for _, want := range []string{
		"top key: 60.00 % of the rows of " + r.db + ".skewed (f) in join 0 have one key", "top key: 1.00 % of the rows of " + r.db + ".dim (d) in join 0 have one key",
		"skew_risk (join 0", "60 % of the rows of " + r.db + ".skewed (f) have one key", "join the heavy key apart from the others, and UNION ALL the results",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the answer lacks %q:\n%s", want, out)
		}
	}
	apart := "SELECT sum(v), sum(n) FROM (SELECT f.v, if(d.name IS NULL, 0, 1) n FROM skewed f JOIN dim d ON f.k = d.k WHERE f.k = 7" +
		" UNION ALL SELECT f.v, if(d.name IS NULL, 0, 1) n FROM skewed f JOIN dim d ON f.k = d.k WHERE f.k <> 7) u"
	r.begin(t, settings)
	if whole, parts := answers(t, r.session, sql), answers(t, r.session, apart); strings.Join(whole, ",") != strings.Join(parts, ",") {
		t.Errorf("%v, with the heavy key apart %v", whole, parts)
	}
}
