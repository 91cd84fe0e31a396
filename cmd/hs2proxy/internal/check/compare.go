package check

import (
	"maps"
	"slices"
	"strings"
)

// Compare sets the outcomes of so many files against the baseline. The prefix goes before the paths in the report, see Prefix.
func Compare(old Baseline, outcomes []Outcome, files int, prefix string, limits Limits) Report {
	r := Report{Version: 1, Files: files, Results: []Result{}, Limits: limits}
	pairs := match(old, outcomes)
	held := map[place]bool{}
	number := 0
	for i := range outcomes {
		if i > 0 && outcomes[i].File != outcomes[i-1].File {
			number = 0
		}
		number++
		held[pairs[i].place] = true
		res := resultOf(old, &outcomes[i], pairs[i], prefix)
		res.Number = number
		r.Results = append(r.Results, res)
	}
	for _, file := range slices.Sorted(maps.Keys(old.Files)) {
		for index, rec := range old.Files[file] {
			if !held[place{file, index}] {
				r.Results = append(r.Results, Result{File: prefix + file, Query: rec.Query, Fingerprint: rec.Fingerprint, Status: Gone})
			}
		}
	}
	slices.SortStableFunc(r.Results, func(a, b Result) int { return strings.Compare(a.File, b.File) })
	for i := range r.Results {
		r.Counts.add(&r.Results[i])
	}
	return r
}

func resultOf(old Baseline, o *Outcome, p pair, prefix string) Result {
	res := Result{File: prefix + o.File, Line: o.Line}
	if o.Skipped != "" {
		res.Status, res.Message = Skipped, o.Skipped
		return res
	}
	now := recordOf(o)
	res.Query, res.Fingerprint = now.Query, now.Fingerprint
	if o.Error != "" {
		res.Status, res.Message = Failed, o.Error
		return res
	}
	var was Record
	res.Status = New
	if p.found() {
		was = old.at(p.place)
		res.Status, res.Edited = Unchanged, p.edited
		if p.file != o.File {
			res.MovedFrom = prefix + p.file
		}
		if res.Changes = changes(was.Joins, now.Joins); len(res.Changes) > 0 {
			res.Status = Changed
		}
	}
	res.Joins, res.Findings = now.Joins, findings(was.Findings, o)
	return res
}

func (c *Counts) add(r *Result) {
	switch r.Status {
	case Unchanged:
		c.Unchanged++
	case Changed:
		c.Changed++
	case New:
		c.New++
	case Gone:
		c.Gone++
	case Skipped:
		c.Skipped++
	case Failed:
		c.Failed++
	}
	c.NewFindings += len(r.newFindings())
}
