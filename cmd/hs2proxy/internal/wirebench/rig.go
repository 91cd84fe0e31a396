package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/wirebench/load"
)

// rig is one run.
type rig struct {
	opt     options
	dir     string
	haproxy string
	fake    *fake
	notes   []string
	started int // proxies so far
	running []*target
}

func newRig(ctx context.Context, o options, dir string) (*rig, error) {
	r := &rig{opt: o, dir: dir}
	if err := r.available(); err != nil {
		return nil, err
	}
	if len(r.opt.targets) == 0 {
		return nil, fmt.Errorf("no target is left")
	}
	const spare = 200
	if most := (openFiles() - spare) / 2; r.opt.idle > most {
		r.notes = append(r.notes, fmt.Sprintf("idle: %d connections, as the limit of open files allows", most))
		r.opt.idle = most
	}
	var err error
	r.fake, err = startFake(ctx)
	return r, err
}

func (r *rig) close() {
	r.stopTargets()
	r.fake.close()
}

// base is the target that ratios are to.
func (r *rig) base() string {
	if slices.Contains(r.opt.targets, haproxy) {
		return haproxy
	}
	return r.opt.targets[0]
}

// run takes the scenarios one after the other and prints each as it ends.
func (r *rig) run(ctx context.Context, out io.Writer) *Result {
	result := &Result{Machine: machine(), Time: time.Now().UTC().Format(time.RFC3339), Rounds: r.opt.rounds, SliceSeconds: r.opt.duration.Seconds(), Base: r.base()}
	result.head(out)
	before := lookAround([]int{r.fake.pid()})
	timed := load.Scenarios(r.opt.sizes)
	for _, name := range r.opt.scenarios {
		if ctx.Err() != nil {
			break
		}
		var s *Scenario
		switch name {
		case idleScenario:
			s = r.idle(ctx)
		case slowScenario:
			s = r.slow(ctx)
		default:
			i := slices.IndexFunc(timed, func(sc load.Scenario) bool { return sc.Name == name })
			s = r.timed(ctx, timed[i])
		}
		r.stopTargets()
		s.summarise(r.opt.targets, result.Base)
		s.print(out, result.Base)
		result.Scenarios = append(result.Scenarios, s)
	}
	r.notes = append(r.notes, fmt.Sprintf("other processes used %.2f cores in a slice on average; the busiest that are still there: %s",
		result.foreign(), lookAround([]int{r.fake.pid()}).since(before)))
	result.Notes = r.notes
	result.foot(out)
	return result
}

// startTargets starts them all afresh: what one scenario left behind is not the next one's. They are suspended until it is
// their turn.
func (r *rig) startTargets(ctx context.Context) error {
	for _, name := range r.opt.targets {
		t, err := r.start(ctx, name)
		if err != nil {
			return err
		}
		r.running = append(r.running, t)
		if err := t.each(suspend); err != nil {
			return err
		}
	}
	return nil
}

// turn has a target run while f measures it.
func (t *target) turn(f func() error) error {
	if err := t.each(resume); err != nil {
		return err
	}
	return errors.Join(f(), t.each(suspend))
}

// each does something to each of a proxy's processes.
func (t *target) each(do func(pid int) error) error {
	for _, pid := range t.family() {
		if err := do(pid); err != nil {
			return fmt.Errorf("suspend or resume %s: %w", t.name, err)
		}
	}
	return nil
}

func (r *rig) stopTargets() {
	for _, t := range r.running {
		if t.proc == nil {
			continue
		}
		t.proc.stop()
		if said := t.proc.said(); said != "" && t.name != haproxy {
			r.notes = append(r.notes, fmt.Sprintf("%s wrote: %s", t.name, said))
		}
	}
	r.running = nil
}

// own are this run's processes: the load, the fake and the proxies.
func (r *rig) own() []int {
	own := []int{os.Getpid(), r.fake.pid()}
	for _, t := range r.running {
		own = append(own, t.family()...)
	}
	return own
}

func (t *target) family() []int {
	if t.proc == nil {
		return nil
	}
	return family(t.proc.pid())
}

// timed measures a scenario: every round takes each target once, and the next one turns the order around, so that what drifts
// falls on all alike.
func (r *rig) timed(ctx context.Context, sc load.Scenario) *Scenario {
	s := &Scenario{Name: sc.Name, Does: sc.Does, Unit: string(sc.Figure), CPUUnit: "CPU µs"}
	if sc.Figure == load.Throughput {
		s.CPUUnit = "CPU s/GiB"
	}
	if s.failed(r.startTargets(ctx)) {
		return s
	}
	for round := range r.opt.rounds {
		order := slices.Clone(r.running)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, t := range order {
			var sample Sample
			err := t.turn(func() (err error) {
				sample, err = r.slice(ctx, sc, t)
				return err
			})
			if err != nil {
				s.failed(fmt.Errorf("%s: %w", t.name, err))
				continue
			}
			sample.Round = round
			s.Samples = append(s.Samples, sample)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return s
}

// slice measures one target in one round.
func (r *rig) slice(ctx context.Context, sc load.Scenario, t *target) (Sample, error) {
	const mostWarm = 150 * time.Millisecond
	timing := load.Timing{Warm: min(mostWarm, r.opt.duration/4), Length: r.opt.duration, Least: 1}
	own, its := r.own(), t.family()
	before, err := r.fake.counts()
	if err != nil {
		return Sample{}, err
	}
	var marks []moment
	got, err := load.Measure(ctx, sc, t.addr, timing, func() { marks = append(marks, now(own, its)) })
	if err != nil {
		return Sample{}, err
	}
	after, err := r.fake.counts()
	if err != nil {
		return Sample{}, err
	}
	s := Sample{
		Target: t.name, Value: got.Figure(sc.Figure), CPU: none, Operations: got.Operations, Bytes: got.Bytes, Seconds: got.Took.Seconds(),
		P50Micros: micros(got.P50), P99Micros: micros(got.P99), Explains: after.Explains - before.Explains,
		Foreign: foreign(marks[0], marks[1]),
	}
	s.Noisy = s.Foreign > maxForeign
	if t.proc != nil {
		s.ProxyCPU = marks[1].target - marks[0].target
		s.CPU = s.ProxyCPU / float64(got.Operations) * 1e6
		if sc.Figure == load.Throughput {
			s.CPU = s.ProxyCPU / (float64(got.Bytes) / (1 << 30))
		}
	}
	return s, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
