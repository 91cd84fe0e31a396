package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/hs2proxy/hs2proxy/store"
)

// announceQueue is every proxy's.
const announceQueue = "announce"

// announceArgs: look for what waits. The leader inserts the job, once for each stretch of announceEvery: one whose proxy died while it
// looked stands in the way of none.
type announceArgs struct{}

func (announceArgs) Kind() string { return "announce" }

func (announceArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: announceQueue, MaxAttempts: 1, UniqueOpts: river.UniqueOpts{ByPeriod: announceEvery}}
}

type announceWorker struct {
	river.WorkerDefaults[announceArgs]
	client *Client
}

func (w *announceWorker) Work(ctx context.Context, _ *river.Job[announceArgs]) error {
	return w.client.Announce(ctx)
}

const (
	// maxJobs bounds the jobs that are looked at in one go; River allows no more.
	maxJobs = 10_000
	// bringForward is how much later than it might a job may be due before it is brought forward.
	bringForward = 5 * time.Second
)

// attemptKey names an attempt in an upstream's queue.
type attemptKey struct {
	queue   string
	refresh int64
	attempt int
}

// Announce sees to it that each attempt that no proxy is making has a job, over all upstreams, and that jobs waiting in this proxy look
// again. Any number of proxies may do it at once and as often as they like: River keeps jobs of the same attempt unique.
func (c *Client) Announce(ctx context.Context) error {
	defer c.beat()
	waiting, err := c.cfg.Waiting(ctx)
	if err != nil || len(waiting) == 0 {
		return err
	}
	there, err := c.alive(ctx)
	if err != nil {
		return err
	}
	var missing []river.InsertManyParams
	for _, w := range waiting {
		key := attemptKey{refreshQueue(w.Upstream), w.ID, w.Attempt}
		job, instead := c.usable(there[key])
		if job == nil {
			missing = append(missing, announcement(w, instead))
			continue
		}
		if job.State == rivertype.JobStateScheduled && job.ScheduledAt.After(due(w).Add(bringForward)) { // a person asked meanwhile
			if _, err := c.river.JobRetry(ctx, job.ID); err != nil {
				return fmt.Errorf("bring job %d forward: %w", job.ID, err)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := c.river.InsertMany(ctx, missing); err != nil {
		return fmt.Errorf("announce %d attempts: %w", len(missing), err)
	}
	return nil
}

// usable is the job that will make the attempt; nil when there is none, or only such as have been running for so long that their proxies
// may be gone: instead is then the last of them.
func (c *Client) usable(jobs []*rivertype.JobRow) (job *rivertype.JobRow, instead int64) {
	for _, j := range jobs {
		if j.State != rivertype.JobStateRunning || j.AttemptedAt == nil || time.Since(*j.AttemptedAt) < c.cfg.Stranded {
			return j, 0
		}
		instead = max(instead, j.ID)
	}
	return nil, instead
}

func due(w store.WaitingRefresh) time.Time {
	if now := time.Now(); w.NotBefore.Before(now) {
		return now
	}
	return w.NotBefore
}

func announcement(w store.WaitingRefresh, instead int64) river.InsertManyParams {
	at := w.NotBefore
	if !at.After(time.Now()) {
		at = time.Time{} // else the job would wait for the leader to look
	}
	return river.InsertManyParams{
		Args: refreshArgs{Refresh: w.ID, Attempt: w.Attempt, Instead: instead},
		InsertOpts: &river.InsertOpts{
			Queue: refreshQueue(w.Upstream), ScheduledAt: at,
			UniqueOpts: river.UniqueOpts{ByArgs: true, ByQueue: true, ByState: aliveStates()},
		},
	}
}

// alive are the jobs that will still do something, by attempt.
func (c *Client) alive(ctx context.Context) (map[attemptKey][]*rivertype.JobRow, error) {
	list, err := c.river.JobList(ctx, river.NewJobListParams().Kinds(refreshArgs{}.Kind()).States(aliveStates()...).First(maxJobs))
	if err != nil {
		return nil, fmt.Errorf("list the jobs: %w", err)
	}
	out := make(map[attemptKey][]*rivertype.JobRow, len(list.Jobs))
	for _, job := range list.Jobs {
		var args refreshArgs
		if err := json.Unmarshal(job.EncodedArgs, &args); err != nil {
			return nil, fmt.Errorf("read job %d: %w", job.ID, err)
		}
		key := attemptKey{job.Queue, args.Refresh, args.Attempt}
		out[key] = append(out[key], job)
	}
	return out, nil
}
