package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/wirebench/fakehs2"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/wirebench/load"
)

// Targets, in the order of the table.
const (
	direct   = "direct"           // the fake HiveServer2 itself
	haproxy  = "haproxy"          // HAProxy in TCP mode
	relaying = "hs2proxy"         // serve with explain off
	analysed = "hs2proxy+explain" // serve, every statement a join not seen before
)

// Scenarios that measure memory, beside load.Scenarios.
const (
	idleScenario = "idle"
	slowScenario = "slow"
)

// options are the flags.
type options struct {
	duration  time.Duration
	rounds    int
	scenarios []string
	targets   []string
	hs2proxy  string
	json      string
	idle      int
	slowSize  int64 // bytes
	slowRate  int64 // bytes a second
	sizes     load.Sizes
	rest      time.Duration // before resident memory is read
}

// defaults are of a run of some minutes.
func defaults() options {
	return options{
		duration: time.Second, rounds: 5, hs2proxy: "bin/hs2proxy", idle: 2000, slowSize: 256 << 20, slowRate: 64 << 20, rest: 1500 * time.Millisecond,
		scenarios: []string{"ping", "query", "fetch", "many", "connect", idleScenario, slowScenario},
		targets:   []string{direct, haproxy, relaying, analysed},
		sizes:     load.Sizes{Many: 200, Fetch: fakehs2.Result{Rows: 1_000_000, Width: 100, Batch: 10_000}},
	}
}

// once makes o the smallest run that still takes every step.
func (o *options) once() {
	o.duration, o.rounds, o.idle, o.rest = 20*time.Millisecond, 1, 50, 10*time.Millisecond
	o.slowSize, o.slowRate = 8<<20, 1<<30
	o.sizes = load.Sizes{Many: 10, Fetch: fakehs2.Result{Rows: 30_000, Width: 100, Batch: 10_000}}
}

func parse(args []string) (options, error) {
	o := defaults()
	f := flag.NewFlagSet("wirebench", flag.ContinueOnError)
	f.DurationVar(&o.duration, "duration", o.duration, "measured time of a target in one round")
	f.IntVar(&o.rounds, "rounds", o.rounds, "rounds of each scenario; each takes every target once, in an order that turns")
	f.StringVar(&o.hs2proxy, "hs2proxy", o.hs2proxy, "the binary of hs2proxy")
	f.StringVar(&o.json, "json", "", "write the figures to this file, too")
	f.IntVar(&o.idle, "idle", o.idle, "connections of the scenario idle")
	f.IntVar(&o.sizes.Many, "many", o.sizes.Many, "connections of the scenario many")
	slowSize := f.Int64("slow-size", o.slowSize>>20, "MiB that the slow reader receives; 5120 for the 5 GiB of the aims")
	slowRate := f.Int64("slow-rate", o.slowRate>>20, "MiB a second that the slow reader takes")
	once := f.Bool("once", false, "the smallest sizes in place of all others: shows that the rig works")
	list(f, &o.scenarios, "scenarios")
	list(f, &o.targets, "targets")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.slowSize, o.slowRate = *slowSize<<20, *slowRate<<20
	if *once {
		o.once()
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("%q: want flags only", f.Arg(0))
	case o.rounds < 1 || o.duration <= 0 || o.idle < 1 || o.sizes.Many < 1 || o.slowSize < 1 || o.slowRate < 1:
		return o, fmt.Errorf("rounds, duration, idle, many, slow-size and slow-rate: want positive values")
	}
	return o, nil
}

// list is a flag of comma-separated words out of the default ones.
func list(f *flag.FlagSet, into *[]string, name string) {
	known := slices.Clone(*into)
	f.Func(name, "some of "+strings.Join(known, ",")+" (default all)", func(value string) error {
		*into = strings.Split(value, ",")
		for _, word := range *into {
			if !slices.Contains(known, word) {
				return fmt.Errorf("%q: want some of %s", word, strings.Join(known, ","))
			}
		}
		return nil
	})
}
