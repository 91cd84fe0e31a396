package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	listenRefresh = `LISTEN hs2proxy_refresh`
	// listenProbe is how long the connection may be silent before it is asked whether it still lives.
	listenProbe    = time.Minute
	listenPauseMin = 250 * time.Millisecond
	listenPauseMax = 30 * time.Second
)

// ListenRefresh calls wake whenever a refresh is asked for, by whichever proxy or person, and after every (re)connect,
// since what was asked for in between is not told. It has a connection of its own, connects again for as long as ctx
// lives, and returns nil when ctx has ended. wake must not block.
func (s *Store) ListenRefresh(ctx context.Context, wake func()) error {
	pause := listenPauseMin
	for {
		err := s.listen(ctx, func() {
			pause = listenPauseMin
			wake()
		})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of the context is the intended end
		}
		s.o.Logger.Warn().Err(err).Dur("pause", pause).Msg("listening for refresh requests ended; connecting again")
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		pause = min(2*pause, listenPauseMax)
	}
}

// listen returns only with an error.
func (s *Store) listen(ctx context.Context, wake func()) (err error) {
	connectCtx, cancel := context.WithTimeout(ctx, 2*s.o.ConnectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(connectCtx, s.pool.Config().ConnConfig.Copy())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() {
		closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, conn.Close(closeCtx))
	}()
	if _, err := conn.Exec(connectCtx, listenRefresh); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	wake()
	for {
		if err := waitOrProbe(ctx, conn, s.o.ConnectTimeout); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wake()
	}
}

// announceProbe is how long a notice of our own may take to arrive.
const announceProbe = 2 * time.Second

const (
	listenProbing = `LISTEN hs2proxy_probe`
	notifyProbing = `SELECT pg_notify('hs2proxy_probe', '')`
)

// Announces reports whether notices arrive: a pooler that gives each transaction another connection (pgbouncer's pool_mode=transaction)
// takes LISTEN and passes nothing on. ListenRefresh then tells of nothing but its connects.
func (s *Store) Announces(ctx context.Context) (told bool, err error) {
	err = s.do(ctx, "see whether notices arrive", func(ctx context.Context) (err error) {
		conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig.Copy())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conn.Close(ctx)) }()
		if _, err := conn.Exec(ctx, listenProbing); err != nil {
			return nil // refused: that is the answer
		}
		if _, err := s.pool.Exec(ctx, notifyProbing); err != nil {
			return err
		}
		wait, cancel := context.WithTimeout(ctx, announceProbe)
		defer cancel()
		_, err = conn.WaitForNotification(wait)
		told = err == nil
		if wait.Err() != nil && ctx.Err() == nil {
			return nil
		}
		return err
	})
	return told, err
}

// waitOrProbe returns nil when a notification came; a silent connection is probed meanwhile.
func waitOrProbe(ctx context.Context, conn *pgx.Conn, timeout time.Duration) error {
	for {
		waitCtx, cancel := context.WithTimeout(ctx, listenProbe)
		_, err := conn.WaitForNotification(waitCtx)
		silent := waitCtx.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !silent {
			return err
		}
		probeCtx, cancel := context.WithTimeout(ctx, timeout)
		err = conn.Ping(probeCtx)
		cancel()
		if err != nil {
			return fmt.Errorf("probe: %w", err)
		}
	}
}
