package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hs2proxy/hs2proxy/advisor"
	joincheck "github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/check"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/version"
)

type checkCmd struct {
	configFlags
	Dir      string `arg:"" type:"existingdir" help:"The folder of the scripts: .sql and .hql, in it and below." placeholder:"DIR"`
	Baseline string `short:"b" required:"" type:"path" help:"The file with the joins as they were agreed to; keep it in version control." placeholder:"FILE"`
	Update   bool   `help:"Write the baseline as things are now."`
	Upstream string `help:"HiveServer2 as host:port, in place of the configuration's." placeholder:"HOST:PORT"`
	releaseFlag
	Database string            `short:"d" default:"default" help:"Current database at the beginning of each script."`
	Set      map[string]string `short:"s" help:"A setting at the beginning of each script; repeat for more." placeholder:"KEY=VALUE"`
	Plans    string            `type:"existingdir" help:"No server: read EXPLAIN output from this folder, a/NAME.plan for a/NAME.sql, a/NAME.2.plan for its second statement." placeholder:"DIR"`
	FailOn   string            `enum:"INFO,LOW,MEDIUM,HIGH,CRITICAL,NONE" default:"NONE" help:"Fail when a finding of at least this severity is new: INFO, LOW, MEDIUM, HIGH or CRITICAL." placeholder:"SEVERITY"`
	Strict   bool              `help:"Fail when a statement is new or gone, too."`
	Format   string            `short:"f" enum:"text,markdown,junit,sarif,json" default:"text" help:"Form of the report: text, markdown, junit, sarif or json."`
	Output   string            `short:"o" type:"path" help:"Write the report to this file in place of standard output." placeholder:"FILE"`
	Markdown string            `type:"path" help:"Write the report as Markdown to this file, too." placeholder:"FILE"`
	JUnit    string            `name:"junit" type:"path" help:"Write the report as JUnit XML to this file, too." placeholder:"FILE"`
	SARIF    string            `name:"sarif" type:"path" help:"Write the report as SARIF to this file, too." placeholder:"FILE"`
	JSON     string            `name:"json" type:"path" help:"Write the report as JSON to this file, too." placeholder:"FILE"`
}

// Run explains the scripts and compares. Whatever keeps it from telling ends in status 2, since 1 says that a join changed.
func (c checkCmd) Run(ctx context.Context) error { return outcomeOf(c.run(ctx)) }

// outcomeOf gives an error without a status the status 2.
func outcomeOf(err error) error {
	var exit exitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	return exitError{status: 2, err: err}
}

func (c checkCmd) run(ctx context.Context) error {
	if c.Plans != "" {
		release, err := c.offline(c.configFlags)
		if err != nil {
			return err
		}
		return c.check(ctx, joincheck.Saved{Plans: os.DirFS(c.Plans), Release: release}, 1, os.Stdout)
	}
	server, err := c.connect(ctx, c.Upstream, c.releaseFlag)
	if err != nil {
		return err
	}
	defer server.close()
	return c.check(ctx, joincheck.Live{Analyzer: server.analyzer}, server.cfg.Explain.Concurrency, os.Stdout)
}

// check does the work with an explainer that takes so many statements at once.
func (c checkCmd) check(ctx context.Context, e joincheck.Explainer, atOnce int, stdout io.Writer) error {
	old, err := c.baseline()
	if err != nil {
		return err
	}
	statements, files, err := joincheck.ReadAll(os.DirFS(c.Dir), joincheck.Session{Database: c.Database, Settings: c.Set})
	if err != nil {
		return err
	}
	if files == 0 {
		return fmt.Errorf("no .sql or .hql file in %s", c.Dir)
	}
	prefix, err := joincheck.Prefix(c.Dir)
	if err != nil {
		return err
	}
	outcomes, err := joincheck.Run(ctx, e, statements, atOnce)
	if err != nil {
		return err
	}
	report := joincheck.Compare(old, outcomes, files, prefix, c.limits())
	if err := c.write(&report, stdout); err != nil {
		return err
	}
	if c.Update {
		if err := save(c.Baseline, joincheck.Update(old, outcomes)); err != nil {
			return err
		}
	}
	return c.verdict(&report)
}

// baseline reads the file; with --update there may be none yet.
func (c checkCmd) baseline() (joincheck.Baseline, error) {
	text, err := os.ReadFile(c.Baseline)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Update:
		return joincheck.Baseline{}, nil
	case errors.Is(err, fs.ErrNotExist):
		return joincheck.Baseline{}, fmt.Errorf("there is no baseline %s yet: --update writes it", c.Baseline)
	case err != nil:
		return joincheck.Baseline{}, err
	}
	b, err := joincheck.ParseBaseline(text)
	if err != nil {
		return b, fmt.Errorf("%s: %w", c.Baseline, err)
	}
	return b, nil
}

// save writes a baseline whole or not at all.
func save(path string, b joincheck.Baseline) error {
	text, err := b.Encode()
	if err != nil {
		return err
	}
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, text) { //nolint:gosec // the user names the file
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write the baseline: %w", err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write the baseline: %w", err)
	}
	return nil
}

// write writes the report in every format asked for.
func (c checkCmd) write(r *joincheck.Report, stdout io.Writer) error {
	for _, out := range []struct {
		path   string
		format joincheck.Format
	}{
		{c.Output, joincheck.Format(c.Format)},
		{c.Markdown, joincheck.FormatMarkdown},
		{c.JUnit, joincheck.FormatJUnit},
		{c.SARIF, joincheck.FormatSARIF},
		{c.JSON, joincheck.FormatJSON},
	} {
		if out.path == "" {
			continue
		}
		var text bytes.Buffer
		if err := r.Write(&text, out.format, version.String()); err != nil {
			return err
		}
		if err := os.WriteFile(out.path, text.Bytes(), 0o644); err != nil { //nolint:gosec // a report is for everybody
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if c.Output != "" {
		return nil
	}
	return r.Write(stdout, joincheck.Format(c.Format), version.String())
}

func (c checkCmd) limits() joincheck.Limits {
	l := joincheck.Limits{Strict: c.Strict}
	if c.FailOn != "NONE" {
		l.FailOn = advisor.Severity(c.FailOn)
	}
	return l
}

// verdict is the exit status with a line for standard error. An update agrees to everything but to what it does not know.
func (c checkCmd) verdict(r *joincheck.Report) error {
	switch status := r.Exit(); {
	case status == 2:
		var list []error
		for i := range r.Results {
			if res := &r.Results[i]; res.Status == joincheck.Failed {
				list = append(list, fmt.Errorf("%s: %s", res.At(), res.Message))
			}
		}
		return exitError{status: status, err: errors.Join(list...)}
	case status != 0 && !c.Update:
		return exitError{status: status, err: errors.New(r.Summary())}
	}
	return nil
}
