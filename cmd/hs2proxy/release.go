package main

import (
	"fmt"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
)

// releaseFlag names the release to judge by.
type releaseFlag struct {
	Release string `help:"Whose rules and defaults, in place of the server's: hive-4, hive-3, hive-2 or a name of the configuration's releases." placeholder:"NAME"`
}

// over puts the flag over the configuration, which is validated after.
func (f releaseFlag) over(cfg *config.Config) {
	if f.Release != "" {
		cfg.Upstream.Release = f.Release
	}
}

// offline is the release where no server is asked: the flag's, else the configuration's, else Hive 4.
func (f releaseFlag) offline(flags configFlags) (advisor.Profile, error) {
	cfg, err := flags.load()
	if err != nil {
		return advisor.Profile{}, err
	}
	f.over(&cfg)
	if err := cfg.Releases.Validate(); err != nil {
		return advisor.Profile{}, err
	}
	if name := cfg.Upstream.Release; name != "" && !cfg.Releases.Knows(name) {
		return advisor.Profile{}, fmt.Errorf("release %q is not known, want one of %s", name, strings.Join(cfg.Releases.Names(), ", "))
	}
	return cfg.Releases.Choose(cfg.Upstream.Release, ""), nil
}
