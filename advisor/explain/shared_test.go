package explain_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// goldenPlan is a line of golden/plans.jsonl.gz: an EXPLAIN output of Hive's own tests.
type goldenPlan struct {
	File, Form, Query, Plan string
	Join                    bool
}

// goldenPlans reads the plans of Hive's own tests, which stay outside the repository.
func goldenPlans(t testing.TB) []goldenPlan {
	t.Helper()
	return sharedLines[goldenPlan](t, "golden/plans.jsonl.gz")
}

// sharedLines decodes a gzipped JSONL file of the shared folder; the test is skipped where there is none.
func sharedLines[T any](t testing.TB, name string) []T {
	t.Helper()
	dir := os.Getenv("HS2PROXY_SHARED")
	if dir == "" {
		t.Skip("HS2PROXY_SHARED does not name the folder with " + name)
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	lines := bufio.NewScanner(zr)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
