package admin

import (
	"context"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/net/netutil"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
)

const (
	// maxConnections keeps the descriptors for the relay.
	maxConnections = 64
	maxHeader      = 16 << 10
	readTimeout    = 10 * time.Second
	// writeTimeout bounds an answer; a profile of n seconds has n more.
	writeTimeout = 30 * time.Second
	idleTimeout  = time.Minute
	// longestRetry bounds the pauses between attempts to listen.
	longestRetry = 30 * time.Second
)

// Server is the admin port. Start it once, Stop it once.
type Server struct {
	cfg  config.Admin
	log  zerolog.Logger
	http *http.Server

	cancel context.CancelFunc
	work   sync.WaitGroup
	mu     struct {
		sync.Mutex
		addr net.Addr
	}
}

// New makes a Server that does not listen yet. It refuses an address beyond this machine without a token.
func New(cfg config.Admin, source Source, metrics *Metrics, log zerolog.Logger) (*Server, error) {
	if cfg.Token == "" && !cfg.Loopback() {
		return nil, fmt.Errorf("admin port on %s: needs a token, or a loopback address", cfg.Listen)
	}
	log = log.With().Str("port", "admin").Logger()
	return &Server{cfg: cfg, log: log, http: &http.Server{
		Handler:           handler(cfg.Token, source, metrics, log),
		ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       stdlog.New(debugWriter{log}, "", 0),
	}}, nil
}

// handler is every path behind the guards. A page from elsewhere cannot make a browser post here.
func handler(token string, source Source, metrics *Metrics, log zerolog.Logger) http.Handler {
	h := newHealth(source, time.Now)
	s := &sessions{relay: source.Relay, end: source.Kill, redact: source.Redact, log: log}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", h.alive)
	mux.HandleFunc("GET /readyz", h.ready)
	mux.Handle("GET /metrics", metrics.handler())
	mux.HandleFunc("GET /sessions", s.list)
	mux.HandleFunc("POST /sessions/{id}/kill", s.kill)
	(&refreshes{do: source.Refreshes, log: log}).register(mux)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return guard(token, http.NewCrossOriginProtection().Handler(mux))
}

// Start listens. Where the address is taken it tries again until Stop: the port is no reason to stop relaying, and the process
// that hands over to this one still holds it.
func (s *Server) Start(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l, err := s.listen(ctx)
	if err != nil {
		s.log.Warn().Err(err).Msg("not listening yet; tried again, traffic is not affected")
	}
	s.work.Go(func() {
		for pause := time.Second; l == nil; pause = min(2*pause, longestRetry) {
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
			l, _ = s.listen(ctx)
		}
		s.log.Info().Stringer("listen", l.Addr()).Bool("token", s.cfg.Token != "").Msg("listening")
		_ = s.http.Serve(l) // ends with Stop: the listener has no other owner
	})
}

func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("admin.listen: %w", err)
	}
	s.mu.Lock()
	s.mu.addr = l.Addr()
	s.mu.Unlock()
	return netutil.LimitListener(l, maxConnections), nil
}

// Addr is where it listens, nil before it does.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.addr
}

// Stop waits for running requests until ctx ends, then breaks them.
func (s *Server) Stop(ctx context.Context) {
	s.cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
	s.work.Wait()
}

// debugWriter takes net/http's own lines: mostly clients that went away.
type debugWriter struct{ log zerolog.Logger }

func (w debugWriter) Write(p []byte) (int, error) {
	w.log.Debug().Bytes("line", p).Msg("request failed")
	return len(p), nil
}
