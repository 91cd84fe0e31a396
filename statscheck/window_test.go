package statscheck

import (
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A window opens when its schedule fires, in the schedule's time zone, and is closed at its end.
func TestWindowAt(t *testing.T) {
	night := Schedule{Cron: "30 2 * * *", TimeZone: "Europe/Berlin", Window: 3 * time.Hour}
	own := Schedule{Cron: "CRON_TZ=America/New_York 0 22 * * 1-5", Window: 8 * time.Hour}
	often := Schedule{Cron: "0 * * * *", Window: 90 * time.Minute}
	for name, c := range map[string]struct {
		schedule   Schedule
		now        string
		start, end string // empty: closed
	}{
		"just before":                {night, "2026-01-10T01:29:59Z", "", ""},
		"at the firing":              {night, "2026-01-10T01:30:00Z", "2026-01-10T01:30:00Z", "2026-01-10T04:30:00Z"},
		"within":                     {night, "2026-01-10T04:29:59Z", "2026-01-10T01:30:00Z", "2026-01-10T04:30:00Z"},
		"at the end":                 {night, "2026-01-10T04:30:00Z", "", ""},
		"in summer":                  {night, "2026-07-10T00:30:00Z", "2026-07-10T00:30:00Z", "2026-07-10T03:30:00Z"},
		"the hour that is left out":  {night, "2026-03-29T01:30:00Z", "", ""},
		"the hour that comes twice":  {night, "2026-10-25T03:00:00Z", "2026-10-25T01:30:00Z", "2026-10-25T04:30:00Z"},
		"its own zone, past a day":   {own, "2026-01-13T06:00:00Z", "2026-01-13T03:00:00Z", "2026-01-13T11:00:00Z"},
		"its own zone, on a weekend": {own, "2026-01-11T06:00:00Z", "", ""},
		"the last of two that span":  {often, "2026-01-10T12:15:00Z", "2026-01-10T12:00:00Z", "2026-01-10T13:30:00Z"},
		"no window":                  {Schedule{Cron: "0 * * * *"}, "2026-01-10T12:00:00Z", "", ""},
		"at intervals":               {Schedule{Cron: "@every 1h", Window: time.Hour}, "2026-01-10T12:00:00Z", "", ""},
		"no cron line":               {Schedule{Cron: "x", Window: time.Hour}, "2026-01-10T12:00:00Z", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, open := c.schedule.WindowAt(at(t, c.now))
			if open != (c.start != "") {
				t.Fatalf("got %v %v", got, open)
			}
			if open && (!got.Start.Equal(at(t, c.start)) || !got.End.Equal(at(t, c.end))) {
				t.Errorf("got %v, want %s to %s", got, c.start, c.end)
			}
		})
	}
}

// Proxies whose clocks differ by seconds mean the same window.
func TestWindowStart(t *testing.T) {
	s := Schedule{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"}
	for now, want := range map[string]string{
		"2026-01-10T01:30:00Z": "2026-01-10T01:30:00Z", "2026-01-10T01:30:07.9Z": "2026-01-10T01:30:00Z", "2026-01-10T01:30:59Z": "2026-01-10T01:30:00Z",
		"2026-01-10T09:12:13.5Z": "2026-01-10T09:12:13Z", // fired by hand
	} {
		if got := s.windowStart(at(t, now)); !got.Equal(at(t, want)) {
			t.Errorf("%s: %s, want %s", now, got, want)
		}
	}
	if got := (Schedule{Cron: "@every 1s"}).windowStart(at(t, "2026-01-10T01:30:00.25Z")); !got.Equal(at(t, "2026-01-10T01:30:00Z")) {
		t.Errorf("@every: %s", got)
	}
	if (Window{Start: t0}).Open(t0.Add(1000*time.Hour)) != true || (Window{Start: t0}).Open(t0.Add(-1)) {
		t.Error("a window without an end")
	}
}
