package app

import (
	"cmp"
	"errors"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/limit"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// certificates are files that every reload reads again, whether or not their paths changed, which needs a restart. read reads
// them and keeps nothing; reload puts them in use. field names them in errors.
func certificates(field string, read, reload func() error, failed func(error)) part {
	return part{always: true, prepare: func(config.Config) (func(), error) {
		if err := read(); err != nil {
			return nil, fieldError{field, err}
		}
		return func() {
			if err := reload(); err != nil { // the file changed between the two
				failed(fieldError{field, err})
			}
		}, nil
	}}
}

// fieldError puts the field in front of what is wrong with it.
type fieldError struct {
	field string
	err   error
}

func (e fieldError) Error() string { return e.field + ": " + e.err.Error() }
func (e fieldError) Unwrap() error { return e.err }

// limits are who may connect.
func limits(l *limit.Limiter) part {
	return simple(func(next config.Config) { l.Set(LimitConfig(next)) },
		"clients.max_connections", "clients.max_connections_per_address", "clients.max_connections_per_user", "clients.failed_logins")
}

// LimitConfig is who may connect.
func LimitConfig(cfg config.Config) limit.Config {
	c := cfg.Clients
	return limit.Config{
		Max: c.MaxConnections, MaxPerAddress: c.MaxConnectionsPerAddress, MaxPerUser: c.MaxConnectionsPerUser,
		FailedLogins: limit.FailedLogins(c.FailedLogins),
	}
}

// errDiscovery: servers are told by address or by ZooKeeper, and a proxy that runs does not go from one to the other.
var errDiscovery = errors.New("upstream: going from addresses to ZooKeeper needs a restart")

// servers are those that are told by address. A server that stays keeps its connections and its health; one that is gone keeps its
// connections until they end.
func servers(set *upstream.Set) part {
	return part{
		fields: []string{"upstream.address", "upstream.http_address", "upstream.servers"},
		prepare: func(next config.Config) (func(), error) {
			list := ServerList(next)
			if len(list) == 0 {
				return nil, errDiscovery
			}
			// Validate has been through what Replace checks; a set of its own proves it.
			trial, err := upstream.NewStatic(list, upstream.Options{})
			if err != nil {
				return nil, fieldError{"upstream.servers", err}
			}
			return func() { _ = set.Replace(list) }, trial.Close() // checked above
		},
	}
}

// ServerList is the servers that are configured by address; none when ZooKeeper tells them.
func ServerList(cfg config.Config) []upstream.Server {
	var out []upstream.Server
	for _, s := range cfg.Upstream.List() {
		out = append(out, upstream.Server{ID: s.Address, Binary: s.Address, HTTP: cmp.Or(s.HTTPAddress, s.Address)})
	}
	return out
}
