package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// changes reads the flags that say what is changed, and what is swept.
func (c whatifCmd) changes() (advisor.WhatIf, []advisor.Sweep, error) {
	w := advisor.WhatIf{
		Release: advisor.Release(c.Release), Set: c.Set, Nodes: c.Nodes, Executors: c.Executors, Tables: map[string]advisor.TableChange{},
	}
	if c.Nodes < 0 || c.Executors < 0 || c.Limit < 0 {
		return w, nil, errors.New("--nodes, --executors and --limit are no negative numbers")
	}
	if s := advisor.SettingsFor(w.Release, c.Set); len(s.Malformed) > 0 {
		return w, nil, fmt.Errorf("--set %s: Hive does not take this value", s.Malformed[0])
	}
	for _, text := range c.Table {
		if err := tableChange(w.Tables, text); err != nil {
			return w, nil, fmt.Errorf("--table %s: %w", text, err)
		}
	}
	for _, text := range c.Bucket {
		if err := bucketChange(w.Tables, text); err != nil {
			return w, nil, fmt.Errorf("--bucket %s: %w", text, err)
		}
	}
	var sweeps []advisor.Sweep
	for _, text := range c.Sweep {
		s, err := parseSweep(text)
		if err != nil {
			return w, nil, fmt.Errorf("--sweep %s: %w", text, err)
		}
		sweeps = append(sweeps, s)
	}
	if len(sweeps) == 0 && !changes(&w) {
		return w, nil, errors.New("nothing to change: give --set, --nodes, --executors, --release, --table, --bucket or --sweep")
	}
	return w, sweeps, nil
}

func changes(w *advisor.WhatIf) bool {
	return w.Release != "" || len(w.Set) > 0 || w.Nodes > 0 || w.Executors > 0 || len(w.Tables) > 0
}

// tableChange reads db.table:rows=N,bytes=N,ndv.COLUMN=N,nulls.COLUMN=N.
func tableChange(tables map[string]advisor.TableChange, text string) error {
	name, list, ok := strings.Cut(text, ":")
	if !ok {
		return errors.New("write db.table:rows=N")
	}
	name, err := fullTableName(name)
	if err != nil {
		return err
	}
	change := tables[name]
	for part := range strings.SplitSeq(list, ",") {
		what, value, ok := strings.Cut(part, "=")
		kind, column, ofColumn := strings.Cut(what, ".")
		column = strings.ToLower(column)
		switch {
		case !ok || ofColumn && column == "":
			err = fmt.Errorf("%q is no change: write rows=N, bytes=N, ndv.COLUMN=N or nulls.COLUMN=N", part)
		case what == "rows":
			change.Rows, err = amount(value, parseCount)
		case what == "bytes":
			change.Bytes, err = amount(value, parseBytes)
		case kind == "ndv" && ofColumn:
			err = putCount(&change.NDV, column, value)
		case kind == "nulls" && ofColumn:
			err = putCount(&change.Nulls, column, value)
		default:
			err = fmt.Errorf("%q is not known: there are rows, bytes, ndv.COLUMN and nulls.COLUMN", what)
		}
		if err != nil {
			return err
		}
	}
	tables[name] = change
	return nil
}

func putCount(to *map[string]int64, column, value string) error {
	n, err := parseCount(value)
	if err != nil {
		return err
	}
	if *to == nil {
		*to = map[string]int64{}
	}
	(*to)[column] = n
	return nil
}

// bucketChange reads db.table:col=A,B:buckets=N, with :sort=A or :sort=none; buckets=0 takes the buckets away.
func bucketChange(tables map[string]advisor.TableChange, text string) error {
	parts := strings.Split(text, ":")
	name, err := fullTableName(parts[0])
	if err != nil {
		return err
	}
	b := advisor.Bucketing{Count: -1}
	sort := ""
	for _, part := range parts[1:] {
		what, value, _ := strings.Cut(part, "=")
		switch what {
		case "col":
			b.Columns = columnList(value)
		case "sort":
			sort = value
		case "buckets":
			n, err := strconv.ParseInt(value, 10, 31)
			if err != nil || n < 0 {
				return fmt.Errorf("%q is no number of buckets", value)
			}
			b.Count = int(n)
		default:
			return fmt.Errorf("%q is not known: there are col, buckets and sort", what)
		}
	}
	switch {
	case b.Count < 0:
		return errors.New("no number of buckets: write db.table:col=COLUMN:buckets=N")
	case b.Count > 0 && len(b.Columns) == 0:
		return errors.New("no column: write db.table:col=COLUMN:buckets=N")
	case sort == "":
		b.Sort = slices.Clone(b.Columns)
	case sort != "none":
		b.Sort = columnList(sort)
	}
	change := tables[name]
	change.Buckets = &b
	tables[name] = change
	return nil
}

func columnList(text string) []string {
	var out []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// parseSweep reads NAME=FROM..TO.
func parseSweep(text string) (advisor.Sweep, error) {
	name, limits, _ := strings.Cut(text, "=")
	from, to, ok := strings.Cut(limits, "..")
	if !ok {
		return advisor.Sweep{}, errors.New("write NAME=FROM..TO")
	}
	s, err := advisor.NewSweep(name, 1, 1)
	if err != nil {
		return s, err
	}
	parse := parseCount
	if s.Bytes {
		parse = parseBytes
	}
	low, err := parse(from)
	if err != nil {
		return s, err
	}
	high, err := parse(to)
	if err != nil {
		return s, err
	}
	return advisor.NewSweep(name, low, high)
}

func fullTableName(text string) (string, error) {
	name, err := hiveql.ParseTableName(text)
	if err != nil {
		return "", err
	}
	if name.Database == "" {
		return "", fmt.Errorf("name the database too, as database.%s", name.Table)
	}
	return name.String(), nil
}

// amount reads a number, or a factor such as 2x.
func amount(text string, parse func(string) (int64, error)) (*advisor.Amount, error) {
	if factor, ok := strings.CutSuffix(text, "x"); ok {
		f, err := strconv.ParseFloat(factor, 64)
		if err != nil || !(f > 0) || f > 1e9 {
			return nil, fmt.Errorf("%q is no factor", text)
		}
		return &advisor.Amount{Factor: f}, nil
	}
	n, err := parse(text)
	return &advisor.Amount{Number: n}, err
}

// byteUnits are decimal, as Hive's defaults are, and binary where the name says so.
var byteUnits = map[string]float64{
	"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "pb": 1e15, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "pib": 1 << 50,
}

var countUnits = map[string]float64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "bn": 1e9, "t": 1e12}

func parseBytes(text string) (int64, error) { return parseUnit(text, "bytes", byteUnits) }

func parseCount(text string) (int64, error) { return parseUnit(text, "a number", countUnits) }

func parseUnit(text, what string, units map[string]float64) (int64, error) {
	digits := strings.TrimRight(strings.ToLower(strings.TrimSpace(text)), "abcdefghijklmnopqrstuvwxyz ")
	unit, ok := units[strings.TrimSpace(strings.ToLower(strings.TrimSpace(text))[len(digits):])]
	digits = strings.ReplaceAll(digits, ",", "")
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil && unit == 1 && n >= 0 {
		return n, nil // all digits count
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || !ok || f < 0 || f*unit >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not %s", text, what)
	}
	return int64(math.Round(f * unit)), nil
}

// parseSince reads a date, a time (UTC unless it says otherwise), or how long before now.
func parseSince(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.DateTime, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n >= 0 && n < 1e5 {
			return now.Add(-time.Duration(n * 24 * float64(time.Hour))), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("--since %s: neither a date, a time nor a duration such as 7d or 36h", text)
}
