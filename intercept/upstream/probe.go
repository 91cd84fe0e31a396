package upstream

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// probes checks the servers that are down, one round a period, until ctx ends. While all are healthy it sleeps.
func (s *Set) probes(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for down := s.down(); len(down) > 0; down = s.down() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(s.opts.Probe):
			}
			s.probe(ctx)
		}
	}
}

// down are the listed servers whose last dial failed.
func (s *Set) down() []*Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	var down []*Server
	for _, m := range s.mu.known {
		if m.Listed() && !m.Healthy() {
			down = append(down, m.Server)
		}
	}
	return down
}

// probe checks every server that is down, all at once: their binary port, or else the HTTP port.
func (s *Set) probe(ctx context.Context) {
	var round sync.WaitGroup
	for _, v := range s.down() {
		round.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, s.opts.ProbeTimeout)
			defer cancel()
			conn, err := s.opts.Dial(ctx, "tcp", cmp.Or(v.Binary, v.HTTP))
			if err == nil {
				_ = conn.Close()
			} else {
				err = fmt.Errorf("connect to HiveServer2: %w", err)
			}
			s.Dialed(v, s.opts.Now(), err)
		})
	}
	round.Wait()
}
