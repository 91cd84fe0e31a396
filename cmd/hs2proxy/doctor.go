package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
)

type doctorCmd struct {
	configFlags
	Timeout time.Duration `default:"30s" help:"Limit for each check."`
}

// check is one line of the doctor's.
type check struct {
	name   string
	detail string // what was found
	err    error  // nil: well
	mend   string // what to do about err
}

// Run prints a line per check and fails when one failed.
func (c doctorCmd) Run(ctx context.Context) error {
	cfg, err := c.load()
	if err == nil {
		err = cfg.Validate()
	}
	d := &doctor{cfg: cfg, timeout: c.Timeout, out: os.Stdout, now: time.Now}
	d.print(check{name: "configuration", detail: "valid", err: err, mend: "correct the fields named; configs/hs2proxy.yaml explains each"})
	if err == nil {
		d.certificates()
		d.upstream(ctx)
		d.database(ctx)
		d.listener(ctx)
		d.admin(ctx)
	}
	if d.failed > 0 {
		return exitError{1, fmt.Errorf("%d of %d checks failed", d.failed, d.checks)}
	}
	return nil
}

type doctor struct {
	cfg            config.Config
	timeout        time.Duration
	out            io.Writer
	now            func() time.Time
	checks, failed int
}

func (d *doctor) print(c check) {
	d.checks++
	if c.err == nil {
		fmt.Fprintf(d.out, "ok    %-22s %s\n", c.name, c.detail)
		return
	}
	d.failed++
	fmt.Fprintf(d.out, "FAIL  %-22s %s; mend: %s\n", c.name, oneLine(c.err), c.mend)
}

// warn is for what works but will disappoint.
func (d *doctor) warn(name, detail, mend string) {
	d.checks++
	fmt.Fprintf(d.out, "warn  %-22s %s; mend: %s\n", name, detail, mend)
}

func oneLine(err error) string {
	out := []rune(err.Error())
	for i, r := range out {
		if r == '\n' || r == '\r' {
			out[i] = ' '
		}
	}
	if len(out) > 300 {
		out = append(out[:300], '…')
	}
	return string(out)
}

func (d *doctor) database(ctx context.Context) {
	if d.cfg.Database.URL == "" {
		d.warn("database", "none configured: nothing is kept, no statistics are refreshed", "set database.url")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	s, err := openStore(ctx, d.cfg, zerolog.Nop())
	if err != nil {
		d.print(check{name: "database", err: err, mend: "correct database.url"})
		return
	}
	defer s.Close()
	for _, c := range s.Doctor(ctx) {
		var err error
		if !c.OK {
			err = errors.New(c.Detail)
		}
		d.print(check{name: c.Name, detail: c.Detail, err: err, mend: c.Mend})
	}
}
