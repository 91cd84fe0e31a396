package pipeline

import (
	"context"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

const (
	setPrefix     = "set:"
	setConfPrefix = "set:hiveconf:"
	useDatabase   = "use:database"
	// closeTimeout bounds the closing of a mirror session.
	closeTimeout = 5 * time.Second
)

// variablePrefixes are the namespaces of SET that are not settings (SystemVariables): HiveSessionImpl takes them behind
// "set:" as they are.
var variablePrefixes = []string{"hivevar:", "metaconf:", "system:", "env:"}

// explainMirrored rebuilds the client's session on a connection of ours: OpenSession with its configuration, its settings
// as "set:hiveconf:" entries, its database. Temporary tables and macros are not there.
func (e *Explainer) explainMirrored(ctx context.Context, c *client.Conn, t Target, statement string) (client.Result, error) {
	h, err := c.OpenSession(ctx, mirrorConf(t))
	if err != nil {
		return client.Result{}, err
	}
	defer e.closeMirror(ctx, t.Server, c, h)
	return e.explainIn(ctx, c, h, t, statement)
}

// closeMirror closes the session whatever became of ctx, and of the connection: a server may keep sessions beyond it
// (hive.server2.close.session.on.disconnect=false).
func (e *Explainer) closeMirror(ctx context.Context, server string, c *client.Conn, h client.Handle) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if !c.Alive() {
		cfg, err := e.cfg.Login(server)
		if err == nil {
			c, err = client.Dial(ctx, cfg)
		}
		if err != nil {
			e.log.Debug().Err(err).Msg("mirror session left to HiveServer2's own clean-up")
			return
		}
		defer func() { _ = c.Close() }()
	}
	if err := c.CloseSession(ctx, h); err != nil { // the plan is there all the same
		e.log.Debug().Err(err).Msg("mirror session not closed")
		_ = c.Close()
	}
}

// mirrorConf is the OpenSession configuration that rebuilds a session. Secrets are not known any more and are left out.
func mirrorConf(t Target) map[string]string {
	conf := map[string]string{}
	for k, v := range withoutRedacted(t.Configuration) {
		if !strings.HasPrefix(k, setConfPrefix) && k != useDatabase {
			conf[k] = v
		}
	}
	for k, v := range withoutRedacted(t.Settings) {
		conf[setKey(k)] = v
	}
	if t.Database != "" {
		conf[useDatabase] = t.Database
	}
	return conf
}

func setKey(name string) string {
	for _, p := range variablePrefixes {
		if strings.HasPrefix(name, p) {
			return setPrefix + name
		}
	}
	return setConfPrefix + name
}
