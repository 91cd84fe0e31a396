package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// maxForeign is how much other processes may use during a slice, in cores, before it counts as noisy.
const maxForeign = 0.2

// moment is what the processes have used so far.
type moment struct {
	at     time.Time
	busy   float64 // all of the machine, CPU seconds
	own    float64 // processes of this run
	target float64 // the proxy measured
}

func now(own, target []int) moment {
	return moment{at: time.Now(), busy: busy(), own: cpu(own), target: cpu(target)}
}

// foreign is what others used between two moments, in cores.
func foreign(from, to moment) float64 {
	seconds := to.at.Sub(from.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return max(0, (to.busy-from.busy-(to.own-from.own))/seconds)
}

// others are the CPU seconds of every process by its command's name, those of this run left out.
type others struct {
	at  time.Time
	cpu map[string]float64
}

func lookAround(own []int) others {
	o := others{at: time.Now(), cpu: map[string]float64{}}
	for _, pid := range allProcesses() {
		if slices.Contains(own, pid) || pid == os.Getpid() {
			continue
		}
		name, fields := stat(pid)
		o.cpu[name] += cpuOf(fields)
	}
	return o
}

// since names the busiest others between two looks that are still there; "none" when none used a tenth of maxForeign.
func (o others) since(before others) string {
	seconds := o.at.Sub(before.at).Seconds()
	used := map[string]float64{}
	for name, total := range o.cpu {
		if cores := (total - before.cpu[name]) / seconds; cores > maxForeign/10 {
			used[name] = cores
		}
	}
	names := slices.SortedFunc(maps.Keys(used), func(a, b string) int { return cmp.Or(cmp.Compare(used[b], used[a]), cmp.Compare(a, b)) })
	var said []string
	for _, name := range names[:min(3, len(names))] {
		said = append(said, fmt.Sprintf("%s %.2f", name, used[name]))
	}
	return cmp.Or(strings.Join(said, ", "), "none")
}
