package statscheck

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// baseTables are the tables that a view reads, through views below it too, by EXPLAIN DEPENDENCY.
func baseTables(ctx context.Context, hive Hive, view hiveql.TableName) ([]string, error) {
	quoted, err := view.Quoted()
	if err != nil {
		return nil, err
	}
	result, err := hive.Query(ctx, "EXPLAIN DEPENDENCY SELECT * FROM "+quoted)
	if err != nil {
		return nil, fmt.Errorf("find the view's base tables: %w", err)
	}
	var text strings.Builder
	for _, row := range result.Rows {
		if len(row) > 0 && row[0] != nil {
			text.WriteString(*row[0])
		}
	}
	var found struct {
		Tables []struct {
			Name string `json:"tablename"` // database@table
			Type string `json:"tabletype"`
		} `json:"input_tables"`
	}
	if err := json.Unmarshal([]byte(text.String()), &found); err != nil {
		return nil, fmt.Errorf("find the view's base tables: %w", err)
	}
	var out []string
	for _, t := range found.Tables {
		name := strings.ToLower(strings.Replace(t.Name, "@", ".", 1))
		if t.Type != kindView && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// delegate requests a refresh of each base table of a view instead of the view's own, which does not exist.
func (r *Runner) delegate(ctx context.Context, session Session, view hiveql.TableName, job *Refresh) error {
	if r.cfg.Request == nil {
		return fmt.Errorf("%s", viewRefusal)
	}
	look, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	tables, err := baseTables(look, session, view)
	if err != nil {
		return fmt.Errorf("%s: %w", viewRefusal, err)
	}
	if len(tables) == 0 {
		return fmt.Errorf("%s, of which it has none", viewRefusal)
	}
	var said []string
	for _, name := range tables {
		next := Refresh{
			Upstream: job.Upstream, Table: name, Mode: job.Mode, NotAfter: job.NotAfter, Schedule: job.Schedule, WindowStart: job.WindowStart,
			Budget: job.Budget, Priority: job.Priority, Reason: fmt.Sprintf("base table of the view %s: %s", job.Table, job.Reason), RequestedBy: job.RequestedBy,
		}
		id, _, err := r.cfg.Request(look, next)
		if err != nil {
			said = append(said, fmt.Sprintf("%s not: %v", name, err))
			continue
		}
		said = append(said, fmt.Sprintf("refresh %d of %s", id, name))
	}
	return &Canceled{Reason: fmt.Sprintf("%s; requested instead: %s", "a view holds no data", strings.Join(said, ", "))}
}
