package main

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// plannedJoin is a join with what it was planned with.
type plannedJoin struct {
	Upstream, Database, Fingerprint string
	Runs                            int64
	Join                            *advisor.Join
	// Values are its settings; Key names them, where many joins share them.
	Values map[string]string
	Key    string
	// Decision has the budget and the attempts of then; Simulated is what was chosen then.
	Decision  *advisor.Decision
	Simulated advisor.Strategy
}

// replay decides joins before and after a change.
type replay struct {
	change advisor.WhatIf
	sweeps []advisor.Sweep
	limit  int
	// whole: one query is looked at, and every join of it is worth a line. runs: how often a query ran is known.
	whole, runs bool
	// nodes is the configured number of LLAP nodes, for plans that do not tell; 0 unknown.
	nodes int64
	// sizes are the tables of an upstream as the planner knew them.
	sizes func(upstream string) (map[string]advisor.TableSize, error)

	worlds map[worldKey]*world
	growth map[string]*advisor.Growth
	seen   map[string]bool // tables to change that a join reads
	out    whatIf
	kept   []keptChange
	breaks [][]keptBreak
}

// worldKey tells settings apart: by their hash, and what the decision shows of an LLAP cluster.
type worldKey struct {
	settings      string
	budget, nodes int64
}

// world are the settings before and after.
type world struct{ before, after advisor.Settings }

// keptChange is a change that may be printed; its reasons are worked out only then.
type keptChange struct {
	change        joinChange
	world         *world
	before, after *advisor.Join
	weight        float64
}

type keptBreak struct {
	breaks joinBreaks
	world  *world
	join   *advisor.Join
}

func newReplay(change advisor.WhatIf, sweeps []advisor.Sweep, limit int) *replay {
	r := &replay{
		change: change, sweeps: sweeps, limit: limit, worlds: map[worldKey]*world{}, growth: map[string]*advisor.Growth{},
		breaks: make([][]keptBreak, len(sweeps)), seen: map[string]bool{},
	}
	r.out.Moved7d = &moved{}
	r.out.Sweeps = make([]sweepResult, len(sweeps))
	for i, s := range sweeps {
		r.out.Sweeps[i] = sweepResult{Name: s.Name, From: s.Low, To: s.High, bytes: s.Bytes}
	}
	return r
}

// world reads settings once for all joins that were planned with them.
func (r *replay) world(j *plannedJoin) *world {
	key := worldKey{settings: j.Key}
	if j.Decision.Attempts != nil {
		key.budget, key.nodes = j.Decision.Budget, j.Decision.Nodes()
	}
	if w, ok := r.worlds[key]; ok && j.Key != "" {
		return w
	}
	before := advisor.SettingsOf(j.Values, j.Decision)
	if before.LLAP && before.Nodes == 0 && r.nodes > 0 {
		before = before.WithCluster(r.nodes, max(before.NodeExecutors, before.DaemonExecutors))
	}
	w := &world{before: before, after: r.change.Settings(j.Values, before)}
	r.worlds[key] = w
	return w
}

func (r *replay) growthOf(upstream string) (*advisor.Growth, error) {
	if g, ok := r.growth[upstream]; ok {
		return g, nil
	}
	sizes, err := r.sizes(upstream)
	if err != nil {
		return nil, err
	}
	g, err := r.change.Sizes(sizes)
	if err != nil {
		return nil, err
	}
	r.growth[upstream] = &g
	return &g, nil
}

// add replays one join.
func (r *replay) add(j plannedJoin) error {
	w := r.world(&j)
	after := j.Join
	if r.change.Reads(j.Join) {
		g, err := r.growthOf(j.Upstream)
		if err != nil {
			return err
		}
		after, _ = r.change.Join(j.Join, g)
		r.saw(j.Join)
	}
	e := advisor.Replay(j.Join, &w.before, after, &w.after)
	r.out.Joins++
	if e.Before != j.Simulated {
		r.out.Unlike++
	}
	r.count(&e, j.Runs)
	if e.Flips() {
		r.out.Changed++
		r.keep(&j, w, after, &e)
	}
	for i := range r.sweeps {
		pieces := r.sweeps[i].Pieces(after, w.after)
		if len(pieces) > 1 {
			r.out.Sweeps[i].Broken++
		} else if !r.whole {
			continue
		}
		r.breaks[i] = append(r.breaks[i], keptBreak{joinBreaks{joinName: r.name(&j), Pieces: reasonless(pieces)}, w, after})
		if r.full(len(r.breaks[i])) {
			r.breaks[i] = firstBreaks(r.breaks[i], r.limit)
		}
	}
	return nil
}

// saw notes the tables to change that a join reads.
func (r *replay) saw(j *advisor.Join) {
	for i := range j.Inputs {
		for _, table := range j.Inputs[i].Tables {
			if _, ok := r.change.Tables[table]; ok {
				r.seen[table] = true
			}
		}
	}
}

// count adds up what moves; a join of which one side of the change is not known counts for neither.
func (r *replay) count(e *advisor.Effect, runs int64) {
	if e.MovedBefore < 0 || e.MovedAfter < 0 {
		r.out.Unsized++
		return
	}
	r.out.Moved.add(e, 1)
	r.out.Moved7d.add(e, runs)
	if e.Flips() {
		r.out.MovedByChanged.add(e, 1)
	}
}

func (r *replay) full(n int) bool { return r.limit > 0 && n >= 2*r.limit+1000 }

func (r *replay) name(j *plannedJoin) joinName {
	n := joinName{
		Upstream: j.Upstream, Database: j.Database, Fingerprint: j.Fingerprint, Join: j.Join.Ordinal, Vertex: j.Join.Vertex, Planned: j.Join.Strategy, Runs: j.Runs,
	}
	for i := range j.Join.Inputs {
		in := &j.Join.Inputs[i]
		name := strings.Join(in.Tables, "+")
		if name == "" {
			name = in.Alias
		}
		n.Tables = append(n.Tables, name)
	}
	return n
}

func (r *replay) keep(j *plannedJoin, w *world, after *advisor.Join, e *advisor.Effect) {
	k := keptChange{world: w, before: j.Join, after: after, change: joinChange{
		joinName: r.name(j), Before: e.Before, After: e.After, MovedBefore: known(e.MovedBefore), MovedAfter: known(e.MovedAfter),
	}}
	if e.MovedBefore >= 0 && e.MovedAfter >= 0 {
		k.weight = math.Abs(float64(e.MovedAfter)-float64(e.MovedBefore)) * float64(max(j.Runs, 1))
	}
	r.kept = append(r.kept, k)
	if r.full(len(r.kept)) {
		r.kept = firstChanges(r.kept, r.limit)
	}
}

func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

func reasonless(pieces []advisor.Piece) []sweepPiece {
	out := make([]sweepPiece, len(pieces))
	for i, p := range pieces {
		out[i].Piece = p
	}
	return out
}

// firstChanges are the heaviest: those that move most bytes more or less, times their runs.
func firstChanges(list []keptChange, most int) []keptChange {
	slices.SortFunc(list, func(a, b keptChange) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), a.change.compare(&b.change.joinName))
	})
	if most > 0 && len(list) > most {
		clear(list[most:])
		list = list[:most]
	}
	return list
}

// firstBreaks are those of the queries that run most.
func firstBreaks(list []keptBreak, most int) []keptBreak {
	slices.SortFunc(list, func(a, b keptBreak) int {
		return cmp.Or(cmp.Compare(b.breaks.Runs, a.breaks.Runs), a.breaks.compare(&b.breaks.joinName))
	})
	if most > 0 && len(list) > most {
		clear(list[most:])
		list = list[:most]
	}
	return list
}

// finish gives what was found, with the reasons of what is shown.
func (r *replay) finish() *whatIf {
	r.out.change, r.out.runs = changes(&r.change), r.runs
	if !r.runs {
		r.out.Moved7d = nil
	}
	for name := range r.change.Tables {
		if !r.seen[name] {
			r.out.Unread = append(r.out.Unread, name)
		}
	}
	slices.Sort(r.out.Unread)
	r.out.Changes = []joinChange{}
	for _, k := range firstChanges(r.kept, r.limit) {
		k.change.ReasonBefore = advisor.Reason(k.before, &k.world.before)
		k.change.ReasonAfter = advisor.Reason(k.after, &k.world.after)
		r.out.Changes = append(r.out.Changes, k.change)
	}
	for i := range r.sweeps {
		r.out.Sweeps[i].Joins = []joinBreaks{}
		for _, k := range firstBreaks(r.breaks[i], r.limit) {
			for p := range k.breaks.Pieces {
				at := r.sweeps[i].At(k.world.after, k.breaks.Pieces[p].From)
				k.breaks.Pieces[p].Reason = advisor.Reason(k.join, &at)
			}
			r.out.Sweeps[i].Joins = append(r.out.Sweeps[i].Joins, k.breaks)
		}
	}
	return &r.out
}
