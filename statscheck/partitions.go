package statscheck

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// isPattern tells a pattern from a partition's name: SHOW PARTITIONS escapes * and ? in values.
func isPattern(partition string) bool { return strings.ContainsAny(partition, "*?") }

// matchPartition takes * for any characters, across the levels of partitions, and ? for one.
func matchPartition(pattern string) func(string) bool {
	quoted := regexp.QuoteMeta(pattern)
	re := regexp.MustCompile("^" + strings.ReplaceAll(strings.ReplaceAll(quoted, `\*`, ".*"), `\?`, ".") + "$")
	return re.MatchString
}

// expandPartitions replaces patterns by the partitions that match, each once, the last by name first: of dates those are the
// youngest. More than MaxNamedPartitions are refused, since those left out would pass for refreshed.
func expandPartitions(ctx context.Context, hive Hive, table hiveql.TableName, wanted []string) ([]string, error) {
	if !slices.ContainsFunc(wanted, isPattern) {
		return wanted, nil
	}
	quoted, err := table.Quoted()
	if err != nil {
		return nil, err
	}
	result, err := hive.Query(ctx, "SHOW PARTITIONS "+quoted)
	if err != nil {
		return nil, fmt.Errorf("list the partitions: %w", goneOr(err))
	}
	var matches []func(string) bool
	var out []string
	for _, w := range wanted {
		if isPattern(w) {
			matches = append(matches, matchPartition(w))
		} else {
			out = append(out, w)
		}
	}
	named := make(map[string]bool, len(out))
	for _, name := range out {
		named[name] = true
	}
	for _, row := range result.Rows {
		if len(row) == 0 || row[0] == nil {
			continue
		}
		name := *row[0]
		if !named[name] && slices.ContainsFunc(matches, func(m func(string) bool) bool { return m(name) }) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no partition matches %s", strings.Join(wanted, ", "))
	}
	if len(out) > MaxNamedPartitions {
		return nil, fmt.Errorf("%d partitions match %s, and one refresh takes %d at most: name fewer, or ask for the whole table",
			len(out), strings.Join(wanted, ", "), MaxNamedPartitions)
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out, nil
}
