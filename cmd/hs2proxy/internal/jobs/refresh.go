package jobs

import (
	"context"
	"strconv"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// refreshArgs name an attempt at a refresh, so that it is announced once; which refresh the job comes to run, the claim decides.
type refreshArgs struct {
	Refresh int64 `json:"refresh"`
	Attempt int   `json:"attempt"`
	// Instead is the job that this one stands in for, since its proxy is gone or busy with another refresh; 0: none.
	Instead int64 `json:"instead,omitempty"`
}

func (refreshArgs) Kind() string { return "refresh" }

// aliveStates are those of a job that will still do something. One that has ended does not count: an attempt that is left over, whatever
// became of its job, is announced again.
func aliveStates() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}
}

// refreshQueue is an upstream's queue. Names of upstreams have characters that River does not take.
func refreshQueue(upstream int64) string { return "refresh_" + strconv.FormatInt(upstream, 10) }

const (
	// patience is how long a job waits in its proxy's slot for a refresh to end that keeps others back. The slot would have no use
	// meanwhile, and a queue full of jobs that are put off one after the other is left alone.
	patience = time.Minute
	// breather is how long a job is put off whose patience is over.
	breather = time.Second
)

type refreshWorker struct {
	river.WorkerDefaults[refreshArgs]
	client *Client
}

func (w *refreshWorker) Timeout(*river.Job[refreshArgs]) time.Duration {
	return w.client.cfg.AttemptTimeout
}

// Work makes an attempt at the refresh that is next in turn. Where none may run now the job is put off until one may; where none waits
// it ends. An error is one of Postgres, and River tries again.
func (w *refreshWorker) Work(ctx context.Context, _ *river.Job[refreshArgs]) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		pulse := w.client.pulse()
		wait, err := w.client.cfg.Attempt(ctx)
		switch {
		case err != nil:
			return err
		case wait <= 0:
			return nil
		case wait > patience:
			return river.JobSnooze(wait)
		}
		again := time.NewTimer(wait)
		select {
		case <-pulse:
		case <-again.C:
		case <-limit.C:
			again.Stop()
			return river.JobSnooze(breather)
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		}
		again.Stop()
	}
}
