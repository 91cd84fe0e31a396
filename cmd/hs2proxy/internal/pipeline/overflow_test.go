package pipeline

import (
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// loadingFailed is the error of a map join in the given vertex whose hash table, loaded from another, went beyond LLAP's limit.
func loadingFailed(vertex, input string) string {
	return "Error while processing statement: FAILED: Execution Error, return code 2 from org.apache.hadoop.hive.ql.exec.tez.TezTask. " +
		"Vertex failed, vertexName=" + vertex + ", vertexId=vertex_1_0001_1_00, diagnostics=[Task failed, taskId=task_1_0001_1_00_000000, " +
		"diagnostics=[TaskAttempt 0 failed, info=[Error: Error while running task ( failure ) : " +
		"org.apache.hadoop.hive.ql.exec.mapjoin.MapJoinMemoryExhaustionError: Hash table loading exceeded memory limits for input: " + input +
		" numEntries: 65000000 estimatedMemoryUsage: 5153960800 effectiveThreshold: 5153960788 memoryMonitorInfo: { isLlap: true }"
}

func (b *bench) fail(st *intercept.Statement, message string) {
	failed := b.at(st)
	failed.State, failed.ErrorCode, failed.SQLState, failed.ErrorMessage = intercept.StateError, 2, "08S01", message
	b.events <- intercept.Event{Kind: intercept.StatementEnded, Session: &b.own, Statement: failed}
}

// final takes records until the statement's last one.
func (b *bench) final(t *testing.T, id string) store.Observation {
	t.Helper()
	for {
		if o := b.observation(t); o.Statement.ID == id && o.Statement.State.Final() {
			return o
		}
	}
}

// A statement that ends in a memory error is joined with its plan: explained for it, or remembered from another run.
func TestRecorderJoinsAMemoryErrorWithThePlan(t *testing.T) {
	b := newBench(t, nil).begin(t)
	for _, id := range []string{"explained", "remembered"} {
		st := statement(id, joinSQL)
		b.start(st)
		if id == "explained" {
			b.observation(t) // running, with its analysis
		}
		b.fail(st, loadingFailed("Map 1", "Map 2"))
		o := b.final(t, id)
		if len(o.Findings) != 1 || o.Findings[0].Kind != advisor.MapJoinMemory || o.Findings[0].Evidence["loaded_rows"] != int64(65_000_000) {
			t.Fatalf("%s: findings %+v of %d joins", id, o.Findings, len(o.Analysis.Joins))
		}
		if f := o.Findings[0]; !strings.Contains(f.Summary, "shop.") || !strings.Contains(f.Advice, "ANALYZE TABLE `shop`.") || f.Doc == "" || len(f.Tables) == 0 {
			t.Errorf("%s: %+v", id, f)
		}
		for _, f := range o.Analysis.Findings {
			if f.Kind == advisor.MapJoinMemory {
				t.Errorf("%s: the analysis, which other runs share, has it too", id)
			}
		}
	}
	st := statement("other failure", joinSQL)
	b.start(st)
	b.fail(st, "FAILED: Execution Error, return code 1")
	if o := b.final(t, st.ID); len(o.Findings) > 0 {
		t.Errorf("findings %+v", o.Findings)
	}
	unread := statement("no plan", "SELECT 1")
	b.start(unread)
	b.fail(unread, loadingFailed("Map 1", "Map 2"))
	if o := b.final(t, unread.ID); len(o.Findings) > 0 {
		t.Errorf("findings %+v", o.Findings)
	}
}
