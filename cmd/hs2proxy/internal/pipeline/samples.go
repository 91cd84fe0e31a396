package pipeline

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/hs2proxy/hs2proxy/intercept"
)

// Sample is one execution of a query as it was sent, with its session: what a refresh explains again. It lives in memory
// only, since literals may be private; Postgres has them only where keep_literals is set.
type Sample struct {
	SQL           string
	Fallback      string
	Configuration map[string]string
	Settings      map[string]string
	ConfOverlay   map[string]string
	Database      string
}

// Samples keeps the last execution of each query. It is safe for concurrent use.
type Samples struct {
	byQuery *lru.Cache[sampleKey, Sample]
}

// sampleKey names a query under its settings, which are a settingsKey.
type sampleKey struct{ fingerprint, database, settings string }

// NewSamples keeps size queries.
func NewSamples(size int) (*Samples, error) {
	c, err := lru.New[sampleKey, Sample](size)
	return &Samples{byQuery: c}, err
}

// Put remembers an execution under the settings its analysis was recorded with.
func (s *Samples) Put(st *intercept.Statement, session *intercept.Session, settings map[string]string) {
	s.put(st, session, settingsKey(settings))
}

// put is Put with the settingsKey of the settings.
func (s *Samples) put(st *intercept.Statement, session *intercept.Session, settings string) {
	s.byQuery.Add(sampleKey{st.Info.Fingerprint, st.Database, settings}, Sample{
		SQL: st.SQL, Fallback: st.Info.Query, Configuration: session.Configuration,
		Settings: st.Settings, ConfOverlay: st.ConfOverlay, Database: st.Database,
	})
}

// Get finds the execution of a query under recorded settings.
func (s *Samples) Get(fingerprint, database string, settings map[string]string) (Sample, bool) {
	return s.byQuery.Get(sampleKey{fingerprint, database, settingsKey(settings)})
}

// Of lists what is kept of a query, each under its own database and settings, the execution used longest ago first.
func (s *Samples) Of(fingerprint string) (list []Sample) {
	for _, key := range s.byQuery.Keys() {
		if key.fingerprint != fingerprint {
			continue
		}
		if sample, ok := s.byQuery.Peek(key); ok {
			list = append(list, sample)
		}
	}
	return list
}
