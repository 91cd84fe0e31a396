package advisor

import (
	"maps"
	"strings"
)

// WhatIf is a change to the world that joins were planned in. The zero value changes nothing.
type WhatIf struct {
	// Release is the release line whose rules and defaults count; empty for those of the settings before.
	Release Release
	// Set are Hive settings by name, over what a query was planned with.
	Set map[string]string
	// Nodes and Executors (of a node) are the LLAP cluster; 0 leaves it as it is.
	Nodes, Executors int64
	// Tables are changes to tables, by "database.table" in lower case.
	Tables map[string]TableChange
}

// Settings are those after the change. values are the settings a query was planned with, by Hive's names; before is how they were read,
// with the LLAP cluster.
//
// Another release replaces the values that are its predecessor's defaults by its own: what somebody has set deliberately stays.
func (w *WhatIf) Settings(values map[string]string, before Settings) Settings {
	release := before.Release
	after := maps.Clone(values)
	if after == nil {
		after = map[string]string{}
	}
	if w.Release != "" && w.Release != release {
		dropDefaults(after, release)
		after = HiveSettings(after)
		release = w.Release
	}
	for name, value := range w.Set {
		dropNames(after, name)
		after[name] = value
	}
	s := SettingsFor(release, after)
	if s.Nodes == 0 { // no host list: the cluster is what was known of it before
		s.Nodes, s.NodeExecutors = before.Nodes, before.NodeExecutors
	}
	if w.Nodes > 0 {
		s.Nodes = w.Nodes
		if s.NodeExecutors == 0 {
			s.NodeExecutors = s.DaemonExecutors
		}
	}
	if w.Executors > 0 {
		s.NodeExecutors = w.Executors
	}
	return s
}

// dropDefaults takes out what a release has by itself.
func dropDefaults(values map[string]string, release Release) {
	for i := range catalogue {
		d := &catalogue[i]
		for _, name := range append([]string{d.Name}, d.aliases...) {
			def, _ := defaultIn(values, release, d.Name)
			if v, ok := values[name]; ok && strings.EqualFold(strings.TrimSpace(v), def) {
				delete(values, name)
			}
		}
	}
}

// dropNames takes out every name of a setting, so that the one set counts.
func dropNames(values map[string]string, name string) {
	for i := range catalogue {
		d := &catalogue[i]
		if d.Name != name && !contains(d.aliases, name) {
			continue
		}
		delete(values, d.Name)
		for _, alias := range d.aliases {
			delete(values, alias)
		}
	}
}

// Effect is what a change does to one join.
type Effect struct {
	Before, After Strategy
	// BigBefore and BigAfter are the streamed positions; −1 for none.
	BigBefore, BigAfter int
	// MovedBefore and MovedAfter are BytesMoved; −1 unknown.
	MovedBefore, MovedAfter int64
}

// Flips tells whether the strategy changes.
func (e *Effect) Flips() bool { return e.Before != e.After }

// Replay decides a join before and after a change. It allocates nothing for joins of up to eight inputs.
func Replay(before *Join, settingsBefore *Settings, after *Join, settingsAfter *Settings) Effect {
	var e Effect
	e.Before, e.BigBefore = Choose(before, settingsBefore)
	e.After, e.BigAfter = Choose(after, settingsAfter)
	e.MovedBefore = BytesMoved(before, e.Before, e.BigBefore, settingsBefore)
	e.MovedAfter = BytesMoved(after, e.After, e.BigAfter, settingsAfter)
	return e
}

// Reason is the sentence of Select: each attempt that failed, then the one that held, with the numbers that decided.
func Reason(j *Join, s *Settings) string {
	d := decide(j, s, false)
	return d.Reason
}
