package load

import (
	"context"
	"fmt"
	"sync"
)

// Idle are connections that have a session each and rest.
type Idle struct{ clients []*client }

// openers is how many connections are opened at a time.
const openers = 8

// OpenIdle opens n connections that live as long as ctx at most. Close closes them.
func OpenIdle(ctx context.Context, addr string, n int) (*Idle, error) {
	idle := &Idle{clients: make([]*client, n)}
	err := inParallel(n, func(i int) error {
		c, err := dial(ctx, addr, nil)
		if err != nil {
			return err
		}
		idle.clients[i] = c
		return c.open()
	})
	if err != nil {
		idle.Close()
		return nil, fmt.Errorf("idle: %w", err)
	}
	return idle, nil
}

// Touch has every connection make one call.
func (idle *Idle) Touch() error {
	return inParallel(len(idle.clients), func(i int) error { return idle.clients[i].ping() })
}

// Close closes them all.
func (idle *Idle) Close() {
	for _, c := range idle.clients {
		if c != nil {
			c.close()
		}
	}
}

// inParallel calls f for 0 to n-1 and returns an error of one of them.
func inParallel(n int, f func(i int) error) error {
	errs := make([]error, openers)
	var work sync.WaitGroup
	for k := range openers {
		work.Go(func() {
			for i := k; i < n && errs[k] == nil; i += openers {
				errs[k] = f(i)
			}
		})
	}
	work.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
