// Package statscheck judges what a table's statistics are worth, decides what to refresh and when, runs the ANALYZE, and
// measures what it was worth.
//
// The rules (Check, HealthOf, Rebase, Plan, EffectOf) are pure functions over what is known of a table. Around them are four
// parts with I/O, each over a small interface:
//
//   - ReadTable reads a table's statistics over any Hive session by DESCRIBE FORMATTED.
//   - Runner runs one Refresh in a session of its own and fills it completely.
//   - Scheduler turns cron schedules into refresh requests.
//   - Worker claims requests from a Queue and has the Runner run them.
//
// The package knows neither Postgres nor a client's traffic.
package statscheck
