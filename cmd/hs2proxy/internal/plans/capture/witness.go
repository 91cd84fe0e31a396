package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// witness are the sections that say what the proxy knows of a plan beside its text, as it learns them: the settings, the statistics of
// the tables (JSON by name), and the planner's own lines.
func witness(ctx context.Context, address string, q query, settings []string) (sections []txtar.File, err error) {
	conn, err := client.Dial(ctx, config(address))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	handle, err := conn.OpenSession(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.CloseSession(context.WithoutCancel(ctx), handle)) }()
	var set strings.Builder
	for _, statement := range settings {
		if _, err := conn.Run(ctx, handle, statement, nil, false); err != nil {
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
		if pair, ok := strings.CutPrefix(statement, "SET "); ok {
			set.WriteString(pair + "\n")
		}
	}
	result, err := conn.Run(ctx, handle, "EXPLAIN EXTENDED "+q.sql, map[string]string{"hive.server2.logging.operation.level": "VERBOSE"}, true)
	if err != nil {
		return nil, err
	}
	plan, err := explain.Parse(textOf(result))
	if err != nil {
		return nil, err
	}
	facts := map[string]advisor.TableStats{}
	for _, need := range advisor.Needed(advisor.Joins(plan)) {
		table, err := hiveql.ParseTableName(need.Table)
		if err != nil {
			return nil, err
		}
		stats, err := statscheck.ReadTable(ctx, session{conn, handle}, table, need.Columns)
		if err != nil {
			return nil, err
		}
		stats.ReadAt = time.Time{}
		facts[need.Table] = stats
	}
	stats, err := json.MarshalIndent(facts, "", " ")
	if err != nil {
		return nil, err
	}
	return []txtar.File{
		{Name: "settings", Data: []byte(set.String())},
		{Name: "facts", Data: append(stats, '\n')},
		{Name: "planner", Data: []byte(decisions(result.Log))},
	}, nil
}

// decisions are the lines from the first decision on a join to the last one.
func decisions(log []string) string {
	var b strings.Builder
	deciding := false
	for _, line := range log {
		deciding = deciding || strings.Contains(line, "Memory monitor info set to")
		if !deciding || passing.MatchString(line) {
			continue
		}
		b.WriteString(strings.TrimSpace(line) + "\n")
		if strings.Contains(line, "Cycle free: ") {
			break
		}
	}
	return b.String()
}

// passing are lines of other steps of the planner.
var passing = regexp.MustCompile(`Number of reducers determined|Set parallelism|not considering bucketingVersion|RS \d+ (?:old|new)|JOIN \d+ (?:old|new)`)

// session is a session of a connection for readers of statistics.
type session struct {
	conn   *client.Conn
	handle client.Handle
}

func (s session) Query(ctx context.Context, sql string) (client.Result, error) {
	return s.conn.Run(ctx, s.handle, sql, nil, false)
}
