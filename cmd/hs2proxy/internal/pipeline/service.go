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
	conf  map[string]string

	// turn holds the session while nobody uses it; nil means none is open.
	turn chan *client.Session
	once sync.Once
}

// NewService returns a Service that opens nothing yet. conf is SET when the session opens.
func NewService(login Login, conf map[string]string) *Service {
	s := &Service{login: login, conf: conf, turn: make(chan *client.Session, 1)}
	s.turn <- nil
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
	defer func() { s.turn <- session }()

	for {
		fresh := session == nil
		if fresh {
			cfg, err := s.login("")
			if err != nil {
				return client.Result{}, err
			}
			opened, err := client.Open(ctx, cfg, s.conf)
			if err != nil {
				return client.Result{}, err
			}
			session = opened
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

// Close waits for a running call and closes the session.
func (s *Service) Close() {
	s.once.Do(func() {
		if session := <-s.turn; session != nil {
			_ = session.Close()
		}
		close(s.turn)
	})
}
