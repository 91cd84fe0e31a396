package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/wirebench/load"
)

// idle reads what resting connections cost in resident memory.
func (r *rig) idle(ctx context.Context) *Scenario {
	return r.memories(ctx, r.resting, &Scenario{
		Name: idleScenario, Unit: "KiB each",
		Does: fmt.Sprintf("resident memory of %d connections with a session each, at rest, by connection", r.opt.idle),
	})
}

// memories takes one sample of each target that is a process of ours.
func (r *rig) memories(ctx context.Context, take func(context.Context, *target) (Sample, error), s *Scenario) *Scenario {
	if s.failed(r.startTargets(ctx)) {
		return s
	}
	for _, t := range r.running {
		if t.proc == nil {
			continue
		}
		var sample Sample
		err := t.turn(func() (err error) {
			sample, err = take(ctx, t)
			return err
		})
		if err != nil {
			s.failed(fmt.Errorf("%s: %w", t.name, err))
			continue
		}
		s.Samples = append(s.Samples, sample)
	}
	return s
}

func (r *rig) resting(ctx context.Context, t *target) (Sample, error) {
	its := t.family()
	s := Sample{Target: t.name, CPU: none, BeforeKiB: memory(its, "VmRSS")}
	idle, err := load.OpenIdle(ctx, t.addr, r.opt.idle)
	if err != nil {
		return s, err
	}
	defer idle.Close()
	if err := r.pause(ctx); err != nil {
		return s, err
	}
	s.RestKiB = memory(its, "VmRSS")
	if err := idle.Touch(); err != nil {
		return s, err
	}
	if err := r.pause(ctx); err != nil {
		return s, err
	}
	s.UsedKiB = memory(its, "VmRSS")
	s.Value = float64(s.RestKiB-s.BeforeKiB) / float64(r.opt.idle)
	s.Note = fmt.Sprintf("%.1f after one more call each", float64(s.UsedKiB-s.BeforeKiB)/float64(r.opt.idle))
	return s, nil
}

// slow reads how far resident memory grows while a large result passes to a slow reader.
func (r *rig) slow(ctx context.Context) *Scenario {
	return r.memories(ctx, r.throttled, &Scenario{
		Name: slowScenario, Unit: "peak MiB",
		Does: fmt.Sprintf("resident memory at its peak, while %d MiB pass to a reader of %d MiB/s", r.opt.slowSize>>20, r.opt.slowRate>>20),
	})
}

func (r *rig) throttled(ctx context.Context, t *target) (Sample, error) {
	its := t.family()
	s := Sample{Target: t.name, CPU: none, BeforeKiB: memory(its, "VmHWM")}
	start := time.Now()
	n, err := load.Slow(ctx, t.addr, r.opt.slowSize, r.opt.slowRate)
	if err != nil {
		return s, err
	}
	s.Seconds, s.Bytes, s.PeakKiB = time.Since(start).Seconds(), n, memory(its, "VmHWM")
	s.Value = float64(s.PeakKiB) / 1024
	s.Note = fmt.Sprintf("%.1f more than at the start; %d MiB in %.1f s", float64(s.PeakKiB-s.BeforeKiB)/1024, n>>20, s.Seconds)
	return s, nil
}

// pause lets collectors and allocators come to rest.
func (r *rig) pause(ctx context.Context) error {
	timer := time.NewTimer(r.opt.rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
