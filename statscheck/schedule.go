package statscheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // schedules name time zones, and a container without a distribution has none

	"github.com/robfig/cron/v3"
)

// Schedule says when to refresh which stale tables.
type Schedule struct {
	Name string `koanf:"name"`
	// Cron is five fields (minute, hour, day of month, month, day of week) or a descriptor such as "@daily" or "@every 1h". In front
	// may stand "CRON_TZ=Europe/Berlin ", where TimeZone is empty.
	Cron string `koanf:"cron"`
	// TimeZone is the IANA name of the zone of Cron; UTC when empty.
	TimeZone string `koanf:"time_zone"`
	// Upstream limits the schedule to one HiveServer2; all when empty.
	Upstream string `koanf:"upstream"`
	// Tables are patterns of "database.table" with * and ?; all when empty.
	Tables []string `koanf:"tables"`
	// Mode is NOSCAN, BASIC or COLUMNS; empty leaves it to the rules that hold: NOSCAN where only R5, R6 or R9 do, else COLUMNS for tables
	// whose columns queries use, else BASIC.
	Mode Mode `koanf:"mode"`
	// MinLevel is the least level of staleness acted on; STALE when empty.
	MinLevel Level `koanf:"min_level"`
	// Window is how long after a firing its refreshes may run; what runs then is canceled in Hive. No limit when 0.
	Window time.Duration `koanf:"window"`
	// MaxAnalyze is how much time ANALYZE may take on a HiveServer2 in one window, all refreshes together. No limit when 0.
	MaxAnalyze time.Duration `koanf:"max_analyze"`
	// MaxTables is how many tables one firing refreshes at most, the worst first. No limit when 0.
	MaxTables int `koanf:"max_tables"`
}

// ValidateSchedules reports every field that is wrong, with its value and what would be right.
// Field names begin with "schedules[i]".
func ValidateSchedules(schedules []Schedule) error {
	var errs []error
	seen := map[string]int{}
	for i, s := range schedules {
		field := fmt.Sprintf("schedules[%d]", i)
		if first, ok := seen[s.Name]; ok && s.Name != "" {
			errs = append(errs, fmt.Errorf("%s.name: %q is schedules[%d]'s name too; give each schedule its own", field, s.Name, first))
		}
		seen[s.Name] = i
		for _, err := range s.validate() {
			errs = append(errs, fmt.Errorf("%s.%w", field, err))
		}
	}
	return errors.Join(errs...)
}

func (s Schedule) validate() []error {
	var errs []error
	wrong := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: "+format, append([]any{field}, args...)...))
	}
	if strings.TrimSpace(s.Name) == "" {
		wrong("name", `%q is empty; give a name such as "nightly"`, s.Name)
	}
	if _, err := ParseCron(s.Cron, s.TimeZone); err != nil {
		errs = append(errs, err)
	}
	for i, p := range s.Tables {
		if err := validatePattern(p); err != nil {
			wrong(fmt.Sprintf("tables[%d]", i), "%w", err)
		}
	}
	if s.Mode != "" && !slices.Contains(modes, s.Mode) {
		wrong("mode", "%q is none of %s, %s and %s", s.Mode, ModeNoScan, ModeBasic, ModeColumns)
	}
	if s.MinLevel != "" && levels[s.MinLevel] == 0 {
		wrong("min_level", "%q is none of SUSPECT, WATCH, STALE, HIGH and CRITICAL", s.MinLevel)
	}
	if s.Window < 0 {
		wrong("window", "%v is negative; give a duration such as 3h, or 0 for no limit", s.Window)
	}
	if s.MaxAnalyze < 0 {
		wrong("max_analyze", "%v is negative; give a duration such as 1h, or 0 for no limit", s.MaxAnalyze)
	}
	if s.Window > 0 && s.MaxAnalyze > 0 && s.MaxAnalyze > 100*s.Window {
		wrong("max_analyze", "%v cannot be spent in a window of %v", s.MaxAnalyze, s.Window)
	}
	if s.MaxTables < 0 {
		wrong("max_tables", "%d is negative; give a number, or 0 for no limit", s.MaxTables)
	}
	return errs
}

// loadLocation takes IANA names only: "Local" would make a schedule depend on the machine.
func loadLocation(name string) (*time.Location, error) {
	if strings.EqualFold(name, "local") {
		return nil, errors.New("it depends on the machine")
	}
	return time.LoadLocation(name)
}

// modes are those there are.
var modes = []Mode{ModeNoScan, ModeBasic, ModeColumns}

// cronZone starts a cron line that names its own time zone.
const cronZone = "CRON_TZ="

// timing reads the cron line in its time zone: location's, or its own.
func (s Schedule) timing(location *time.Location) (cron.Schedule, error) {
	line := strings.TrimSpace(s.Cron)
	if name, rest, ok := strings.Cut(strings.TrimPrefix(line, cronZone), " "); ok && strings.HasPrefix(line, cronZone) && s.TimeZone == "" {
		own, err := loadLocation(name)
		if err != nil || name == "" {
			return nil, fmt.Errorf("%s%s is no time zone: use an IANA name, or time_zone", cronZone, name)
		}
		line, location = rest, own
	}
	return parseCron(line, location)
}

// location is the schedule's time zone.
func (s Schedule) location() *time.Location {
	name := s.TimeZone
	if line := strings.TrimSpace(s.Cron); name == "" && strings.HasPrefix(line, cronZone) {
		name, _, _ = strings.Cut(strings.TrimPrefix(line, cronZone), " ")
	}
	location, err := loadLocation(name)
	if err != nil {
		return time.UTC
	}
	return location
}

var (
	errCronZone  = errors.New("a TZ= prefix is not taken: use time_zone, or CRON_TZ=zone before the fields")
	errCronEvery = errors.New("@every takes a duration of at least 1s")
	errCronNever = errors.New("it never fires")
)

// parseCron reads a cron line in a time zone. A TZ= prefix is refused before the library sees it: without fields behind it the library
// panics.
func parseCron(line string, location *time.Location) (cron.Schedule, error) {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil, errors.New("it is empty")
	}
	if upper := strings.ToUpper(line); strings.HasPrefix(upper, "TZ=") || strings.HasPrefix(upper, "CRON_TZ=") {
		return nil, errCronZone
	}
	if every, ok := strings.CutPrefix(line, "@every "); ok {
		// The library takes anything shorter, negative ones included, for one second.
		if d, err := time.ParseDuration(every); err == nil && d < time.Second {
			return nil, errCronEvery
		}
	}
	schedule, err := cron.ParseStandard(line)
	if err != nil {
		return nil, err
	}
	if spec, ok := schedule.(*cron.SpecSchedule); ok {
		spec.Location = location
	}
	if schedule.Next(time.Unix(0, 0)).IsZero() {
		return nil, errCronNever
	}
	return schedule, nil
}
