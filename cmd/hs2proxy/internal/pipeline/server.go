package pipeline

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// querier is a HiveServer2 session: Service, or a client.Session.
type querier interface {
	Query(ctx context.Context, sql string) (client.Result, error)
}

// Server is what a HiveServer2 says of itself: its version and the settings every session starts from. Both are read once
// and again after maxAge, since an operator may have restarted it with others.
type Server struct {
	hive   querier
	maxAge time.Duration
	now    func() time.Time

	// reading is held while the server is asked, so that it is asked once.
	reading chan struct{}
	mu      struct {
		sync.Mutex
		facts  ServerFacts
		loaded bool
		failed time.Time // when facts were to be read again and were not
	}
}

// ServerFacts are Hive's version ("4.0.1") and its settings by name, as SET -v prints them.
type ServerFacts struct {
	Version  string
	Settings map[string]string
	ReadAt   time.Time
}

// factsRetry keeps a server that does not answer from being asked by every query.
const factsRetry = time.Minute

// NewServer returns a Server that has asked nothing yet.
func NewServer(hive querier, maxAge time.Duration, now func() time.Time) *Server {
	return &Server{hive: hive, maxAge: maxAge, now: now, reading: make(chan struct{}, 1)}
}

// Facts returns what is known, asking the server when it is too old. When the server does not answer, what was known
// before is returned with a nil error; only a server that never answered is an error.
func (s *Server) Facts(ctx context.Context) (ServerFacts, error) {
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return ServerFacts{}, fmt.Errorf("read the server's settings: %w", ctx.Err())
	}
	s.mu.Lock()
	facts, loaded, failed := s.mu.facts, s.mu.loaded, s.mu.failed
	s.mu.Unlock()
	now := s.now()
	if loaded && (now.Sub(facts.ReadAt) < s.maxAge || now.Sub(failed) < factsRetry) {
		return facts, nil
	}
	fresh, err := s.read(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.mu.facts, s.mu.loaded = fresh, true
		return fresh, nil
	case loaded: // old settings serve better than none
		s.mu.failed = now
		return facts, nil
	}
	return ServerFacts{}, err
}

func (s *Server) read(ctx context.Context) (ServerFacts, error) {
	res, err := s.hive.Query(ctx, "SET -v")
	if err != nil {
		return ServerFacts{}, fmt.Errorf("read the server's settings: %w", err)
	}
	facts := ServerFacts{Settings: make(map[string]string, len(res.Rows)), ReadAt: s.now()}
	for _, row := range res.Rows {
		if len(row) == 0 || row[0] == nil {
			continue
		}
		key, value, ok := strings.Cut(*row[0], "=")
		if ok && !strings.HasPrefix(key, "env:") && !strings.HasPrefix(key, "system:") {
			facts.Settings[key] = value
		}
	}
	res, err = s.hive.Query(ctx, "SELECT version()")
	if _, refused := refusal(err); refused {
		return facts, nil // Hive before 2.1 has no such function
	}
	if err != nil {
		return ServerFacts{}, fmt.Errorf("read the server's version: %w", err)
	}
	if len(res.Rows) == 1 && len(res.Rows[0]) == 1 && res.Rows[0][0] != nil {
		// "4.0.1 r3af4517eb8cfd9407ad34ed78a0b48b57dfaa264"
		facts.Version, _, _ = strings.Cut(*res.Rows[0][0], " ")
	}
	return facts, nil
}

// overlaid returns the server's settings with a session's and a statement's own on top, later ones winning.
func overlaid(base map[string]string, over ...map[string]string) map[string]string {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]string{}
	}
	for _, m := range over {
		maps.Copy(out, m)
	}
	return out
}
