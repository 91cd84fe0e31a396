package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// none stands for a figure that there is none of.
const none = -1

// Result is what -json writes.
type Result struct {
	Machine      string      `json:"machine"`
	Time         string      `json:"time"`
	Rounds       int         `json:"rounds"`
	SliceSeconds float64     `json:"slice_seconds"`
	Base         string      `json:"base"` // the target that ratios are to
	Scenarios    []*Scenario `json:"scenarios"`
	Notes        []string    `json:"notes,omitempty"`
}

// Scenario is one scenario's figures.
type Scenario struct {
	Name    string    `json:"name"`
	Does    string    `json:"does"`
	Unit    string    `json:"unit"`
	CPUUnit string    `json:"cpu_unit,omitempty"`
	Summary []Summary `json:"summary"`
	Samples []Sample  `json:"samples"`
	Errors  []string  `json:"errors,omitempty"`
}

// Sample is one target in one round. Figures that a scenario does not have are 0, Value is in its Unit and CPU, where not -1, in
// its CPUUnit: the proxy's own for one operation (or GiB).
type Sample struct {
	Target     string  `json:"target"`
	Round      int     `json:"round"`
	Value      float64 `json:"value"`
	CPU        float64 `json:"cpu"`
	Operations int     `json:"operations,omitempty"`
	Bytes      int64   `json:"bytes,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"`
	P50Micros  float64 `json:"p50_us,omitempty"`
	P99Micros  float64 `json:"p99_us,omitempty"`
	ProxyCPU   float64 `json:"proxy_cpu_s,omitempty"`
	Explains   int64   `json:"explains,omitempty"` // that HiveServer2 was asked for
	Foreign    float64 `json:"foreign_cores,omitempty"`
	Noisy      bool    `json:"noisy,omitempty"`
	BeforeKiB  int64   `json:"before_kib,omitempty"`
	RestKiB    int64   `json:"rest_kib,omitempty"`
	UsedKiB    int64   `json:"used_kib,omitempty"`
	PeakKiB    int64   `json:"peak_kib,omitempty"`
	Note       string  `json:"note,omitempty"`
}

// Spread is a median over rounds, with the least and the most.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Rounds int     `json:"rounds"` // that count; 0: there is no figure
}

// Summary is one target over all rounds. Ratios are to the base in the same round.
type Summary struct {
	Target   string `json:"target"`
	Value    Spread `json:"value"`
	Ratio    Spread `json:"ratio"`
	CPU      Spread `json:"cpu"`
	CPURatio Spread `json:"cpu_ratio"`
	Noisy    int    `json:"noisy_rounds"`
	Rounds   int    `json:"rounds"`
	Explains int64  `json:"explains,omitempty"`
	Note     string `json:"note,omitempty"`
}

func (s *Scenario) failed(err error) bool {
	if err != nil {
		s.Errors = append(s.Errors, err.Error())
	}
	return err != nil
}

// failures is an error when a scenario has one.
func (r *Result) failures() error {
	var errs []error
	for _, s := range r.Scenarios {
		for _, e := range s.Errors {
			errs = append(errs, errors.New(s.Name+": "+e))
		}
	}
	return errors.Join(errs...)
}

// foreign is what other processes used in the slices on average, in cores.
func (r *Result) foreign() float64 {
	var sum float64
	n := 0
	for _, s := range r.Scenarios {
		for _, x := range s.Samples {
			if x.Operations > 0 {
				sum += x.Foreign
				n++
			}
		}
	}
	return sum / float64(max(1, n))
}

// pair is one target and the base in the same round.
type pair struct{ own, base *Sample }

func (p pair) noisy() bool { return p.own.Noisy || p.base != nil && p.base.Noisy }

// summarise computes the medians. Noisy rounds count only where less than a quarter of the rounds is quiet.
func (s *Scenario) summarise(targets []string, base string) {
	find := func(target string, round int) *Sample {
		i := slices.IndexFunc(s.Samples, func(x Sample) bool { return x.Target == target && x.Round == round })
		if i < 0 {
			return nil
		}
		return &s.Samples[i]
	}
	for _, target := range targets {
		sum := Summary{Target: target}
		var pairs, quiet []pair
		for i := range s.Samples {
			own := &s.Samples[i]
			if own.Target != target {
				continue
			}
			p := pair{own, find(base, own.Round)}
			pairs = append(pairs, p)
			if !p.noisy() {
				quiet = append(quiet, p)
			}
			if own.Noisy {
				sum.Noisy++
			}
			sum.Explains += own.Explains
			sum.Note = cmp.Or(own.Note, sum.Note)
		}
		if len(pairs) == 0 {
			continue
		}
		if sum.Rounds = len(pairs); 4*len(quiet) >= len(pairs) {
			pairs = quiet
		}
		sum.spread(pairs)
		if sum.Explains > 0 && sum.Note == "" {
			sum.Note = fmt.Sprintf("%d EXPLAINs", sum.Explains)
		}
		s.Summary = append(s.Summary, sum)
	}
}

func (sum *Summary) spread(pairs []pair) {
	var values, ratios, cpus, cpuRatios []float64
	for _, p := range pairs {
		values = append(values, p.own.Value)
		if p.base != nil && p.base.Value > 0 {
			ratios = append(ratios, p.own.Value/p.base.Value)
		}
		if p.own.CPU == none {
			continue
		}
		cpus = append(cpus, p.own.CPU)
		if p.base != nil && p.base.CPU > 0 {
			cpuRatios = append(cpuRatios, p.own.CPU/p.base.CPU)
		}
	}
	sum.Value, sum.Ratio, sum.CPU, sum.CPURatio = spreadOf(values), spreadOf(ratios), spreadOf(cpus), spreadOf(cpuRatios)
}

func spreadOf(values []float64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	slices.Sort(values)
	return Spread{Median: (values[(n-1)/2] + values[n/2]) / 2, Min: values[0], Max: values[n-1], Rounds: n}
}
