package app

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/admin"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
)

// expirySoon is how long before its end a certificate is warned of.
const expirySoon = 21 * 24 * time.Hour

// certificate is the files of one side, tlsfiles' ServerTLS or ClientTLS.
type certificate struct {
	field, side string
	files       interface {
		NotAfter() time.Time
		Warnings(now time.Time) []string
	}
}

func (a *App) certificates() []certificate {
	var out []certificate
	if a.door.tls != nil {
		out = append(out, certificate{"clients.tls", admin.SideClients, a.door.tls})
	}
	if a.way.TLS != nil {
		out = append(out, certificate{"upstream.tls", admin.SideUpstream, a.way.TLS})
	}
	return out
}

// watchExpiry tells of certificates that are not valid, or will soon not be, now and after each reload. Nothing is refused for it:
// the other side judges.
func (a *App) watchExpiry() {
	certificates := a.certificates()
	tell := func() { tellExpiry(a.log, certificates, time.Now()) }
	tell()
	// The last part, so that the files have been read again.
	a.reload.parts = append(a.reload.parts, part{always: true, prepare: func(config.Config) (func(), error) { return tell, nil }})
}

func tellExpiry(log zerolog.Logger, certificates []certificate, now time.Time) {
	for _, c := range certificates {
		warnings := c.files.Warnings(now)
		for _, w := range warnings {
			log.Warn().Str("field", c.field).Str("problem", w).Str("advice", "replace the file, then reload").Msg("certificate is not valid")
		}
		if end := c.files.NotAfter(); len(warnings) == 0 && !end.IsZero() && end.Sub(now) < expirySoon {
			log.Warn().Str("field", c.field).Time("not_after", end).Int("days_left", int(end.Sub(now)/(24*time.Hour))).
				Str("advice", "replace the file, then reload").Msg("certificate expires soon")
		}
	}
}
