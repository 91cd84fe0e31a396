package hiveql

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// eachShared calls f with each line of a gzipped JSON-lines file of the folder HS2PROXY_SHARED names.
func eachShared(t *testing.T, path string, f func(line []byte)) {
	t.Helper()
	dir := os.Getenv("HS2PROXY_SHARED")
	if dir == "" {
		t.Skip("HS2PROXY_SHARED does not name the folder of sample statements")
	}
	file, err := os.Open(filepath.Join(dir, path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(unzipped)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			f(line)
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The statements of Hive's own query tests, each an EXPLAIN of something: what is explained must read as its plan says.
func TestHiveTestStatements(t *testing.T) {
	seen, fingerprints := 0, map[string]string{}
	kinds := map[Kind]int{}
	eachShared(t, "golden/plans.jsonl.gz", func(line []byte) {
		var sample struct {
			Query, Plan string
			Join        bool
		}
		if err := json.Unmarshal(line, &sample); err != nil {
			t.Fatal(err)
		}
		seen++
		if strings.Contains(sample.Query, "#### A masked pattern was here ####") {
			return
		}
		checkInfo(t, sample.Query)
		if got := Parse(sample.Query); got.Kind != KindExplain {
			t.Errorf("%s: kind %s, want EXPLAIN", sample.Query, got.Kind)
		}
		inner, ok := explained(sample.Query)
		if !ok {
			t.Errorf("%s: no statement behind EXPLAIN", sample.Query)
			return
		}
		checkInfo(t, inner)
		info := Parse(inner)
		kinds[info.Kind]++
		isQuery := slices.Contains([]Kind{KindSelect, KindInsert, KindMultiInsert, KindCTAS, KindMerge, KindUpdate, KindDelete}, info.Kind)
		if sample.Join && isQuery && !info.Explainable {
			t.Errorf("%s: has a join in its plan, but reads as not explainable %s", inner, info.Kind)
		}
		if other, ok := fingerprints[info.Fingerprint]; ok && !strings.EqualFold(other, info.Normalized) {
			t.Errorf("fingerprint %s of both %q and %q", info.Fingerprint, other, info.Normalized)
		}
		fingerprints[info.Fingerprint] = info.Normalized
		if again := Parse(info.Normalized); again.Fingerprint != info.Fingerprint && info.Kind != KindSet {
			t.Errorf("%s\nnormalized %q\n      then %q", inner, info.Normalized, again.Normalized)
		}
		inserts := strings.Count(info.Normalized, "insert into ") + strings.Count(info.Normalized, "insert overwrite ") - strings.Count(info.Normalized, " directory ")
		if (info.Kind == KindInsert || info.Kind == KindMultiInsert) && len(info.Writes) != inserts {
			t.Errorf("%s: %d inserts into tables, writes %v", inner, inserts, info.Writes)
		}
	})
	if seen != 5738 {
		t.Errorf("read %d statements, want 5738", seen)
	}
	t.Logf("%d fingerprints; kinds %v", len(fingerprints), kinds)
}

// explained is the statement behind EXPLAIN and its options.
func explained(sql string) (string, bool) {
	l := lexer{src: sql}
	if !l.skip("explain") {
		return "", false
	}
	for {
		switch t := l.peek(); {
		case t.kind == tokEOF:
			return "", false
		case l.is(t, "analyze"):
			ahead := l
			ahead.next()
			if ahead.is(ahead.peek(), "table") {
				return sql[t.start:], true
			}
		case l.is(t, "rewrite"), l.isAny(t, "extended", "formatted", "dependency", "cbo", "cost", "joincost", "logical", "authorization", "reoptimization", "locks", "ast", "vectorization",
			"only", "summary", "operator", "expression", "detail", "debug", "ddl"):
		default:
			return sql[t.start:], true
		}
		l.next()
	}
}

// The statements of the planner's oracle: DDL, statistics and queries, all accepted by Hive.
func TestOracleStatements(t *testing.T) {
	eachShared(t, "oracle/cases.jsonl.gz", func(line []byte) {
		var sample struct {
			ID              string
			SQL             string
			DDL             []string
			StatsStatements []string `json:"stats_statements"`
			Tables          map[string]json.RawMessage
		}
		if err := json.Unmarshal(line, &sample); err != nil {
			t.Fatal(err)
		}
		checkInfo(t, sample.SQL)
		if info := Parse(sample.SQL); info.Kind != KindSelect || !info.Explainable {
			t.Errorf("%s: %s: kind %s, explainable %v", sample.ID, sample.SQL, info.Kind, info.Explainable)
		}
		for _, sql := range sample.DDL {
			checkInfo(t, sql)
			info := Parse(sql)
			switch info.Kind {
			case KindCreate:
			case KindAlter:
				want := strings.Count(sql, "PARTITION (")
				if len(info.Writes) != want {
					t.Errorf("%s: %s: writes %v, want %d", sample.ID, sql, info.Writes, want)
				}
				for _, w := range info.Writes {
					if _, ok := sample.Tables[w.Table.Table]; !ok || len(w.Partition) == 0 {
						t.Errorf("%s: %s: write %v", sample.ID, sql, w)
					}
				}
			default:
				t.Errorf("%s: %s: kind %s", sample.ID, sql, info.Kind)
			}
		}
		for _, sql := range sample.StatsStatements {
			if info := Parse(sql); info.Kind != KindAlter || info.Writes != nil {
				t.Errorf("%s: %s: kind %s, writes %v", sample.ID, sql, info.Kind, info.Writes)
			}
		}
	})
}
