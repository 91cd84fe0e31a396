package statscheck

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/rs/zerolog"
)

// ParseCron reads a cron line in a time zone, both as in Schedule. The error names the field that is wrong.
func ParseCron(line, zone string) (cron.Schedule, error) {
	location, err := loadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf(`time_zone: %q is no time zone (%w); give an IANA name such as "Europe/Berlin", or leave it out for UTC`, zone, err)
	}
	timing, err := Schedule{Cron: line, TimeZone: zone}.timing(location)
	if err != nil {
		return nil, fmt.Errorf(`cron: %q: %w; give five fields such as "30 2 * * *", or "@daily" or "@every 1h"`, line, err)
	}
	return timing, nil
}

// NewCron fires schedules in UTC. A job that still runs is not begun again, and one that panics is logged.
func NewCron(log zerolog.Logger) *cron.Cron {
	logger := cronLogger{log}
	// Skip must be outermost: it gives its token back only when the job returns, and Recover makes sure that it does.
	return cron.New(cron.WithLocation(time.UTC), cron.WithLogger(logger),
		cron.WithChain(cron.SkipIfStillRunning(logger), cron.Recover(logger)))
}

// cronLogger is zerolog behind the library's interface.
type cronLogger struct{ log zerolog.Logger }

func (l cronLogger) Info(event string, fields ...any) {
	l.log.Debug().Str("event", event).Fields(fields).Msg("schedules")
}

func (l cronLogger) Error(err error, event string, fields ...any) {
	l.log.Error().Err(err).Str("event", event).Fields(fields).Msg("schedules")
}
