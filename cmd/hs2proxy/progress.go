package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress prints what is being done: on a terminal one line that is written over, elsewhere a line for each step.
type progress struct {
	w     io.Writer
	name  string
	since time.Time
}

func (p *progress) live() bool {
	f, ok := p.w.(*os.File)
	return ok && terminal(f)
}

// begin starts a step.
func (p *progress) begin(name string) {
	p.name, p.since = name, time.Now()
	if p.live() {
		fmt.Fprintf(p.w, "  … %s", name)
	}
}

// noteLive tells what a step is at where that costs no line.
func (p *progress) noteLive(text string) {
	if p.live() {
		p.note(text)
	}
}

// note tells what a long step is at.
func (p *progress) note(text string) {
	if p.live() {
		fmt.Fprintf(p.w, "\r\x1b[K  … %s: %s", p.name, text)
		return
	}
	fmt.Fprintf(p.w, "  … %s: %s\n", p.name, text)
}

// done ends the step with its result.
func (p *progress) done(result string) { p.end("✓", result) }

// failed ends the step and returns err with the step's name.
func (p *progress) failed(err error) error {
	p.end("✗", "failed")
	return fmt.Errorf("%s: %w", p.name, err)
}

func (p *progress) end(mark, result string) {
	if p.live() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintf(p.w, "  %s %-46s %5.1f s  %s\n", mark, p.name, time.Since(p.since).Seconds(), strings.TrimSpace(result))
}
