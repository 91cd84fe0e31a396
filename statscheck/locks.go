package statscheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// writerLocks are the types of locks that writers hold or wait for (org.apache.hadoop.hive.metastore.api.LockType and, without
// transactions, HiveLockMode). Readers and ANALYZE take SHARED_READ or SHARED.
var writerLocks = []string{"EXCLUSIVE", "EXCL_WRITE", "SHARED_WRITE", "EXCL_DROP"}

// tableLock is a writer's lock on a table, as SHOW LOCKS prints it.
type tableLock struct{ Type, State, Who string }

func (l tableLock) String() string {
	text := strings.TrimSpace(l.Type + " " + strings.ToLower(l.State))
	if l.Who != "" {
		text += " by " + l.Who
	}
	return text
}

// showLocks asks for the writers' locks on a table. A server without a lock manager has none, and refuses to tell: that is no error.
//
// With DbTxnManager Hive looks for a table of the name "database.table" in the current database when a table is named with its
// database (ShowLocksOperation of 4.0.1), and finds no lock ever. So all locks of the database are asked for first, and those of other
// tables left out. Other lock managers answer that with the locks on the database itself, and are asked for the table's too.
func showLocks(ctx context.Context, hive Hive, table hiveql.TableName) ([]tableLock, error) {
	quoted, err := table.Quoted()
	if err != nil {
		return nil, err
	}
	database, err := hiveql.QuoteIdentifier(table.Database)
	if err != nil {
		return nil, err
	}
	for _, sql := range []string{"SHOW LOCKS DATABASE " + database, "SHOW LOCKS " + quoted} {
		result, err := hive.Query(ctx, sql)
		if refused := (*client.Error)(nil); errors.As(err, &refused) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look at the locks: %w", err)
		}
		if locks := parseLocks(result.Rows, table); len(locks) > 0 {
			return locks, nil
		}
	}
	return nil, nil
}

// lockColumns are how many cells SHOW LOCKS has with DbTxnManager in Hive 3 and 4 (ShowLocksDesc.NEW_FORMAT_SCHEMA), and where in them
// the table, the user and the host are; the table is NULL in a lock on the database. Other versions and lock managers have other
// cells: types and states are known by their words.
const (
	lockColumns    = 13
	lockTablePlace = 2
	lockUserPlace  = 10
	lockHostPlace  = 11
	lockNoTable    = "NULL"
)

// parseLocks are the writers' locks among rows about the table's database.
func parseLocks(rows [][]*string, table hiveql.TableName) []tableLock {
	var out []tableLock
	for _, row := range rows {
		cells := make([]string, 0, lockColumns)
		for _, c := range row {
			if c == nil {
				cells = append(cells, "")
				continue
			}
			for part := range strings.SplitSeq(*c, "\t") { // some clients' servers print one cell for the line
				cells = append(cells, strings.TrimSpace(part))
			}
		}
		i := slices.IndexFunc(cells, func(c string) bool { return slices.Contains(writerLocks, strings.ToUpper(c)) })
		if i < 0 {
			continue
		}
		if len(cells) >= lockColumns && cells[lockTablePlace] != lockNoTable && !strings.EqualFold(cells[lockTablePlace], table.Table) {
			continue
		}
		l := tableLock{Type: strings.ToUpper(cells[i])}
		if j := slices.IndexFunc(cells, func(c string) bool { return c == "ACQUIRED" || c == "WAITING" }); j >= 0 {
			l.State = cells[j]
		}
		if len(cells) >= lockColumns {
			l.Who = strings.Trim(cells[lockUserPlace]+"@"+cells[lockHostPlace], "@")
		}
		out = append(out, l)
	}
	return out
}

// putBack ends an attempt without an outcome: the refresh waits again until a time.
type putBack struct {
	until time.Time
	why   string
}

func (p *putBack) Error() string { return p.why }

// awaitWriters looks at the locks until no writer holds or awaits one, for at most LockWait; then the refresh is put back. Each
// time in a row doubles the pause before the next attempt.
func (r *Runner) awaitWriters(ctx context.Context, session Session, table hiveql.TableName, job *Refresh) error {
	if r.cfg.LockWait <= 0 {
		return nil
	}
	began := r.cfg.Now()
	for first := true; ; first = false {
		look, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
		locks, err := showLocks(look, session, table)
		cancel()
		if err != nil || len(locks) == 0 {
			return err
		}
		waited := r.cfg.Now().Sub(began)
		if waited >= r.cfg.LockWait {
			return &putBack{until: r.cfg.Now().Add(r.pause(job.PutBacks)), why: fmt.Sprintf("put back: a writer's lock after %s: %s", waited.Round(time.Second), locks[0])}
		}
		if first {
			r.progress(ctx, *job, "waits for a writer's lock: "+locks[0].String())
		}
		timer := time.NewTimer(min(r.cfg.LockPoll, r.cfg.LockWait-waited))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// maxPause bounds the pause before a refresh that was put back runs again.
const maxPause = 2 * time.Hour

// pause is how long a refresh that was put back waits: PutBackPause, doubled each time before.
func (r *Runner) pause(before int) time.Duration {
	pause := r.cfg.PutBackPause
	for range before {
		if pause *= 2; pause >= maxPause {
			return maxPause
		}
	}
	return pause
}
