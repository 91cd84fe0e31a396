package app

import (
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
)

// sysViews reads Hive's sys database on a session of its own, whose settings no other statement is to see; nil where that is turned off.
// closeAnalyzer closes the session.
func (a *App) sysViews(login pipeline.Login) *pipeline.SysViews {
	if a.cfg.Stats.SysViews == config.SysOff {
		return nil
	}
	session := pipeline.NewService(login, pipeline.SysConf())
	session.Guard = a.explainer.Guard
	others := a.closeAnalyzer
	a.closeAnalyzer = func() {
		session.Close()
		others()
	}
	return pipeline.NewSysViews(session, a.log, time.Now)
}
