package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// Service is one session of our own, opened when first needed and again after a failure: it reads settings and table
// statistics. Calls wait for one another, so that it costs HiveServer2 one worker thread.
type Service struct {
	login Login
	// Guard runs what connects to HiveServer2, or says that it must not be tried now; nil runs it. Set it before the first use.
	Guard func(connect func() error) error
	conf  map[string]string

	// turn holds the session while nobody uses it; nil means none is open.
	turn chan *client.Session
	idle idleTimer
	once sync.Once
}

// NewService returns a Service that opens nothing yet. conf is SET when the session opens.
func NewService(login Login, conf map[string]string) *Service {
	s := &Service{login: login, conf: conf, turn: make(chan *client.Session, 1)}
	s.turn <- nil
	s.idle.limit, s.idle.over = idleLimit, s.rest
	return s
}

var errServiceClosed = errors.New("service session: closed")

// Query runs one statement. A *client.Error is Hive's refusal; after any other error the next call opens a new session.
func (s *Service) Query(ctx context.Context, sql string) (client.Result, error) {
	var session *client.Session
	select {
	case got, ok := <-s.turn:
		if !ok {
			return client.Result{}, errServiceClosed
		}
		session = got
	case <-ctx.Done():
		return client.Result{}, fmt.Errorf("service session: %w", ctx.Err())
	}
	s.idle.stop()
	defer func() {
		s.turn <- session
		s.idle.start()
	}()

	for {
		fresh := session == nil
		if fresh {
			if err := s.guarded(func() (err error) {
				session, err = s.open(ctx)
				return err
			}); err != nil {
				return client.Result{}, err
			}
		}
		res, err := session.Query(ctx, sql)
		var refused *client.Error
		if err == nil || (errors.As(err, &refused) && !sessionGone(err)) {
			return res, err
		}
		_ = session.Close()
		session = nil
		if fresh || ctx.Err() != nil {
			return res, err
		}
	}
}

func (s *Service) guarded(connect func() error) error {
	if s.Guard == nil {
		return connect()
	}
	return s.Guard(connect)
}

func (s *Service) open(ctx context.Context) (*client.Session, error) {
	cfg, err := s.login("")
	if err != nil {
		return nil, err
	}
	return client.Open(ctx, cfg, s.conf)
}

// rest closes a session that nobody has used for a while: it holds one of HiveServer2's worker threads.
func (s *Service) rest() {
	select {
	case session, ok := <-s.turn:
		if !ok {
			return
		}
		if session != nil {
			_ = session.Close()
		}
		s.turn <- nil
	default: // in use
	}
}

// Close waits for a running call and closes the session.
func (s *Service) Close() {
	s.once.Do(func() {
		s.idle.stop()
		if session := <-s.turn; session != nil {
			_ = session.Close()
		}
		close(s.turn)
	})
}
