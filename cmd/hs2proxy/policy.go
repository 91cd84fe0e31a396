package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

type policyCmd struct {
	List   policyListCmd   `cmd:"" default:"withargs" help:"List what is laid down in the database (the default); the configuration may lay down more."`
	Set    policySetCmd    `cmd:"" help:"Lay down how a table is refreshed, in place of its policy before."`
	Drop   policyDropCmd   `cmd:"" help:"Take a policy back."`
	Enable policyEnableCmd `cmd:"" help:"Switch a table's scheduled refreshes on again that failures, or a policy of never, have switched off."`
}

type policyListCmd struct {
	configFlags
	Format string `short:"f" enum:"table,csv,json" default:"table" help:"table, csv or json."`
}

// Run prints the policies.
func (c policyListCmd) Run(ctx context.Context) error {
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	t, err := s.Report(ctx, "refresh_policies")
	if err != nil {
		return err
	}
	return printReport(os.Stdout, t, c.Format)
}

// policyFlags name whom a policy is for, and why.
type policyFlags struct {
	configFlags
	Table  string `arg:"" help:"The table, as database.table; * and ? stand for any characters."`
	Reason string `required:"" help:"Why; kept on record with your name."`
}

func (c policyFlags) check() error {
	if strings.TrimSpace(c.Reason) == "" {
		return errors.New("say why with --reason")
	}
	return nil
}

type policySetCmd struct {
	policyFlags
	Never      bool          `help:"No refresh, whoever asks."`
	Schedules  []string      `help:"Leave the table to these schedules." placeholder:"NAME"`
	Columns    []string      `help:"Analyse these columns where a request names none." placeholder:"COLUMN"`
	Partitions []string      `help:"Analyse these partitions where a request names none, with * and ?, such as ds=2026-*." sep:"none" placeholder:"NAME"`
	Cooldown   time.Duration `help:"Least time between two scheduled refreshes."`
}

// Run sets.
func (c policySetCmd) Run(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	p := statscheck.TablePolicy{
		Pattern: c.Table, Never: c.Never, Schedules: c.Schedules, Columns: c.Columns, Partitions: c.Partitions, Cooldown: c.Cooldown,
		Reason: c.Reason, By: operator(),
	}
	if err := p.Validate(); err != nil {
		return err
	}
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.SetRefreshPolicy(ctx, p); err != nil {
		return err
	}
	fmt.Printf("policy of %s set\n", strings.ToLower(c.Table))
	return nil
}

type policyDropCmd struct{ policyFlags }

// Run takes back.
func (c policyDropCmd) Run(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.DropRefreshPolicy(ctx, c.Table, operator(), c.Reason); err != nil {
		return err
	}
	fmt.Printf("policy of %s taken back\n", strings.ToLower(c.Table))
	return nil
}

type policyEnableCmd struct{ policyFlags }

// Run switches on.
func (c policyEnableCmd) Run(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	name, err := hiveql.ParseTableName(c.Table)
	if err != nil {
		return err
	}
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.EnableRefresh(ctx, name.String(), operator(), c.Reason); err != nil {
		return err
	}
	fmt.Printf("scheduled refreshes of %s are on; failures until now count no more\n", name)
	return nil
}
