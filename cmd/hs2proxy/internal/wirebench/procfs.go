package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tick is the unit of the times in /proc, in seconds: USER_HZ is 100 on every architecture that Go runs on.
const tick = 0.01

// proc is a file of a process, empty where there is no such process.
func proc(pid int, file string) []byte {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file)) //nolint:gosec // the kernel's own
	if err != nil {
		return nil
	}
	return b
}

// stat is the fields of /proc/PID/stat from the third (state) on, and the command's name; nil where there is no such process.
func stat(pid int) (name string, fields []string) {
	b := proc(pid, "stat")
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return "", nil
	}
	return string(b[open+1 : end]), strings.Fields(string(b[end+1:]))
}

// cpuOf is the user and system time of a process in seconds.
func cpuOf(fields []string) float64 {
	const utime, stime = 14 - 3, 15 - 3
	if len(fields) <= stime {
		return 0
	}
	u, _ := strconv.ParseFloat(fields[utime], 64)
	s, _ := strconv.ParseFloat(fields[stime], 64)
	return (u + s) * tick
}

func cpu(pids []int) (seconds float64) {
	for _, pid := range pids {
		_, fields := stat(pid)
		seconds += cpuOf(fields)
	}
	return seconds
}

// allProcesses are the pids of this machine.
func allProcesses() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// family is a process and its descendants.
func family(pid int) []int {
	const parent = 4 - 3
	children := map[int][]int{}
	for _, p := range allProcesses() {
		if _, fields := stat(p); len(fields) > parent {
			if of, err := strconv.Atoi(fields[parent]); err == nil {
				children[of] = append(children[of], p)
			}
		}
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// memory sums a line of /proc/PID/status, VmRSS (resident now) or VmHWM (resident at most so far), in KiB.
func memory(pids []int, line string) (kib int64) {
	for _, pid := range pids {
		for l := range strings.SplitSeq(string(proc(pid, "status")), "\n") {
			if value, ok := strings.CutPrefix(l, line+":"); ok {
				n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
				kib += n
			}
		}
	}
	return kib
}

// busy is the time that all CPUs together were not idle since the machine's start, stolen time included, in seconds.
func busy() (seconds float64) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	for i, field := range strings.Fields(line) {
		switch i {
		case 1, 2, 3, 6, 7, 8: // user, nice, system, irq, softirq, steal
			n, _ := strconv.ParseFloat(field, 64)
			seconds += n * tick
		}
	}
	return seconds
}
