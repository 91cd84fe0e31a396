package statscheck

import (
	"strings"
	"testing"
	"time"
)

func TestValidateSchedules(t *testing.T) {
	ok := Schedule{Name: "nightly", Cron: "30 2 * * *"}
	if err := ValidateSchedules([]Schedule{ok, {
		Name: "all", Cron: "@every 1h", TimeZone: "Europe/Berlin", Tables: []string{"a.*", "*"}, Mode: ModeColumns,
		MinLevel: LevelSuspect, Window: time.Hour, MaxTables: 3,
	}}); err != nil {
		t.Errorf("refused: %v", err)
	}
	for name, c := range map[string]struct {
		change func(*Schedule)
		want   []string
	}{
		"no name":           {func(s *Schedule) { s.Name = " " }, []string{`schedules[1].name: " " is empty`}},
		"same name":         {func(s *Schedule) { s.Name = "nightly" }, []string{`schedules[1].name: "nightly" is schedules[0]'s name too`}},
		"no cron":           {func(s *Schedule) { s.Cron = "" }, []string{`schedules[1].cron: "": it is empty`, "30 2 * * *"}},
		"four fields":       {func(s *Schedule) { s.Cron = "* * * *" }, []string{`schedules[1].cron: "* * * *"`}},
		"six fields":        {func(s *Schedule) { s.Cron = "0 * * * * *" }, []string{"schedules[1].cron:"}},
		"minute 60":         {func(s *Schedule) { s.Cron = "60 * * * *" }, []string{"schedules[1].cron:", "60"}},
		"words":             {func(s *Schedule) { s.Cron = "every night" }, []string{"schedules[1].cron:"}},
		"unknown @":         {func(s *Schedule) { s.Cron = "@nightly" }, []string{"schedules[1].cron:"}},
		"TZ alone":          {func(s *Schedule) { s.Cron = "TZ=Europe/Berlin" }, []string{"schedules[1].cron:", "use time_zone"}},
		"CRON_TZ alone":     {func(s *Schedule) { s.Cron = "CRON_TZ=UTC" }, []string{"schedules[1].cron:", "use time_zone"}},
		"TZ with fields":    {func(s *Schedule) { s.Cron = "TZ=UTC 0 0 * * *" }, []string{"schedules[1].cron:", "use time_zone"}},
		"TZ after a blank":  {func(s *Schedule) { s.Cron = "  TZ=UTC" }, []string{"schedules[1].cron:", "use time_zone"}},
		"too often":         {func(s *Schedule) { s.Cron = "@every 10ms" }, []string{"schedules[1].cron:", "at least 1s"}},
		"backwards":         {func(s *Schedule) { s.Cron = "@every -1h" }, []string{"schedules[1].cron:", "at least 1s"}},
		"30 February":       {func(s *Schedule) { s.Cron = "0 0 30 2 *" }, []string{"schedules[1].cron:", "never fires"}},
		"no zone":           {func(s *Schedule) { s.TimeZone = "Mars/Base" }, []string{`schedules[1].time_zone: "Mars/Base"`, "Europe/Berlin"}},
		"zone of a machine": {func(s *Schedule) { s.TimeZone = "Local" }, []string{`schedules[1].time_zone: "Local"`, "depends on the machine"}},
		"table pattern":     {func(s *Schedule) { s.Tables = []string{"a.b", "orders"} }, []string{`schedules[1].tables[1]: "orders"`, "database.table"}},
		"mode":              {func(s *Schedule) { s.Mode = "FULL" }, []string{`schedules[1].mode: "FULL" is none of NOSCAN, BASIC and COLUMNS`}},
		"level":             {func(s *Schedule) { s.MinLevel = "BAD" }, []string{`schedules[1].min_level: "BAD"`, "CRITICAL"}},
		"window":            {func(s *Schedule) { s.Window = -time.Second }, []string{"schedules[1].window: -1s", "0 for no limit"}},
		"max_tables":        {func(s *Schedule) { s.MaxTables = -1 }, []string{"schedules[1].max_tables: -1"}},
		"two at once":       {func(s *Schedule) { s.Mode, s.MaxTables = "X", -1 }, []string{"schedules[1].mode", "schedules[1].max_tables"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Schedule{Name: "other", Cron: "@daily"}
			c.change(&s)
			err := ValidateSchedules([]Schedule{ok, s})
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q lacks %q", err, w)
				}
			}
			if _, err := NewScheduler([]Schedule{ok, s}, DefaultPolicy(), nil, nil, nil, quiet()); err == nil {
				t.Error("a scheduler takes it")
			}
		})
	}
}

// UTC unless told, and across the change to summer time: 02:30 does not exist in Berlin on 29 March 2026.
func TestNextRuns(t *testing.T) {
	s, err := NewScheduler([]Schedule{
		{Name: "utc", Cron: "30 2 * * *"},
		{Name: "berlin", Cron: "30 2 * * *", TimeZone: "Europe/Berlin"},
		{Name: "evening", Cron: "0 20 * * *", TimeZone: "America/New_York"},
		{Name: "hourly", Cron: "@every 1h"},
	}, DefaultPolicy(), nil, nil, nil, quiet())
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC) }
	want := map[string]string{
		"utc":     "2026-03-29T02:30:00Z",
		"berlin":  "2026-03-30T02:30:00+02:00",
		"evening": "2026-03-28T20:00:00-04:00",
		"hourly":  "2026-03-28T13:00:00Z",
	}
	for _, f := range s.NextRuns() {
		if got := f.At.Format(time.RFC3339); got != want[f.Schedule] {
			t.Errorf("%s: next at %s, want %s", f.Schedule, got, want[f.Schedule])
		}
		delete(want, f.Schedule)
	}
	if len(want) > 0 {
		t.Errorf("missing %v", want)
	}
}

func FuzzParseCron(f *testing.F) {
	for _, line := range []string{"30 2 * * *", "@every 1h", "TZ=UTC", "CRON_TZ=UTC 0 0 * * *", "*/0 * * * *", "1-0 * * * *", "@every x", "0 0 31 2 ?", "@", "1/2/3 * * * *", "TZ="} {
		f.Add(line)
	}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, line string) {
		schedule, err := parseCron(line, time.UTC)
		if err == nil && !schedule.Next(from).After(from) {
			t.Errorf("%q fires in the past", line)
		}
	})
}
