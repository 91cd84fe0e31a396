package jobs

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

// fireArgs name a firing: of the proxies that fire a schedule for one time one does it. The definition goes with it, since another
// proxy may be reloading its own.
type fireArgs struct {
	Upstream   int64               `json:"upstream" river:"unique"`
	Schedule   string              `json:"schedule" river:"unique"`
	Slot       time.Time           `json:"slot" river:"unique"`
	At         time.Time           `json:"at"`
	Definition statscheck.Schedule `json:"definition"`
}

func (fireArgs) Kind() string { return "fire_schedule" }

// maxFireAttempts is how often a firing is tried: its time is over soon.
const maxFireAttempts = 5

func (a fireArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{
		Queue: fireQueue(a.Upstream), MaxAttempts: maxFireAttempts,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: rivertype.JobStates()}, // whatever became of it, nobody does it again
	}
}

func fireQueue(upstream int64) string { return "fire_" + strconv.FormatInt(upstream, 10) }

// Fired hands a firing of this proxy's schedules to whichever proxy does it. It is a statscheck.Firings.
func (c *Client) Fired(ctx context.Context, f statscheck.Fired) error {
	args := fireArgs{Upstream: c.cfg.Upstream, Schedule: f.Schedule.Name, Slot: f.Slot, At: f.At, Definition: f.Schedule}
	if _, err := c.river.Insert(ctx, args, nil); err != nil {
		return fmt.Errorf("hand a firing of %s to the job queue: %w", f.Schedule.Name, err)
	}
	return nil
}

type fireWorker struct {
	river.WorkerDefaults[fireArgs]
	client *Client
}

func (w *fireWorker) Work(ctx context.Context, job *river.Job[fireArgs]) error {
	f := statscheck.Fired{Schedule: job.Args.Definition, At: job.Args.At, Slot: job.Args.Slot}
	if f.Late(time.Now()) { // all proxies of the upstream were away
		w.client.cfg.Log.Warn().Str("schedule", f.Schedule.Name).Time("at", f.At).Msg("a firing of a schedule came too late and is left out")
		return nil
	}
	return w.client.cfg.Fire(ctx, f)
}
