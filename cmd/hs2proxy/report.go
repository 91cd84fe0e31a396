package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/hs2proxy/hs2proxy/store"
)

type reportCmd struct {
	configFlags
	Name   string `arg:"" optional:"" help:"The report, such as joins or stale_tables."`
	Format string `short:"f" enum:"table,csv,json" default:"table" help:"table, csv or json."`
}

// Run prints one report, or the list of them.
func (c reportCmd) Run(ctx context.Context) error {
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if c.Name == "" {
		return listReports(ctx, s, os.Stdout)
	}
	t, err := s.Report(ctx, c.Name)
	if err != nil {
		return err
	}
	return printReport(os.Stdout, t, c.Format)
}

func listReports(ctx context.Context, s *store.Store, w io.Writer) error {
	reports, err := s.Reports(ctx)
	if err != nil {
		return err
	}
	for _, r := range reports {
		if _, err := fmt.Fprintf(w, "%-26s %s\n", strings.TrimPrefix(r.Name, "report_"), r.Question); err != nil {
			return err
		}
	}
	return nil
}

func printReport(w io.Writer, t store.Table, format string) error {
	switch format {
	case "csv":
		return printCSV(w, t)
	case "json":
		return printJSON(w, t)
	default:
		return printTable(w, t)
	}
}

func printTable(w io.Writer, t store.Table) error {
	if len(t.Rows) == 0 {
		_, err := fmt.Fprintf(w, "%s: %s\n(no rows)\n", t.Name, t.Question)
		return err
	}
	tw := table.NewWriter()
	tw.SetStyle(table.StyleLight)
	tw.Style().Format.Header = text.FormatDefault
	if f, ok := w.(*os.File); ok && terminal(f) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			tw.Style().Size.WidthMax = width
		}
	}
	header := make(table.Row, len(t.Columns))
	columns := make([]table.ColumnConfig, len(t.Columns))
	for i, c := range t.Columns {
		header[i] = c
		columns[i] = table.ColumnConfig{Number: i + 1, WidthMax: 44, WidthMaxEnforcer: text.WrapSoft}
	}
	tw.AppendHeader(header)
	tw.SetColumnConfigs(columns)
	for _, row := range t.Rows {
		cells := make(table.Row, len(row))
		for i, v := range row {
			cells[i] = cell(v)
		}
		tw.AppendRow(cells)
	}
	_, err := fmt.Fprintf(w, "%s: %s\n%s\n", t.Name, t.Question, tw.Render())
	return err
}

func printCSV(w io.Writer, t store.Table) error {
	cw := csv.NewWriter(w)
	if err := cw.Write(t.Columns); err != nil {
		return err
	}
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = cell(v)
		}
		if err := cw.Write(cells); err != nil {
			return err
		}
	}
	cw.Flush()
	return cw.Error()
}

// printJSON prints an array of objects, keys in column order.
func printJSON(w io.Writer, t store.Table) error {
	var b strings.Builder
	b.WriteByte('[')
	for i, row := range t.Rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  {")
		for j, v := range row {
			if j > 0 {
				b.WriteString(", ")
			}
			if d, ok := v.(time.Duration); ok {
				v = d.Seconds()
			}
			value, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("column %s: %w", t.Columns[j], err)
			}
			fmt.Fprintf(&b, "%q: %s", t.Columns[j], value)
		}
		b.WriteByte('}')
	}
	b.WriteString("\n]\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// cell is a value as a person reads it.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Time:
		return v.Format("2006-01-02 15:04:05Z")
	case time.Duration:
		return v.Round(time.Millisecond).String()
	case []string:
		return strings.Join(v, ", ")
	case json.RawMessage:
		return string(v)
	case float64:
		return fmt.Sprintf("%.4g", v)
	default:
		return fmt.Sprint(v)
	}
}
