package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store"
)

type findingsCmd struct {
	List   findingsListCmd   `cmd:"" default:"withargs" help:"List the findings, the gravest first (the default)."`
	Kinds  findingsKindsCmd  `cmd:"" help:"List the kinds of findings and where each is explained."`
	Mute   findingsMuteCmd   `cmd:"" help:"Leave findings of one kind out of the reports."`
	Unmute findingsUnmuteCmd `cmd:"" help:"Show muted findings again."`
}

type findingsListCmd struct {
	configFlags
	Advisor string `help:"Those of one advisor only: selector, outer_join, movement, dynamic_filter or anti_join." placeholder:"NAME"`
	Muted   bool   `help:"The muted ones, with who muted them and why." xor:"which"`
	Format  string `short:"f" enum:"text,table,csv,json" default:"text" help:"text, table, csv or json."`
}

// Run prints a report of findings.
func (c findingsListCmd) Run(ctx context.Context) error {
	name := "findings"
	switch {
	case c.Muted && c.Advisor != "":
		return fmt.Errorf("--muted and --advisor cannot go together: the muted ones are of all advisors")
	case c.Muted:
		name = "findings_muted"
	case c.Advisor != "":
		if !slices.Contains(advisor.Families(), advisor.Family(c.Advisor)) {
			return fmt.Errorf("no such advisor: %q; there are %v", c.Advisor, advisor.Families())
		}
		name += "_" + c.Advisor
	}
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	t, err := s.Report(ctx, name)
	if err != nil {
		return err
	}
	if c.Format == "text" {
		printFindings(os.Stdout, t)
		return nil
	}
	return printReport(os.Stdout, t, c.Format)
}

type findingsKindsCmd struct{}

// Run prints the registry.
func (findingsKindsCmd) Run() error {
	for _, k := range advisor.Kinds() {
		fmt.Printf("%-24s %-14s %s\n%-24s %-14s %s\n", k.Kind, k.Advisor, k.Title, "", "", k.Doc)
	}
	return nil
}

// muteFlags say which findings are meant.
type muteFlags struct {
	configFlags
	Kind        string `arg:"" help:"The kind; hs2proxy findings kinds lists them."`
	Fingerprint string `help:"Of one query only." placeholder:"F"`
	Table       string `help:"About one table only, as database.table." placeholder:"T"`
	Reason      string `required:"" help:"Why; kept on record with your name."`
}

func (c muteFlags) mute() (store.Mute, error) {
	m := store.Mute{Kind: advisor.FindingKind(c.Kind), Fingerprint: c.Fingerprint, Reason: c.Reason, By: operator()}
	if strings.TrimSpace(c.Reason) == "" {
		return m, fmt.Errorf("say why with --reason")
	}
	if _, ok := advisor.KindOf(m.Kind); !ok {
		return m, fmt.Errorf("no such kind: %q; hs2proxy findings kinds lists them", c.Kind)
	}
	if c.Table == "" {
		return m, nil
	}
	name, err := hiveql.ParseTableName(c.Table)
	if err != nil {
		return m, err
	}
	if name.Database == "" {
		return m, fmt.Errorf("%s: name the database too, as database.%s", c.Table, name.Table)
	}
	m.Table = name.String()
	return m, nil
}

type findingsMuteCmd struct {
	muteFlags
	Until string `help:"End of the muting: a day such as 2027-01-31, which begins at 00:00 UTC, or a time as RFC 3339." placeholder:"DATE"`
}

// Run mutes.
func (c findingsMuteCmd) Run(ctx context.Context) error {
	m, err := c.mute()
	if err != nil {
		return err
	}
	if m.Until, err = parseUntil(c.Until, time.Now()); err != nil {
		return err
	}
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.MuteFindings(ctx, m)
	if err != nil {
		return err
	}
	until := "until it is taken back"
	if !m.Until.IsZero() {
		until = "until " + m.Until.Format(time.RFC3339)
	}
	fmt.Printf("%s muted %s, %d findings so far\n", scope(m), until, n)
	return nil
}

type findingsUnmuteCmd struct{ muteFlags }

// Run takes a muting back.
func (c findingsUnmuteCmd) Run(ctx context.Context) error {
	m, err := c.mute()
	if err != nil {
		return err
	}
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.UnmuteFindings(ctx, m)
	if err != nil {
		return err
	}
	fmt.Printf("%s no longer muted, %d findings so far\n", scope(m), n)
	return nil
}

func scope(m store.Mute) string {
	text := string(m.Kind)
	if m.Fingerprint != "" {
		text += " of query " + m.Fingerprint
	}
	if m.Table != "" {
		text += " of table " + m.Table
	}
	return text
}

// parseUntil reads --until; the zero time for none.
func parseUntil(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		if t, err = time.Parse(time.RFC3339, s); err != nil {
			return time.Time{}, fmt.Errorf("--until %q: write a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z", s)
		}
	}
	if !t.After(now) {
		return time.Time{}, fmt.Errorf("--until %s is past", s)
	}
	return t, nil
}
