package statscheck

import (
	"context"
	"fmt"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// ReadShape reads a table's columns, partition columns, kind and properties by DESCRIBE and SHOW TBLPROPERTIES, neither of which
// fetches a partition. There are no statistics in it, and ReadAt is zero. ErrTableGone means that there is no such table.
func ReadShape(ctx context.Context, hive Hive, table hiveql.TableName) (advisor.TableStats, error) {
	quoted, err := table.Quoted()
	if err != nil {
		return advisor.TableStats{}, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	columns, err := hive.Query(ctx, "DESCRIBE "+quoted)
	if err != nil {
		return advisor.TableStats{}, fmt.Errorf("read the columns of %s: %w", table, goneOr(err))
	}
	properties, err := hive.Query(ctx, "SHOW TBLPROPERTIES "+quoted)
	if err != nil {
		return advisor.TableStats{}, fmt.Errorf("read the properties of %s: %w", table, goneOr(err))
	}
	p := describer{stats: advisor.TableStats{Table: table.String(), Kind: kindManaged}, section: headColumns}
	for i, row := range columns.Rows {
		if err := p.row(cells(row)); err != nil {
			return advisor.TableStats{}, fmt.Errorf("%w: row %d: %w", ErrDescribe, i, err)
		}
	}
	for _, row := range properties.Rows {
		switch c := cells(row); c[0] {
		case "transactional", "storage_handler":
			if err := p.parameter(c[0], c[1]); err != nil {
				return advisor.TableStats{}, fmt.Errorf("%w: %w", ErrDescribe, err)
			}
		case "EXTERNAL":
			if strings.EqualFold(c[1], "true") {
				p.stats.Kind = kindExternal
			}
		}
	}
	return p.stats, nil
}
