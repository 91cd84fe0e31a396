package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

const (
	// sysRetry is how long sys is left alone after Hive has refused it, or it was too large or slow; sysPause, after a lost connection.
	sysRetry, sysPause = time.Hour, time.Minute
	// sysTimeout bounds a reading, and the look whether sys can be read.
	sysTimeout = time.Minute
	// sysBelief is how long facts wait for the check of their table.
	sysBelief = time.Minute
	// sysMinSaved is how many statements there must be to save: a reading takes nine at most.
	sysMinSaved = 10
)

// SysConf are the settings of the session that reads sys: every statement there is answered by HiveServer2 itself, whatever its size.
func SysConf() map[string]string {
	return map[string]string{"hive.fetch.task.conversion": "more", "hive.fetch.task.conversion.threshold": "-1"}
}

// SysViews looks up, for many tables at once in Hive's sys database, whether anything has changed. It finds out by itself whether the
// service user may read sys, and again after a while. It is safe for concurrent use; nil looks nothing up.
type SysViews struct {
	hive statscheck.Hive
	log  zerolog.Logger
	now  func() time.Time

	mu struct {
		sync.Mutex
		readable, told bool
		// restUntil is when an unreadable sys is tried again.
		restUntil time.Time
		// facts wait for the checks of their tables; readAt is when they were asked for.
		facts  map[string]statscheck.SysTable
		readAt time.Time
		// cost is what the last reading took, each what a DESCRIBE took on average lately; 0: not known.
		cost, each time.Duration
	}
}

// NewSysViews returns a SysViews that has asked nothing yet. The session is to have SysConf.
func NewSysViews(hive statscheck.Hive, log zerolog.Logger, now func() time.Time) *SysViews {
	return &SysViews{hive: hive, log: log, now: now}
}

// UseSys has rounds of checks look into sys first. It is called before Start.
func (w *Watch) UseSys(s *SysViews) { w.sys = s }

// ahead reads the facts of a table that is about to be checked, together with those of all that are due, where that pays.
func (w *Watch) ahead(ctx context.Context, table string) {
	if w.sys == nil || w.sys.has(table) {
		return
	}
	names, statements := []hiveql.TableName{}, 0
	for _, t := range append([]string{table}, w.dueNow()...) {
		if name, err := hiveql.ParseTableName(t); err == nil && name.Database != "" && len(names) < statscheck.MaxSysTables {
			names = append(names, name)
			statements += w.tables.describes(t)
		}
	}
	if w.sys.pays(statements) && w.sys.look(ctx) {
		w.sys.read(ctx, names)
	}
}

// dueNow are the tables whose checks come next.
func (w *Watch) dueNow() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for t, at := range w.mu.due {
		if !at.After(w.now()) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// read is Tables.Read, without a DESCRIBE where sys has just said that nothing changed since the last one. The facts are those of sys,
// if there are any.
func (w *Watch) read(ctx context.Context, table string, columns []string) (advisor.TableStats, statscheck.SysTable, error) {
	facts, ok := w.sys.take(table)
	if ok {
		if stats, same := w.tables.unchanged(table, facts, columns); same {
			return stats, facts, nil
		}
	}
	started := w.now()
	stats, err := w.tables.Read(ctx, table, columns)
	if err == nil {
		w.sys.described(w.now().Sub(started), 1+len(stats.ColumnsRead))
		if ok {
			w.tables.describedAfter(table, facts)
		}
	}
	return stats, facts, err
}

func (s *SysViews) has(table string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.mu.facts[table]
	return ok && s.now().Sub(s.mu.readAt) < sysBelief
}

// take hands out what was read of a table, once.
func (s *SysViews) take(table string) (statscheck.SysTable, bool) {
	if s == nil || !s.has(table) {
		return statscheck.SysTable{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	facts, ok := s.mu.facts[table]
	delete(s.mu.facts, table)
	return facts, ok
}

// forget drops what was read of a table that was written since.
func (s *SysViews) forget(table string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.facts, table)
}

// described notes how long DESCRIBEs took.
func (s *SysViews) described(took time.Duration, statements int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	each := took / time.Duration(statements)
	if s.mu.each > 0 {
		each = (7*s.mu.each + each) / 8
	}
	s.mu.each = each
}

// pays reports that so many DESCRIBEs take longer than a reading of sys, as far as that is known.
func (s *SysViews) pays(statements int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Before(s.mu.restUntil) || statements < sysMinSaved {
		return false
	}
	return s.mu.cost == 0 || s.mu.each == 0 || s.mu.cost <= s.mu.each*time.Duration(statements)
}

// look finds out whether sys can be read, and remembers it.
func (s *SysViews) look(ctx context.Context) bool {
	s.mu.Lock()
	readable := s.mu.readable
	s.mu.Unlock()
	if readable {
		return true
	}
	looking, cancel := context.WithTimeout(ctx, sysTimeout)
	defer cancel()
	size, err := statscheck.SysReadable(looking, s.hive)
	if err != nil {
		s.leave(ctx, err)
		return false
	}
	s.log.Info().Int64("tables", size.Tables).Int64("partitions", size.Partitions).
		Msg("Hive's sys database is read: only tables that it shows as changed are described")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.readable, s.mu.told = true, true
	return true
}

// leave has tables described one by one for a while. It is said once; that Hive has no sys database is no failure.
func (s *SysViews) leave(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // the watch ends
	}
	rest := sysRetry
	if _, refused := refusal(err); !refused && !errors.Is(err, statscheck.ErrSysLarge) && !errors.Is(err, statscheck.ErrSysJob) &&
		!errors.Is(err, context.DeadlineExceeded) {
		rest = sysPause
	}
	s.mu.Lock()
	told := s.mu.told
	s.mu.readable, s.mu.told, s.mu.facts, s.mu.cost = false, true, nil, 0
	s.mu.restUntil = s.now().Add(rest)
	s.mu.Unlock()
	event := s.log.Info()
	if told {
		event = s.log.Debug()
	}
	event.Err(err).Msg("Hive's sys database is not read: each table is described by itself")
}

// read asks for the tables' facts. The first reading's time counts for nothing: HiveServer2 loads classes then.
func (s *SysViews) read(ctx context.Context, tables []hiveql.TableName) {
	reading, cancel := context.WithTimeout(ctx, sysTimeout)
	defer cancel()
	started := s.now()
	facts, err := statscheck.ReadSys(reading, s.hive, tables)
	if err != nil {
		s.leave(ctx, err)
		return
	}
	took := s.now().Sub(started)
	s.mu.Lock()
	if s.mu.facts != nil {
		s.mu.cost = took
	}
	s.mu.facts, s.mu.readAt = facts, started
	s.mu.Unlock()
	s.log.Debug().Int("asked", len(tables)).Int("covered", len(facts)).Dur("took", took).Msg("statistics looked up in sys")
}

// describes is how many statements a check of a table takes at most, listings left out.
func (t *Tables) describes(table string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	got, ok := t.mu.known.Peek(subject{table: table})
	if !ok {
		return 1
	}
	n := 1 + len(got.wanted)
	if len(got.stats.PartitionColumns) > 0 {
		n += maxPartitionsChecked
	}
	return n
}

// unchanged are the statistics of the last reading, as of the time of the facts, when these are what sys said before that reading.
func (t *Tables) unchanged(table string, facts statscheck.SysTable, columns []string) (advisor.TableStats, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	got, ok := t.mu.known.Get(subject{table: table})
	if !ok || !got.read || got.sys == nil || !got.sys.Same(facts) {
		return advisor.TableStats{}, false
	}
	for _, c := range added(got.wanted, columns) {
		if !slices.Contains(got.asked, c) {
			return advisor.TableStats{}, false
		}
	}
	if facts.Stats.ReadAt.After(got.stats.ReadAt) {
		got.stats.ReadAt = facts.Stats.ReadAt
	}
	got.fresh = true
	return got.stats, true
}

// describedAfter keeps what sys said of a table just before it was described.
func (t *Tables) describedAfter(table string, facts statscheck.SysTable) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if got, ok := t.mu.known.Get(subject{table: table}); ok && facts.Stats.ReadAt.Before(got.stats.ReadAt) {
		got.sys = &statscheck.SysTable{Digest: facts.Digest, DDLAt: facts.DDLAt}
	}
}
