package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
)

// machine is what the figures are of.
func machine() string {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(fmt.Sprintf("%s, %d CPUs, %s, %s %s", cpuModel(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, release))
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.SplitSeq(string(b), "\n") {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func (r *Result) head(out io.Writer) {
	fmt.Fprintf(out, "%s\n%d rounds, %.2g s each; median (least to most); × is the ratio to %s in the same round\n", r.Machine, r.Rounds, r.SliceSeconds, r.Base)
}

func (r *Result) foot(out io.Writer) {
	if len(r.Notes) > 0 {
		fmt.Fprintln(out)
	}
	for _, note := range r.Notes {
		fmt.Fprintln(out, "note:", note)
	}
}

// print is the scenario's part of the table.
func (s *Scenario) print(out io.Writer, base string) {
	fmt.Fprintf(out, "\n%s: %s\n", s.Name, s.Does)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	columns := []string{"", "target", s.Unit, "× " + base}
	if s.CPUUnit != "" {
		columns = append(columns, s.CPUUnit, "× "+base, "noisy")
	}
	fmt.Fprintln(w, strings.Join(append(columns, ""), "\t"))
	for _, x := range s.Summary {
		cells := []string{"", x.Target, x.Value.text(figure), x.Ratio.text(ratio)}
		if s.CPUUnit != "" {
			cells = append(cells, x.CPU.text(figure), x.CPURatio.text(ratio), fmt.Sprintf("%d of %d", x.Noisy, x.Rounds))
		}
		fmt.Fprintln(w, strings.Join(append(cells, x.Note), "\t"))
	}
	_ = w.Flush()
	for _, e := range s.Errors {
		fmt.Fprintln(out, "  failed:", e)
	}
}

// text is the median, and the range where there is one.
func (s Spread) text(number func(float64) string) string {
	switch {
	case s.Rounds == 0:
		return "-"
	case s.Min == s.Max:
		return number(s.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", number(s.Median), number(s.Min), number(s.Max))
}

// figure has three digits that matter.
func figure(x float64) string {
	switch a := math.Abs(x); {
	case a >= 100:
		return fmt.Sprintf("%.0f", x)
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

func ratio(x float64) string { return fmt.Sprintf("%.2f", x) }
