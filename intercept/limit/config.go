package limit

import (
	"fmt"
	"time"
)

// Config is what may be limited. The zero Config limits nothing.
type Config struct {
	// Max is the most connections at one time; 0: no limit.
	Max int
	// MaxPerAddress is the most connections of one client address at one time, for IPv6 of one /64 network; 0: no limit.
	MaxPerAddress int
	// MaxPerUser is the most connections of one user at one time; 0: no limit.
	MaxPerUser int
	// FailedLogins makes an address wait after refused logins.
	FailedLogins FailedLogins
	// Now is the clock; nil: time.Now, and for [Limiter.Set] the clock it has.
	Now func() time.Time
}

// FailedLogins is how often HiveServer2 may refuse an address.
type FailedLogins struct {
	// Limit is the number of refused logins within Window that closes the door; 0: none does.
	Limit int
	// Window begins with the first refused login and starts again with the first one after its end.
	Window time.Duration
	// Pause is how long the address is turned away.
	Pause time.Duration
}

// Validate names the first field that cannot be meant, by its name in the configuration file.
func (c Config) Validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"clients.max_connections", c.Max},
		{"clients.max_connections_per_address", c.MaxPerAddress},
		{"clients.max_connections_per_user", c.MaxPerUser},
		{"clients.failed_logins.limit", c.FailedLogins.Limit},
	} {
		if f.value < 0 {
			return fmt.Errorf("%s is %d: want 0 (no limit) or more", f.name, f.value)
		}
	}
	if c.FailedLogins.Limit == 0 {
		return nil
	}
	if c.FailedLogins.Window <= 0 {
		return fmt.Errorf("clients.failed_logins.window is %v: want more than 0, such as 1m", c.FailedLogins.Window)
	}
	if c.FailedLogins.Pause <= 0 {
		return fmt.Errorf("clients.failed_logins.pause is %v: want more than 0, such as 1m", c.FailedLogins.Pause)
	}
	return nil
}
