package main

import (
	"regexp"
	"strings"
)

// masks take out what differs from run to run or tells of the machine.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\w+_\d{14}_[0-9a-f-]{36}(?::\d+)?`), "hive_0"},
	{regexp.MustCompile(`file:/[^\s,"\]]*?/(?:warehouse|warehouse_external|external)/(?:external/)?`), "file:/warehouse/"},
	{regexp.MustCompile(`file:/[^\s,"\]]*?/_tmp_space\.db/[0-9a-f-]{36}`), "file:/scratch/_tmp_space.db/0"},
	{regexp.MustCompile(`/_tmp_space\.db/[0-9a-f-]{36}`), "/_tmp_space.db/0"},
	{regexp.MustCompile(`file:/[^\s,"\]]*?/_tmp_space\.db/(merge_tmp_table)`), "file:/scratch/_tmp_space.db/$1"},
	{regexp.MustCompile(`(base file name: )[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "${1}0"}, // of a materialized CTE
	{regexp.MustCompile(`file:/[^\s,"\]]*?(-(?:ext|mr)-\d+)`), "file:/scratch/$1"},
	{regexp.MustCompile(`(transient_lastDdlTime"?[ :]+"?)\d+`), "${1}0"},
	{regexp.MustCompile(`(hive_(?:\d+-){2,}[0-9a-z_.-]+)`), "hive_0"},
	{regexp.MustCompile(`(last_modified_by"?[ :]+"?)\w+`), "${1}hive"},
	// Iceberg's handler prints the table it planned, serialized, over lines of their own.
	{regexp.MustCompile(`(iceberg\.mr\.serialized\.table\.\S+) (?:[A-Za-z0-9+/=]+\r?\n)+`), "$1 c2VyaWFs\naXplZA==\n"},
	{regexp.MustCompile(`(last_modified_time"?[ :]+"?)\d+`), "${1}0"},
}

// cboPlan is the plan of the cost-based optimizer, a text of its own that no join is read from.
var cboPlan = regexp.MustCompile(`"CBOPlan":"(?:[^"\\]|\\.)*",?`)

// formats are EXTENDED's lines on files and their serialization, of which there are many and no join is read.
var formats = regexp.MustCompile(`(?m)^ +(?:input format|output format|file\.inputformat|file\.outputformat|serialization\.[a-z.]+|` +
	`current-snapshot-[a-z-]+|iceberg\.(?:mr\.table\.[a-z.]+|orc\.files\.only)|(?:previous_)?metadata_location|uuid|snapshot-count|parquet\.compression|` +
	`escape\.delim|hive\.serialization\.[a-z.]+|column\.name\.delimiter|columns\.comments|Stats Publishing Key Prefix)[: ].*\n`)

// mask makes a plan's text the same on every machine.
func mask(text string) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	text = cboPlan.ReplaceAllString(text, "")
	text = formats.ReplaceAllString(text, "")
	return strings.TrimRight(text, "\n") + "\n"
}
