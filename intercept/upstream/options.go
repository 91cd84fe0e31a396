package upstream

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/rs/zerolog"
)

// Defaults of Options.
const (
	DefaultMinBackoff   = time.Second
	DefaultMaxBackoff   = 30 * time.Second
	DefaultProbeTimeout = 5 * time.Second
)

// Options are common to all kinds of Set. A zero field stands for its default.
type Options struct {
	// MinBackoff is how long a server goes behind the others after a failed dial; it doubles with each further failure up to
	// MaxBackoff and is forgotten after a success.
	MinBackoff, MaxBackoff time.Duration
	// Probe is the period of the active check: a TCP connection that is closed at once, only ever to a server whose last dial
	// failed, so that a healthy HiveServer2 sees none (older versions log an error for a connection without a login). 0 turns it
	// off; then one client's connect tries the server after its back-off. With a check no client has to.
	Probe time.Duration
	// ProbeTimeout bounds one check.
	ProbeTimeout time.Duration
	// Dial connects for the checks and to ZooKeeper; a net.Dialer's DialContext when nil.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Now is time.Now when nil.
	Now func() time.Time
	// OnChange, when set, is told of each change right after it, outside the Set's locks. It must not block; changes that happen
	// at the same moment may come from several goroutines.
	OnChange func(Change)
	// Log gets each change too.
	Log zerolog.Logger
}

func (o Options) withDefaults() (Options, error) {
	for name, d := range map[string]*time.Duration{
		"least back-off": &o.MinBackoff, "largest back-off": &o.MaxBackoff, "probe period": &o.Probe, "probe timeout": &o.ProbeTimeout,
	} {
		if *d < 0 {
			return o, fmt.Errorf("%s %s: must not be negative", name, *d)
		}
	}
	if o.MinBackoff == 0 {
		o.MinBackoff = DefaultMinBackoff
	}
	if o.MaxBackoff == 0 {
		o.MaxBackoff = max(DefaultMaxBackoff, o.MinBackoff)
	}
	if o.MaxBackoff < o.MinBackoff {
		return o, fmt.Errorf("largest back-off %s: must not be below the least, %s", o.MaxBackoff, o.MinBackoff)
	}
	if o.ProbeTimeout == 0 {
		o.ProbeTimeout = DefaultProbeTimeout
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// Kind says what changed.
type Kind uint8

// The kinds of Change.
const (
	Joined    Kind = iota + 1 // the server is listed, for the first time or again
	Left                      // it is no longer; its open connections go on
	Moved                     // it has other addresses, or publishes other settings
	Down                      // a dial failed, Err says why; it goes behind the others
	Up                        // a dial succeeded after failures
	Lost                      // ZooKeeper is away; the list stays as it was. No Server
	Recovered                 // ZooKeeper answered with the list again. No Server
)

// String is a word for logs.
func (k Kind) String() string {
	switch k {
	case Joined:
		return "joined"
	case Left:
		return "left"
	case Moved:
		return "moved"
	case Down:
		return "down"
	case Up:
		return "up"
	case Lost:
		return "lost"
	case Recovered:
		return "recovered"
	default:
		return "unknown"
	}
}

// Change is what Options.OnChange is told.
type Change struct {
	Kind   Kind
	Server *Server
	Err    error
}

func (s *Set) report(changes ...Change) {
	for _, c := range changes {
		log := &s.opts.Log
		switch c.Kind {
		case Joined:
			log.Info().Str("hiveserver2", c.Server.ID).Msg("new connections go to this HiveServer2, too")
		case Left:
			log.Info().Str("hiveserver2", c.Server.ID).Int64("open", c.Server.Open()).Msg("no new connections go to this HiveServer2")
		case Moved:
			log.Info().Str("hiveserver2", c.Server.ID).Str("binary", c.Server.Binary).Str("http", c.Server.HTTP).Msg("HiveServer2 published other settings")
		case Down:
			log.Warn().Str("hiveserver2", c.Server.ID).Err(c.Err).Msg("HiveServer2 cannot be reached")
		case Up:
			log.Info().Str("hiveserver2", c.Server.ID).Msg("HiveServer2 can be reached again")
		case Lost:
			log.Warn().Err(c.Err).Msg("ZooKeeper cannot be reached; the known HiveServer2s stay in use")
		case Recovered:
			log.Info().Msg("ZooKeeper can be reached again")
		}
		if s.opts.OnChange != nil {
			s.opts.OnChange(c)
		}
	}
}
