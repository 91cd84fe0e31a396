package statscheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// TablePolicy lays down how the tables of a name are refreshed. The zero value leaves everything to the rules and the schedules.
type TablePolicy struct {
	// Pattern is "database.table", in which * stands for any number of characters and ? for one.
	Pattern string `koanf:"pattern"`
	// Never: no refresh, whoever asks.
	Never bool `koanf:"never"`
	// Schedules are the names of the schedules that may refresh the table; any when empty.
	Schedules []string `koanf:"schedules"`
	// Columns are those to analyse where a request names none; those that queries use when empty.
	Columns []string `koanf:"columns"`
	// Partitions are those to analyse where a request names none, as SHOW PARTITIONS prints them, with * and ?; the stale ones, or
	// the whole table, when empty.
	Partitions []string `koanf:"partitions"`
	// Cooldown is the least time between two scheduled refreshes; the general one when 0.
	Cooldown time.Duration `koanf:"cooldown"`
	// FailuresSince: failures before it do not count. Somebody switched the table on again. Not in the configuration.
	FailuresSince time.Time `koanf:"-"`
	// Reason and By are on record where the policy was set in the database.
	Reason string `koanf:"reason"`
	By     string `koanf:"-"`
}

// Validate reports every field that is wrong, with its value and what would be right.
func (t TablePolicy) Validate() error { return errors.Join(t.validate()...) }

func (t TablePolicy) validate() []error {
	var errs []error
	if err := validatePattern(t.Pattern); err != nil {
		errs = append(errs, fmt.Errorf("pattern: %w", err))
	}
	if t.Cooldown < 0 {
		errs = append(errs, fmt.Errorf("cooldown: %v is negative; give a duration such as 12h, or leave it out", t.Cooldown))
	}
	for i, p := range t.Partitions {
		if !strings.Contains(p, "=") && !strings.Contains(p, "*") {
			errs = append(errs, fmt.Errorf("partitions[%d]: %q is no partition; give column=value as SHOW PARTITIONS prints it, with * and ? as wildcards", i, p))
		}
	}
	for i, c := range t.Columns {
		if strings.TrimSpace(c) == "" {
			errs = append(errs, fmt.Errorf("columns[%d]: %q is no column", i, c))
		}
	}
	if t.Never && len(t.Schedules)+len(t.Columns)+len(t.Partitions) > 0 {
		errs = append(errs, errors.New("never: true leaves no room for schedules, columns or partitions; give the one or the others"))
	}
	return errs
}

// PolicyOf is the policy for "database.table": of those set in the database the first that matches, in their order (names before
// patterns), else the first of the configuration's that matches, else the zero value.
func PolicyOf(table string, set, configured []TablePolicy) TablePolicy {
	for _, list := range [][]TablePolicy{set, configured} {
		if i := slices.IndexFunc(list, func(t TablePolicy) bool { return MatchTable(t.Pattern, table) }); i >= 0 {
			return list[i]
		}
	}
	return TablePolicy{}
}

// Bars says why a schedule may not refresh the table at all; empty when it may.
func (t TablePolicy) Bars(schedule string) string {
	switch {
	case t.Never:
		return t.never()
	case schedule != "" && len(t.Schedules) > 0 && !slices.Contains(t.Schedules, schedule):
		return fmt.Sprintf("its policy leaves it to %s", strings.Join(t.Schedules, ", "))
	}
	return ""
}

func (t TablePolicy) never() string {
	why := "never refreshed, says the policy " + t.Pattern
	if t.By != "" {
		why += " of " + t.By
	}
	if t.Reason != "" {
		why += ": " + t.Reason
	}
	return why
}
