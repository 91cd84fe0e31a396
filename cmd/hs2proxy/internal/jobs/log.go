package jobs

import (
	"log/slog"
	"time"

	"github.com/riverqueue/river/rivertype"
	"github.com/rs/zerolog"
)

// logger is River's: the same log. While Postgres is away each of its parts complains each time it looks, so a few lines a minute do.
func logger(log zerolog.Logger) *slog.Logger {
	few := func() zerolog.Sampler { return &zerolog.BurstSampler{Burst: 5, Period: time.Minute} }
	sampled := log.With().Str("component", "river").Logger().Sample(&zerolog.LevelSampler{InfoSampler: few(), WarnSampler: few(), ErrorSampler: few()})
	return slog.New(zerolog.NewSlogHandler(sampled))
}

// backOff is River's retry policy: 1 s, 2 s, 4 s … up to a minute.
type backOff struct{}

// NextRetry is when a job is tried again.
func (backOff) NextRetry(job *rivertype.JobRow) time.Time {
	pause := maxBackOff
	if n := len(job.Errors); n < 6 {
		pause = min(time.Second<<n, maxBackOff)
	}
	return time.Now().Add(pause)
}
