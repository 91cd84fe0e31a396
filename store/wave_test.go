package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// content is what was recorded, by names instead of keys, which two databases number differently.
func (f *fixture) content() string {
	f.t.Helper()
	const plan = `(SELECT concat_ws(' ', p.fingerprint, p.settings_hash, p.plan_hash, p.first_explained_at) FROM hs2proxy.plans p WHERE p.id = x.plan_id)`
	const table = `(SELECT t.name FROM hs2proxy.tables t WHERE t.id = x.table_id)`
	var b strings.Builder
	for _, q := range []struct{ of, by string }{
		{"sessions", "''"},
		{"queries", "''"},
		{"tables", "''"},
		{"plans", "''"},
		{"statements", plan},
		{"joins", plan},
		{"plan_uses", plan},
		{"findings", plan},
		{"operator_actuals", plan},
		{"plan_tables", plan + " || ' ' || " + table},
		{"table_writes", table},
		{"analyzes", table},
		{"contradictions", table},
		{"foreign_writes", table},
		{"fidelity_days", "''"},
	} {
		keys := "- '{plan_id,table_id}'::text[]"
		if q.of != "statements" && q.of != "sessions" {
			keys = "- '{id,plan_id,table_id}'::text[]"
		}
		if q.of == "tables" { // first seen with whatever of a batch began first
			keys = "- '{id,first_seen}'::text[]"
		}
		row := "(" + q.by + " || ' ' || (to_jsonb(x) " + keys + ")::text)"
		b.WriteString(q.of + ":\n" + f.one(`SELECT string_agg(`+row+`, E'\n' ORDER BY `+row+`) FROM hs2proxy.`+q.of+` x`) + "\n")
	}
	return b.String()
}

// traffic makes up records: statements of a few queries, tables and sessions that start, are analysed and end, some of them again.
type traffic struct {
	rand     *rand.Rand
	sessions []intercept.Session
	running  []store.Observation
	records  []store.Record
	minute   int
}

func newTraffic(seed uint64) *traffic {
	return &traffic{rand: rand.New(rand.NewPCG(seed, 1))}
}

func (tr *traffic) now() time.Time {
	tr.minute += 2
	return t0.Add(time.Duration(tr.minute) * time.Minute)
}

func (tr *traffic) session() intercept.Session {
	if len(tr.sessions) < 4 || tr.rand.IntN(10) == 0 {
		s := session([]string{"hive-a", "hive-b"}[tr.rand.IntN(2)])
		s.OpenedAt = tr.now()
		tr.sessions = append(tr.sessions, s)
		if tr.rand.IntN(4) > 0 { // else its statements come first
			tr.records = append(tr.records, store.Record{Session: &s})
		}
		return s
	}
	return tr.sessions[tr.rand.IntN(len(tr.sessions))]
}

func (tr *traffic) table() string { return fmt.Sprintf("shop.t%d", tr.rand.IntN(5)) }

func (tr *traffic) analysis(s intercept.Session, fingerprint string) *store.Analysis {
	v := verdict([]advisor.Strategy{advisor.MapJoin, advisor.MergeJoin}[tr.rand.IntN(2)], int64(1000+tr.rand.IntN(5)))
	v.Join.Inputs[0].Tables, v.Join.Inputs[1].Tables = []string{tr.table()}, []string{tr.table()}
	a := analysis(s.Upstream, fingerprint, tr.now(), v)
	a.Tables = nil
	a.Usage = map[string]statscheck.Usage{}
	for _, in := range v.Join.Inputs {
		a.Usage[in.Tables[0]] = statscheck.Usage{OtherColumns: []string{fmt.Sprintf(`c"%d\`, tr.rand.IntN(3))}, PlanBasic: "PARTIAL", PlanColumn: "NONE", PlanRows: ptr(int64(tr.minute))}
	}
	a.Reads = map[string]statscheck.PlanRead{v.Join.Inputs[0].Tables[0]: {Partitions: []string{"ds=1", `ds="x\`}, Total: 5 + tr.rand.IntN(2), Build: true}}
	a.Reused = tr.rand.IntN(3) > 0
	for range tr.rand.IntN(3) {
		a.Findings = append(a.Findings, advisor.Finding{
			Kind: advisor.FindingKind(fmt.Sprintf("K%d", tr.rand.IntN(3))), Severity: advisor.Low, Subject: "join 0", Summary: fmt.Sprint(tr.minute),
			Evidence: map[string]any{"minute": tr.minute}, Tables: []string{tr.table(), "a,b"},
		})
	}
	if tr.rand.IntN(12) == 0 {
		return &store.Analysis{Upstream: s.Upstream, Fingerprint: fingerprint, ExplainedAt: tr.now(), Error: "no such table"}
	}
	return a
}

func (tr *traffic) begin() {
	s := tr.session()
	o := store.Observation{Session: s, Statement: statement(s, "SELECT 1", fmt.Sprintf("f%d", tr.rand.IntN(4)), tr.now())}
	o.Statement.ID = uuid.UUID{byte(tr.rand.Uint32()), byte(tr.rand.Uint32()), byte(len(tr.records) >> 8), byte(len(tr.records)), 6: 0x70, 8: 0x80}.String()
	if tr.rand.IntN(3) > 0 {
		o.Analysis = tr.analysis(s, o.Statement.Info.Fingerprint)
	}
	if tr.rand.IntN(3) == 0 {
		tr.records = append(tr.records, store.Record{Observation: &o})
	}
	tr.running = append(tr.running, o)
}

func (tr *traffic) end() {
	i := tr.rand.IntN(len(tr.running))
	o := tr.running[i]
	tr.running = append(tr.running[:i:i], tr.running[i+1:]...)
	if o.Analysis == nil && tr.rand.IntN(2) == 0 {
		o.Analysis = tr.analysis(o.Session, o.Statement.Info.Fingerprint)
	}
	o.Statement = ended(o.Statement, []intercept.State{intercept.StateFinished, intercept.StateError, intercept.StateLost}[tr.rand.IntN(3)], time.Minute)
	if tr.rand.IntN(2) == 0 {
		for range 1 + tr.rand.IntN(2) {
			o.Writes = append(o.Writes, store.TableWrite{Table: tr.table(), Op: hiveql.WriteInsertInto, Rows: []*int64{nil, ptr(int64(tr.minute))}[tr.rand.IntN(2)], Partitions: []string{"", `ds="1"`}})
		}
		o.Statement.ModifiedRows = ptr(int64(tr.minute))
	}
	if tr.rand.IntN(4) == 0 {
		o.Analyzed = &store.TableAnalyze{Table: tr.table(), CountsRows: true}
		o.Contradictions = []store.TableContradiction{{Table: tr.table(), Contradiction: statscheck.Contradiction{Kind: "ROWS", Estimated: ptr(int64(1)), Actual: ptr(int64(90)), Words: "w"}}}
		o.Findings = []advisor.Finding{{Kind: "K9", Severity: advisor.High, Subject: "statement"}}
	}
	tr.records = append(tr.records, store.Record{Observation: &o})
	if tr.rand.IntN(3) == 0 {
		tr.records = append(tr.records, store.Record{Actuals: &store.Actuals{
			Upstream: o.Session.Upstream, StatementID: o.Statement.ID, Source: store.SourceCounters, Fingerprint: o.Statement.Info.Fingerprint, At: o.Statement.EndedAt,
			Operators: []advisor.OperatorActual{{ID: "MAPJOIN_25", Kind: "Map Join Operator", Vertex: "Map 1", Estimated: 10, Actual: int64(tr.minute)}},
			Findings:  []advisor.Finding{{Kind: "K8", Severity: advisor.High, Subject: "join 0", Summary: fmt.Sprint(tr.minute)}},
		}})
	}
}

func (tr *traffic) make(n int) []store.Record {
	for len(tr.records) < n {
		switch k := tr.rand.IntN(20); {
		case k < 9 || len(tr.running) == 0:
			tr.begin()
		case k < 17:
			tr.end()
		case k < 18 && len(tr.records) > 0: // once more
			tr.records = append(tr.records, tr.records[tr.rand.IntN(len(tr.records))])
		default:
			s := tr.session()
			if s.Database = fmt.Sprintf("db%d", tr.minute); tr.rand.IntN(2) == 0 {
				s.ClosedAt = tr.now()
			}
			tr.records = append(tr.records, store.Record{Session: &s})
		}
	}
	return tr.records
}

// Many records in a transaction are recorded as if each came alone.
func TestBatchesEqualSingleRecords(t *testing.T) {
	for seed := range uint64(3) {
		records := newTraffic(seed).make(200)
		alone, together := newFixture(t, store.Options{}), newFixture(t, store.Options{})
		for _, f := range []*fixture{alone, together} { // with the same keys
			f.ok(f.SaveSettings(t.Context(), "hive-a", nil))
			f.ok(f.SaveSettings(t.Context(), "hive-b", nil))
		}
		for _, r := range records {
			if done, err := alone.Record(t.Context(), []store.Record{r}); done != 1 || err != nil {
				t.Fatal(done, err)
			}
		}
		sizes := rand.New(rand.NewPCG(seed, 2))
		for rest := records; len(rest) > 0; {
			n := min(1+sizes.IntN(120), len(rest))
			if done, err := together.Record(t.Context(), rest[:n]); done != n || err != nil {
				t.Fatal(done, err)
			}
			rest = rest[n:]
		}
		want, got := strings.Split(alone.content(), "\n"), strings.Split(together.content(), "\n")
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				t.Fatalf("seed %d, line %d\nalone:    %s\ntogether: %s", seed, i, want[i], got[i])
			}
		}
		if len(want) != len(got) {
			t.Errorf("seed %d: %d lines alone, %d together", seed, len(want), len(got))
		}
	}
}

// Two proxies with batches over the same queries and tables, in any order: no deadlock, and every statement counts once.
func TestTwoWritersOfBatches(t *testing.T) {
	f := newFixture(t, store.Options{})
	const batches, size = 6, 30
	var wg sync.WaitGroup
	for proxy := range 2 {
		s, err := store.Open(t.Context(), f.dsn, store.Options{LockTimeout: time.Minute, StatementTimeout: time.Minute}) // for a busy machine
		f.ok(err)
		wg.Go(func() {
			defer s.Close()
			order := rand.New(rand.NewPCG(uint64(proxy), 3))
			own := session("hive-a")
			for batch := range batches {
				records := make([]store.Record, size)
				for i := range records {
					q := order.IntN(8)
					o := store.Observation{Session: own, Statement: ended(statement(own, "INSERT", fmt.Sprintf("f%d", q), t0), intercept.StateFinished, time.Minute)}
					v := verdict(advisor.MapJoin, 1000)
					v.Join.Inputs[0].Tables[0] = fmt.Sprintf("shop.t%d", order.IntN(6))
					o.Analysis = analysis("hive-a", o.Statement.Info.Fingerprint, t0.Add(time.Duration(batch)*time.Hour), v)
					o.Analysis.Findings = []advisor.Finding{{Kind: "K1", Severity: advisor.Low, Subject: "join 0"}, {Kind: "K2", Severity: advisor.Low, Subject: "join 0"}}
					o.Writes = []store.TableWrite{{Table: fmt.Sprintf("shop.t%d", order.IntN(6)), Op: hiveql.WriteInsertInto, Rows: ptr(int64(1))}}
					records[i].Observation = &o
				}
				if done, err := s.Record(t.Context(), records); done != size || err != nil {
					t.Errorf("%d recorded: %v", done, err)
				}
			}
		})
	}
	wg.Wait()
	const all = 2 * batches * size
	f.want(fmt.Sprintf("%d %d %d %d %d", all, all, all, all, 2*all), `SELECT concat_ws(' ', (SELECT count(*) FROM hs2proxy.statements), (SELECT sum(runs) FROM hs2proxy.queries),
		(SELECT sum(uses) FROM hs2proxy.plan_uses), (SELECT sum(writes_rows) FROM hs2proxy.tables), (SELECT sum(times) FROM hs2proxy.findings))`)
	f.want("0", `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)
}

// Of a batch with a record that Postgres refuses nothing is stored, whatever its place; without it the rest is.
func TestABatchWithARefusedRecord(t *testing.T) {
	for _, place := range []int{0, 5, 9} {
		f := newFixture(t, store.Options{})
		s := session("hive-a")
		records := make([]store.Record, 10)
		for i := range records {
			o := store.Observation{
				Session: s, Statement: ended(statement(s, "SELECT 1", "f1", t0), intercept.StateFinished, time.Second),
				Writes: []store.TableWrite{{Table: "shop.out", Op: hiveql.WriteInsertInto, Rows: ptr(int64(1))}},
			}
			records[i].Observation = &o
		}
		records[place].Observation.Statement.ID = "no UUID"
		done, err := f.Record(t.Context(), records)
		if done != 0 || !errors.Is(err, store.ErrData) {
			t.Errorf("place %d: %d done, %v", place, done, err)
		}
		f.want("0 0", `SELECT concat_ws(' ', (SELECT count(*) FROM hs2proxy.statements), (SELECT count(*) FROM hs2proxy.tables))`)
		if done, err := f.Record(t.Context(), append(records[:place:place], records[place+1:]...)); done != 9 || err != nil {
			t.Errorf("place %d: %d done, %v", place, done, err)
		}
		f.want("9 9 9", `SELECT concat_ws(' ', (SELECT count(*) FROM hs2proxy.statements), (SELECT runs FROM hs2proxy.queries), (SELECT writes_rows FROM hs2proxy.tables))`)
	}
}

// A batch whose answer was lost comes again, in other pieces: nothing counts twice.
func TestABatchThatComesAgain(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	records := []store.Record{{Session: &s}}
	for i := range 20 {
		o := store.Observation{
			Session: s, Statement: ended(statement(s, "INSERT", fmt.Sprintf("f%d", i%3), t0.Add(time.Duration(i)*time.Minute)), intercept.StateFinished, time.Second),
			Analysis: analysis("hive-a", fmt.Sprintf("f%d", i%3), t0, verdict(advisor.MapJoin, 1000)),
			Writes:   []store.TableWrite{{Table: "shop.out", Op: hiveql.WriteInsertInto, Rows: ptr(int64(1))}},
		}
		o.Analysis.Findings = []advisor.Finding{{Kind: "K1", Severity: advisor.Low, Subject: "join 0"}}
		records = append(records, store.Record{Observation: &o})
	}
	_, err := f.Record(t.Context(), records)
	f.ok(err)
	before := f.content()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if again, err := f.Record(ctx, records); err == nil || again != 0 {
		t.Errorf("%d recorded with an ended context", again)
	}
	for _, from := range []int{20, 11, 0} {
		if again, err := f.Record(t.Context(), records[from:]); again != len(records)-from || err != nil {
			t.Errorf("from %d: %d, %v", from, again, err)
		}
	}
	if after := f.content(); after != before {
		t.Errorf("a replay changed rows:\n%s\n%s", before, after)
	}
}
