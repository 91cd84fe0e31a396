package pipeline

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// Overlay keys of an EXPLAIN: they hold for the one operation and leave the session as it was.
const (
	keyExplainUser = "hive.explain.user"
	keyLogLevel    = "hive.server2.logging.operation.level"
)

// explainIn explains in a session. It drops each key of ours that the server refuses: SQL-standard authorization's whitelist
// and hive.conf.restricted.list may forbid either. What was refused once is not sent again.
func (e *Explainer) explainIn(ctx context.Context, c *client.Conn, h client.Handle, t Target, statement string) (client.Result, error) {
	for {
		if t.form == formAnalyze && !e.allowed(client.AsyncCompile) {
			return client.Result{}, errNoCancel
		}
		overlay, ours := withoutRedacted(t.ConfOverlay), e.overlay(t.form)
		for _, k := range ours {
			overlay[k.key] = k.value
		}
		_, log := overlay[keyLogLevel]
		res, err := c.Run(ctx, h, statement, overlay, log)
		refused := slices.IndexFunc(ours, func(k overlayKey) bool { return overlayRefused(err, k.key) })
		if refused < 0 {
			return res, err
		}
		e.forbid(ours[refused].key)
	}
}

type overlayKey struct{ key, value string }

// overlay are the keys of ours that this server takes. Asynchronous compilation lets a compilation that takes too long be
// cancelled, since HiveServer2 otherwise answers ExecuteStatement only after it.
func (e *Explainer) overlay(f form) []overlayKey {
	keys := []overlayKey{{client.AsyncCompile, "true"}, {keyExplainUser, strconv.FormatBool(f != formExtended)}}
	if e.cfg.Witness && f == formExtended {
		keys = append(keys, overlayKey{keyLogLevel, "VERBOSE"})
	}
	return slices.DeleteFunc(keys, func(k overlayKey) bool { return !e.allowed(k.key) })
}

func (e *Explainer) allowed(key string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.mu.forbidden[key]
}

// Forbidden lists the settings of our EXPLAIN that this server has refused, sorted.
func (e *Explainer) Forbidden() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.mu.forbidden))
}

func (e *Explainer) forbid(key string) {
	e.mu.Lock()
	first := !e.mu.forbidden[key]
	e.mu.forbidden[key] = true
	e.mu.Unlock()
	if first {
		e.log.Warn().Str("setting", key).
			Msg("HiveServer2 refuses a setting of our EXPLAIN: add it to hive.security.authorization.sqlstd.confwhitelist.append")
	}
}

// overlayRefused: HiveConf.verifyAndSet's refusal names the setting.
func overlayRefused(err error, key string) bool {
	refused, ok := refusal(err)
	return ok && strings.Contains(refused.Message, "Cannot modify") && strings.Contains(refused.Message, key)
}

// withoutRedacted copies settings that can be sent again: the value of a secret is not known any more.
func withoutRedacted(settings map[string]string) map[string]string {
	out := maps.Clone(settings)
	if out == nil {
		return map[string]string{}
	}
	maps.DeleteFunc(out, func(_, value string) bool { return value == intercept.Redacted })
	return out
}
