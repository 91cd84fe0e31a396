package pipeline

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// Recorder follows every statement from its start to its outcome, has join candidates analysed meanwhile, and hands each
// over once both are known. A statement that outlives the EXPLAIN made for it is handed over twice: as running, and at its
// end. One that needs none, or whose verdict is known from before, is handed over at its end only.
//
// One goroutine owns the pending statements; the others only analyse and ask. Start it once, Stop it once.
type Recorder struct {
	cfg      RecorderConfig
	log      zerolog.Logger
	counters *Counters

	tasks     chan task
	results   chan result
	questions chan question
	counts    chan count
	measures  chan run
	recent    *lru.Cache[string, *run] // by statement ID; owned by run
	pending   map[string]*job          // by statement ID; owned by run
	order     *list.List               // of *job, the oldest first; owned by run
	drain     chan struct{}
	cancel    context.CancelFunc
	wg        sync.WaitGroup
	// silent: HiveServer2 is asked nothing; see Silence.
	silent atomic.Bool
}

// RecorderConfig is what a Recorder works with.
type RecorderConfig struct {
	Events   <-chan intercept.Event
	Analyzer *Analyzer // nil: nothing is explained
	Cache    *Cache
	Samples  *Samples
	Workers  int
	// Rows is asked for what synchronous writes modified. Nil stands for the Analyzer's Explainer, where there is one.
	Rows RowCounter
	// Judged tells the tables that are read again after writes: only of these is one suspected. Nil: none is.
	Judged func(table string) bool
	// Record takes a finished record; it must not block.
	Record func(Record)
	Log    zerolog.Logger
}

// job is one statement on its way.
type job struct {
	store.Observation      // as it is recorded
	analysed          bool // Analysis is what it will ever be
	asking            bool // its rows are being asked for
	ended             bool
	rows              advisor.OperatorRows // counted so far
	place             *list.Element
}

const (
	taskBacklog = 256
	// maxPending bounds the statements on their way. The end of one may have been dropped before it came here; what it
	// left is given up with its session, or when it is the oldest of too many.
	maxPending = 16384
	// rest is how long events may gather before they are taken together: to be woken for each of them would cost the relay,
	// which has woken us, more than the events do.
	rest = 2 * time.Millisecond
)

// NewRecorder returns a Recorder that has not started.
func NewRecorder(cfg RecorderConfig, counters *Counters) *Recorder {
	if cfg.Rows == nil && cfg.Analyzer != nil && cfg.Analyzer.Explainer != nil {
		cfg.Rows = cfg.Analyzer.Explainer
	}
	recent, _ := lru.New[string, *run](recentRuns) // fails for no size only
	return &Recorder{
		cfg: cfg, log: cfg.Log, counters: counters,
		tasks: make(chan task, taskBacklog), results: make(chan result, taskBacklog),
		questions: make(chan question, rowsBacklog), counts: make(chan count, rowsBacklog),
		measures: make(chan run, measureBacklog), recent: recent,
		pending: map[string]*job{}, order: list.New(), drain: make(chan struct{}),
	}
}

// Start begins to take events.
func (r *Recorder) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	if r.cfg.Analyzer != nil {
		for range r.cfg.Workers {
			r.wg.Go(func() { r.work(ctx) })
		}
		r.wg.Go(func() { r.measureRuns(ctx) })
	}
	if r.cfg.Rows != nil {
		r.wg.Go(func() { r.ask(ctx) })
	}
	r.wg.Go(func() { r.run(ctx) })
}

// Stop takes the events that wait and ends when every analysis is there, or when ctx ends; what is pending then is
// recorded as it is. Nothing may be put into Events any more.
func (r *Recorder) Stop(ctx context.Context) {
	close(r.drain)
	stop := context.AfterFunc(ctx, r.cancel)
	r.wg.Wait()
	stop()
	r.cancel()
}

func (r *Recorder) run(ctx context.Context) {
	defer close(r.questions)
	defer close(r.tasks)
	defer close(r.measures)
	drain, events := r.drain, r.cfg.Events
	rested := time.NewTimer(rest)
	defer rested.Stop()
	for ctx.Err() == nil && (drain != nil || r.waiting()) {
		select {
		case ev := <-events:
			r.event(ev)
			r.takeEvents()
			events = nil
			rested.Reset(rest)
		case <-rested.C:
			events = r.cfg.Events
		case res := <-r.results:
			r.analysed(res)
		case c := <-r.counts:
			r.counted(c)
		case <-drain:
			r.takeEvents()
			drain = nil
		case <-ctx.Done():
		}
	}
	r.flush()
}

func (r *Recorder) takeEvents() {
	for len(r.cfg.Events) > 0 {
		r.event(<-r.cfg.Events)
	}
}

// waiting: an analysis or a count is still to come.
func (r *Recorder) waiting() bool {
	for _, j := range r.pending {
		if !j.analysed || j.asking {
			return true
		}
	}
	return false
}

// flush takes what is there already and records what is pending as it is.
func (r *Recorder) flush() {
	r.takeEvents()
	for len(r.results) > 0 {
		r.analysed(<-r.results)
	}
	for len(r.counts) > 0 {
		r.counted(<-r.counts)
	}
	for e := r.order.Front(); e != nil; e = e.Next() {
		r.record(e.Value.(*job))
	}
}

// event isolates a panic: one event is lost, and counted.
func (r *Recorder) event(ev intercept.Event) {
	defer isolate(r.log, r.counters, "an event panicked; it is left out")
	switch ev.Kind {
	case intercept.SessionOpened:
		r.recordSession(ev.Session)
	case intercept.SessionClosed:
		r.abandon(ev.Session.Handle.ID())
		r.recordSession(ev.Session)
	case intercept.StatementStarted:
		r.started(ev)
	case intercept.StatementEnded:
		r.ended(ev)
	case intercept.StatementCounted:
		r.operatorsCounted(ev.Statement)
	case intercept.StatementVoid:
		if j := r.pending[ev.Statement.ID]; j != nil {
			r.remove(j)
		}
	}
}

func (r *Recorder) recordSession(s *intercept.Session) { r.cfg.Record(Record{Session: s}) }

func (r *Recorder) started(ev intercept.Event) {
	if oldest := r.order.Front(); len(r.pending) >= maxPending && oldest != nil {
		r.giveUp(oldest.Value.(*job))
	}
	j := r.add(ev)
	j.analysed = true
	if oneTable(&j.Statement) && r.cfg.Rows != nil && !r.silent.Load() {
		select {
		case r.questions <- question{server: j.Session.Server}:
		default:
		}
	}
	if r.cfg.Analyzer == nil || r.silent.Load() || !j.Statement.Info.Explainable || j.Statement.Truncated {
		return
	}
	key := cacheKey(&j.Statement)
	known, cause := r.cfg.Cache.lookup(key, &j.Statement)
	if known != nil {
		r.counters.Reused.Add(1)
		j.Analysis = known.analysis
		r.cfg.Samples.put(&j.Statement, &j.Session, known.settings)
		return
	}
	select {
	case r.tasks <- task{key: key, query: queryOf(&j.Session, &j.Statement, cause), session: j.Session, statement: j.Statement}:
		j.analysed = false
	default:
		r.counters.Skipped.Add(1)
	}
}

func (r *Recorder) add(ev intercept.Event) *job {
	j := &job{Observation: store.Observation{Session: *ev.Session, Statement: *ev.Statement}}
	j.Statement.Info = r.read(&j.Statement)
	j.place = r.order.PushBack(j)
	r.pending[j.Statement.ID] = j
	return j
}

// read takes the text apart, once per statement: the relay does not, for every call would wait for it. After a panic what
// the relay saw of the text stands.
func (r *Recorder) read(st *intercept.Statement) (info hiveql.Info) {
	info = st.Info
	defer isolate(r.log, r.counters, "a text could not be read; its statement is recorded as it is")
	return hiveql.Parse(st.SQL)
}

func (r *Recorder) remove(j *job) {
	r.order.Remove(j.place)
	delete(r.pending, j.Statement.ID)
}

func (r *Recorder) ended(ev intercept.Event) {
	j := r.pending[ev.Statement.ID]
	if j == nil { // its start was dropped: nothing to explain any more
		j = r.add(ev)
		j.analysed = true
	}
	info := j.Statement.Info
	j.Session, j.Statement, j.ended = *ev.Session, *ev.Statement, true
	j.Statement.Info = info
	if operation, ok := askRows(&j.Statement); ok && r.cfg.Rows != nil && !r.silent.Load() {
		select {
		case r.questions <- question{id: j.Statement.ID, server: j.Session.Server, operation: operation}:
			j.asking = true
		default: // recorded as uncounted
		}
	}
	r.settle(j)
}

func (r *Recorder) analysed(res result) {
	if j := r.pending[res.id]; j != nil {
		j.Analysis, j.analysed = res.analysis, true
		r.settle(j)
	}
}

func (r *Recorder) counted(c count) {
	if j := r.pending[c.id]; j != nil {
		j.Statement.ModifiedRows, j.asking = c.rows, false
		r.settle(j)
	}
}

// abandon gives up what a closed session left running: the end of those was dropped, since a session ends behind its
// statements.
func (r *Recorder) abandon(session string) {
	for e := r.order.Front(); e != nil; {
		j := e.Value.(*job)
		e = e.Next()
		if j.Statement.SessionID == session && !j.ended {
			r.giveUp(j)
		}
	}
}

// giveUp records a statement as it is, for the last time.
func (r *Recorder) giveUp(j *job) {
	r.remove(j)
	r.hand(&j.Observation)
	r.ran(j)
}

// settle records a statement whose analysis is known: as running while it runs, and for good when it has ended.
func (r *Recorder) settle(j *job) {
	switch {
	case !j.analysed, j.asking:
	case j.ended:
		r.giveUp(j)
	case j.Analysis != nil:
		r.record(j)
	}
}

// record records a statement as it is now.
func (r *Recorder) record(j *job) {
	o := j.Observation
	r.hand(&o)
}

// hand gives an observation away.
func (r *Recorder) hand(o *store.Observation) {
	switch o.Statement.State {
	case intercept.StateFinished:
		o.Writes, o.Analyzed = r.suspected(writesOf(&o.Statement)), analyzedOf(&o.Statement)
		o.Contradictions, o.DroppedDatabase = r.contradicted(o), o.Statement.Info.DroppedDatabase
	case intercept.StateError:
		o.Writes = r.suspected(writesLeft(&o.Statement))
		if o.Analysis != nil {
			o.Findings = r.overflow(o)
			o.Contradictions = r.contradicted(o)
		}
	default:
	}
	r.cfg.Record(Record{Observation: o})
}

// suspected marks the writes whose rows nobody knows.
func (r *Recorder) suspected(writes []store.TableWrite) []store.TableWrite {
	for i := range writes {
		writes[i].Suspect = writes[i].Rows == nil && r.cfg.Judged != nil && r.cfg.Judged(writes[i].Table)
	}
	return writes
}

// overflow joins an error about memory with the plan. The error's text is whole here; what is stored has lost its literals.
func (r *Recorder) overflow(o *store.Observation) (found []advisor.Finding) {
	defer isolate(r.log, r.counters, "an error could not be joined with its plan; it is recorded as it is")
	return advisor.OverflowFindings(o.Statement.ErrorMessage, o.Analysis.Joins, o.Analysis.JoinSettings())
}

func (r *Recorder) contradicted(o *store.Observation) (found []store.TableContradiction) {
	defer isolate(r.log, r.counters, "a statement's rows could not be joined with its plan; it is recorded as it is")
	return contradictionsOf(o)
}

// queryOf is the EXPLAIN of a statement in its own session.
func queryOf(session *intercept.Session, st *intercept.Statement, cause store.Cause) Query {
	handle := client.Handle{GUID: session.Handle.GUID, Secret: session.Handle.Secret}
	return Query{
		SQL: st.SQL, Fingerprint: st.Info.Fingerprint, Fallback: st.Info.Query, Cause: cause,
		Target: Target{
			Server: session.Server, Session: &handle, Configuration: session.Configuration, Settings: st.Settings,
			Database: st.Database, ConfOverlay: st.ConfOverlay,
		},
	}
}
