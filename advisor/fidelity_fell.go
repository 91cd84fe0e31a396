package advisor

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FidelityFell: the simulation agrees with the planner of a server less than it should, or clearly less than it did.
const FidelityFell FindingKind = "fidelity_fell"

// FidelityPolicy says when the agreement with a server's planner counts as fallen.
type FidelityPolicy struct {
	// Days, today included (UTC), are looked at together.
	Days int `koanf:"days"`
	// Threshold is the least share that must agree (0.95 is 95 %); 0: any will do.
	Threshold float64 `koanf:"threshold"`
	// Drop is by how much the share may be below that of the days before (0.05 is five percentage points); 1: by any.
	Drop float64 `koanf:"drop"`
	// MinCompared is the least number of comparisons that a share is taken of.
	MinCompared int64 `koanf:"min_compared"`
}

// DefaultFidelityPolicy is in force where the configuration names none.
func DefaultFidelityPolicy() FidelityPolicy {
	return FidelityPolicy{Days: 2, Threshold: 0.95, Drop: 0.05, MinCompared: 20}
}

// Validate reports every field that is wrong. Field names are relative to FidelityPolicy.
func (p FidelityPolicy) Validate() error {
	var errs []error
	if p.Days < 1 || p.Days > 90 {
		errs = append(errs, fmt.Errorf("days: %d is not between 1 and 90", p.Days))
	}
	// The negated comparisons catch NaN too.
	if !(p.Threshold >= 0 && p.Threshold <= 1) {
		errs = append(errs, fmt.Errorf("threshold: %v is not between 0 and 1; 0.95 is 95 %%", p.Threshold))
	}
	if !(p.Drop > 0 && p.Drop <= 1) {
		errs = append(errs, fmt.Errorf("drop: %v is not above 0 and at most 1; 0.05 is five percentage points", p.Drop))
	}
	if p.MinCompared < 1 {
		errs = append(errs, fmt.Errorf("min_compared: %d is below 1", p.MinCompared))
	}
	return errors.Join(errs...)
}

// Share is how many of how many comparisons agreed.
type Share struct {
	Agree int64 `json:"agree"`
	Of    int64 `json:"of"`
}

func (s Share) rate() float64 { return float64(s.Agree) / float64(s.Of) }

func (s Share) plus(o Share) Share { return Share{s.Agree + o.Agree, s.Of + o.Of} }

// Agreement with the planner of one server: strategies of all joins, and budgets (equal) and sizes of inputs (within 1 %) where the
// planner logged them.
type Agreement struct {
	HiveVersion string `json:"hive_version,omitempty"`
	Strategies  Share  `json:"strategies"`
	Budgets     Share  `json:"budgets"`
	Sizes       Share  `json:"sizes"`
}

// measures names the shares in the order they are told.
func (a *Agreement) measures() []measure {
	return []measure{{"strategies", a.Strategies}, {"budgets", a.Budgets}, {"sizes", a.Sizes}}
}

type measure struct {
	name  string
	share Share
}

// OpenFidelity is what the open finding remembers: the measures that had fallen, and the agreement before they fell.
type OpenFidelity struct {
	Fell    []string  `json:"fell"`
	Earlier Agreement `json:"earlier"`
}

// WatchFidelity judges the agreement of the last days (one entry a version of Hive) against the policy and the agreement earlier. open is
// what the finding raised before remembers, nil when none is open: what was fallen then is recovered only measured against what was
// before it. The finding is nil when nothing has fallen. settled is false when too little was compared to say so: an open finding stays.
func WatchFidelity(upstream string, recent []Agreement, earlier Agreement, open *OpenFidelity, p FidelityPolicy) (found *Finding, settled bool) {
	if open != nil {
		earlier = open.Earlier
	}
	before := earlier.measures()
	var all Agreement
	for i := range recent {
		r := &recent[i]
		all.Strategies, all.Budgets, all.Sizes = all.Strategies.plus(r.Strategies), all.Budgets.plus(r.Budgets), all.Sizes.plus(r.Sizes)
		var fell, words []string
		for k, m := range r.measures() {
			if text := p.fell(m.share, before[k].share); text != "" {
				fell, words = append(fell, m.name), append(words, m.name+" "+text)
			}
		}
		if len(fell) == 0 || found != nil {
			continue
		}
		severity := Medium
		if fell[0] == "strategies" {
			severity = High
		}
		found = &Finding{
			Kind: FidelityFell, Severity: severity, Subject: upstream,
			Summary: "the simulation departs from the planner of Hive " + versionWord(r.HiveVersion) + ": of " + strings.Join(words, "; of "),
			Evidence: map[string]any{
				"fell": fell, "hive_version": r.HiveVersion, "strategies": r.Strategies, "budgets": r.Budgets, "sizes": r.Sizes,
				"earlier": earlier, "days": p.Days, "threshold": p.Threshold, "drop": p.Drop,
			},
			Advice: "SELECT * FROM hs2proxy.report_fidelity_differences; -- compare the settings of the sessions, then report what is left as a defect",
		}
	}
	if found != nil || open == nil {
		return found, true
	}
	for _, m := range all.measures() {
		if slices.Contains(open.Fell, m.name) && m.share.Of < p.MinCompared {
			return nil, false
		}
	}
	return nil, true
}

// fell tells in words what is wrong with a share; nothing is where too little was compared.
func (p FidelityPolicy) fell(now, before Share) string {
	if now.Of < p.MinCompared {
		return ""
	}
	text := percentDown(now.rate()) + " agree (" + strconv.FormatInt(now.Agree, 10) + " of " + strconv.FormatInt(now.Of, 10) + ")"
	switch {
	case before.Of >= p.MinCompared && now.rate() < before.rate()-p.Drop:
		return text + " after " + percentDown(before.rate()) + " before"
	case now.rate() < p.Threshold:
		return text + ", below " + percent(p.Threshold)
	}
	return ""
}

// percentDown never rounds up to 100 %.
func percentDown(rate float64) string { return percent(float64(int(rate*1000)) / 1000) }

func versionWord(v string) string {
	if v == "" {
		return "of unknown version"
	}
	return v
}
