package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// openRetries is how often a refresh is put back because HiveServer2 cannot be reached, before it fails.
const openRetries = 5

// refreshConf is what a session that runs ANALYZE is opened with: service.settings, over them statistics.refresh.settings and the queue.
func (r *refresher) refreshConf() map[string]string {
	settings := maps.Clone(r.cfg.Service.Settings)
	if settings == nil {
		settings = map[string]string{}
	}
	maps.Copy(settings, r.cfg.Stats.Refresh.Settings)
	if queue := r.cfg.Stats.Refresh.Queue; queue != "" {
		settings["tez.queue.name"] = queue
	}
	conf := make(map[string]string, len(settings))
	for k, v := range settings {
		conf["set:hiveconf:"+k] = v
	}
	return conf
}

// OpenSession opens a session of the service user for one refresh. HiveServer2 ends it with its connection, and what runs in it, so
// that a proxy which is killed leaves nothing behind. Over HTTP, or with hive.server2.close.session.on.disconnect=false, it does not:
// hence the tag, by which the next attempt ends what the last one left.
func (r *refresher) OpenSession(ctx context.Context, job statscheck.Refresh) (statscheck.Session, error) {
	cc, err := r.login("")
	if err != nil {
		return nil, err
	}
	cc.CallTimeout = r.cfg.Stats.Refresh.Timeout
	if job.Lost > 0 {
		if err := r.endOrphan(ctx, cc, job); err != nil {
			return nil, err
		}
	}
	session, err := client.Open(ctx, cc, r.refreshConf())
	if err != nil {
		return nil, err
	}
	if err := r.mark(ctx, session, job); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return session, nil
}

// refreshTag is hive.query.tag of a refresh's session.
func refreshTag(id int64) string { return fmt.Sprintf("hs2proxy_refresh_%d", id) }

// orphanTimeout is how long KILL QUERY may take. HiveServer2 cancels its own operations first; then it asks YARN for applications with the
// tag (KillQueryImpl), and where no ResourceManager answers, as with LLAP on Kubernetes, it tries that for minutes.
const orphanTimeout = 15 * time.Second

// endOrphan ends what a lost attempt of the refresh may have left running. Its session is closed, whatever becomes of KILL QUERY, which
// the server may refuse.
func (r *refresher) endOrphan(ctx context.Context, cc client.Config, job statscheck.Refresh) error {
	session, err := client.Open(ctx, cc, nil)
	if err != nil {
		return err
	}
	killing, cancel := context.WithTimeout(ctx, orphanTimeout)
	defer cancel()
	_, err = session.Query(killing, "KILL QUERY '"+refreshTag(job.ID)+"'")
	closed := session.Close()
	if refused := (*client.Error)(nil); errors.As(err, &refused) || killing.Err() != nil && ctx.Err() == nil {
		r.log.Debug().Int64("refresh", job.ID).AnErr("error", err).Msg("KILL QUERY of a lost attempt did not end well")
		return nil
	}
	return errors.Join(err, closed)
}

// mark tags the session. A server that refuses the tag goes without.
func (r *refresher) mark(ctx context.Context, session statscheck.Session, job statscheck.Refresh) error {
	_, err := session.Query(ctx, "SET hive.query.tag="+refreshTag(job.ID))
	if refused := (*client.Error)(nil); errors.As(err, &refused) {
		r.log.Debug().Int64("refresh", job.ID).Str("words", refused.Message).Msg("a refresh's session goes without its tag")
		return nil
	}
	return err
}
