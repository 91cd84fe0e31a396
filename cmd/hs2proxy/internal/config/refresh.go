package config

import (
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

// Refresh is whether, when and how ANALYZE runs. Off unless enabled.
type Refresh struct {
	Enabled bool `koanf:"enabled"`
	// Timeout ends an ANALYZE, in Hive too.
	Timeout time.Duration `koanf:"timeout"`
	// Concurrency is how many refreshes run at a time on the servers of the upstream, over all proxies.
	Concurrency int `koanf:"concurrency"`
	// Queue is tez.queue.name for the sessions that run ANALYZE; empty leaves it as it is.
	Queue string `koanf:"queue"`
	// Settings are SETs for these sessions, over those of service.settings.
	Settings map[string]string `koanf:"settings"`
	// LockWait is how long a writer's lock on the table is waited for before the refresh is put back; 0: locks are not looked at.
	LockWait time.Duration `koanf:"lock_wait"`
	// Policy bounds what the schedules may do: cooldown, max_failures and tables.
	statscheck.Policy `koanf:",squash"`
	Schedules         []statscheck.Schedule `koanf:"schedules"`
}

func defaultRefresh() Refresh {
	return Refresh{Timeout: 30 * time.Minute, Concurrency: 1, LockWait: 2 * time.Minute, Policy: statscheck.DefaultPolicy()}
}

// maxRefreshes bounds Refresh.Concurrency: each is a session with containers of its own.
const maxRefreshes = 16

func (v *validator) refresh(r Refresh) {
	v.positive("statistics.refresh.timeout", r.Timeout)
	v.check(r.Concurrency >= 1 && r.Concurrency <= maxRefreshes, "statistics.refresh.concurrency", r.Concurrency, "between 1 and 16")
	v.check(r.LockWait >= 0, "statistics.refresh.lock_wait", r.LockWait, "a duration such as \"2m\", or 0 to not look at locks")
	for name := range r.Settings {
		v.check(strings.TrimSpace(name) != "" && !strings.ContainsAny(name, " \t\r\n=;"), "statistics.refresh.settings", name, "names of Hive's settings")
	}
	v.below("statistics.refresh.", r.Validate())
	v.below("statistics.refresh.", statscheck.ValidateSchedules(r.Schedules))
}
