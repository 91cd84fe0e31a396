package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/advise"
	"github.com/hs2proxy/hs2proxy/advisor/dynamicfilter"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/movement"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
)

type explainCmd struct {
	configFlags
	SQL      string `arg:"" optional:"" help:"The query; - or nothing reads standard input."`
	File     string `short:"F" type:"existingfile" help:"Read the query (or, with --plan, the plan) from a file." placeholder:"FILE"`
	Plan     bool   `help:"The text is EXPLAIN output already: judge it without a server."`
	Upstream string `help:"HiveServer2 as host:port, in place of the configuration's." placeholder:"HOST:PORT"`
	releaseFlag
	Database string            `short:"d" default:"default" help:"Current database of the query."`
	Set      map[string]string `short:"s" help:"A setting of the session; repeat for more." placeholder:"KEY=VALUE"`
	Text     bool              `help:"Print the plan text too."`
	TopKeys  bool              `help:"Count the most frequent key of each side that a join shuffles: a query over each of their tables."`
}

// Run explains one query.
func (c explainCmd) Run(ctx context.Context) error {
	text, err := c.text()
	if err != nil {
		return err
	}
	if c.Plan {
		return c.judge(text)
	}
	info, err := explainable(text)
	if err != nil {
		return err
	}
	server, err := c.connect(ctx, c.Upstream, c.releaseFlag)
	if err != nil {
		return err
	}
	defer server.close()
	analysis, plan, err := server.analyze(ctx, text, info, pipeline.Target{Settings: c.Set, Database: c.Database})
	if analysis != nil && c.Text {
		fmt.Println(analysis.PlanText)
	}
	if err != nil {
		return err
	}
	q := advisor.Query{SQL: text, Plan: plan, Verdicts: analysis.Joins, Settings: analysis.JoinSettings(), Version: analysis.HiveVersion}
	findings := analysis.Findings
	var measured movement.Measured
	if c.TopKeys {
		if measured, err = server.topKeys(ctx, q.Verdicts); err != nil {
			return err
		}
		findings = withSkew(findings, q, measured)
	}
	printQuery(os.Stdout, q, findings)
	printTopKeys(os.Stdout, q.Verdicts, measured)
	return nil
}

func (c explainCmd) text() (string, error) {
	switch {
	case c.File != "":
		b, err := os.ReadFile(c.File)
		return string(b), err
	case c.SQL != "" && c.SQL != "-":
		return c.SQL, nil
	default:
		b, err := io.ReadAll(os.Stdin)
		if err == nil && strings.TrimSpace(string(b)) == "" {
			err = errors.New("no query: give it as an argument, with --file, or on standard input")
		}
		return string(b), err
	}
}

func (c explainCmd) judge(text string) error {
	if explain.IsMaxCompute(text) {
		plan, err := explain.ParseMaxCompute(text)
		if err == nil {
			fmt.Println(strings.Join(dynamicfilter.MaxComputeLines(plan), "\n"))
		}
		return err
	}
	plan, err := explain.Parse(text)
	if err != nil {
		return err
	}
	release, err := c.offline(c.configFlags)
	if err != nil {
		return err
	}
	q := advisor.Query{Plan: plan, Settings: advisor.NewSettings(release.Fill(c.Set, ""))}
	for _, j := range advisor.Joins(plan) {
		q.Verdicts = append(q.Verdicts, advisor.Judge(j, q.Settings))
	}
	printQuery(os.Stdout, q, advise.Findings(q))
	return nil
}

// printQuery prints the joins and findings of a query, then what is known of its predicates and of the keys that could filter.
func printQuery(w io.Writer, q advisor.Query, findings []advisor.Finding) {
	filters := dynamicfilter.Of(q)
	printJoins(w, q, verbatim(findings, q), dynamicfilter.Drops(filters))
	printPredicates(w, q)
	for _, f := range filters {
		fmt.Fprintf(w, "filter: %s\n", dynamicfilter.Describe(q, f))
	}
}

// printJoins prints each join with its verdict, the path to it, what it moves and what would change it, then the findings. drops are the
// shares of inputs that filters drop before they move, by join and input.
func printJoins(w io.Writer, q advisor.Query, findings []advisor.Finding, drops map[int]map[int]float64) {
	verdicts, s := q.Verdicts, q.Settings
	if len(verdicts) == 0 {
		fmt.Fprintln(w, "no join in this plan")
	}
	shown := shownLevers{}
	for _, v := range verdicts {
		mark := "="
		if !v.Verdict.Agrees {
			mark = "≠"
		}
		fmt.Fprintf(w, "join %d in %s: planned %s %s simulated %s\n", v.Join.Ordinal, v.Join.Vertex, v.Verdict.Planned, mark, v.Verdict.Simulated)
		for i, in := range v.Join.Inputs {
			role := ""
			if i == v.Join.BigTable {
				role = ", streamed"
			}
			size := "unknown"
			if i < len(v.Decision.OnlineDataSizes) {
				size = fmt.Sprintf("%d B", v.Decision.OnlineDataSizes[i])
			}
			fmt.Fprintf(w, "  input %d %s: %d rows, %d B, as a hash table %s%s\n", i, strings.Join(in.Tables, "+"), in.Rows, in.DataSize, size, role)
		}
		printPath(w, &v.Decision)
		fmt.Fprintf(w, "  why: %s\n", v.Decision.Reason)
		if m := v.Decision.Margin; m != nil {
			fmt.Fprintf(w, "  margin: %s when the hashed side is %.2f times what it is\n", m.Next, m.Factor)
		}
		for _, u := range v.Decision.Uncertain {
			fmt.Fprintf(w, "  assumed: %s\n", u)
		}
		if moves := movement.DescribeFiltered(v, s.Nodes, v.Decision.Budget, drops[v.Join.Ordinal]); moves != "" {
			fmt.Fprintf(w, "  moves: %s\n", moves)
		}
		levers := advisor.Levers(v, s)
		printLevers(w, levers)
		shown.add(v.Join.Ordinal, levers)
	}
	for _, f := range findings {
		f.Advice = shown.refer(f)
		printFinding(w, f)
	}
}
