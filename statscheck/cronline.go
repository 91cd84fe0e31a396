package statscheck

import (
	"fmt"

	"github.com/robfig/cron/v3"
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
