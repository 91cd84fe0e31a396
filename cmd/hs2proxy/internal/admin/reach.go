package admin

import (
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// maxServers bounds the servers that have series of their own: ZooKeeper tells of any number.
const maxServers = 64

// shown are the servers with series of their own: those that take new connections, then those that only keep some.
func shown(all []upstream.Status) []upstream.Status {
	var out []upstream.Status
	for _, s := range all { // the listed ones come first
		if len(out) == maxServers {
			break
		}
		if s.Listed || s.Open > 0 {
			out = append(out, s)
		}
	}
	return out
}

// down reports whether the last attempt to connect to the server failed.
func down(s upstream.Status) bool { return !s.DownUntil.IsZero() }

// seconds is a time as Prometheus writes it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// upstreams is how the HiveServer2s and ZooKeeper do.
var upstreams = []family{
	{
		"upstream_servers", "HiveServer2s that are known: up, down after a failed attempt to connect, or left (they take no new connections).",
		gauge,
		[]string{"state"},
		func(r *reading, emit func(float64, ...string)) {
			var up, failed, left float64
			for _, s := range r.servers {
				switch {
				case !s.Listed:
					left++
				case down(s):
					failed++
				default:
					up++
				}
			}
			emit(up, "up")
			emit(failed, "down")
			emit(left, "left")
		},
	},
	{
		"upstream_up", "0 from a failed attempt to connect to this HiveServer2 until one succeeds, else 1. The first 64 servers only.",
		gauge,
		[]string{"server"},
		func(r *reading, emit func(float64, ...string)) {
			for _, s := range shown(r.servers) {
				if s.Listed {
					emit(flag(!down(s)), s.ID)
				}
			}
		},
	},
	{
		"upstream_connections_open", "Clients' connections to this HiveServer2, those being made too. The first 64 servers only.",
		gauge,
		[]string{"server"},
		func(r *reading, emit func(float64, ...string)) {
			for _, s := range shown(r.servers) {
				emit(float64(s.Open), s.ID)
			}
		},
	},
	{
		"upstream_last_dial_timestamp_seconds",
		"When a connection to this HiveServer2 was last tried, for a client or as a check; missing before. The first 64 servers only.",
		gauge,
		[]string{"server"},
		func(r *reading, emit func(float64, ...string)) {
			for _, s := range shown(r.servers) {
				if !s.LastDial.At.IsZero() {
					emit(seconds(s.LastDial.At), s.ID)
				}
			}
		},
	},
	{
		"zookeeper_up", "1 while the list of HiveServer2s is followed in ZooKeeper, 0 while it stays as it was; missing without ZooKeeper.",
		gauge, nil,
		func(r *reading, emit func(float64, ...string)) {
			if z, ok := r.Discovery(); ok {
				emit(flag(z.Connected && z.Err == nil))
			}
		},
	},
	{
		"zookeeper_listed_timestamp_seconds", "When the list of HiveServer2s was last read from ZooKeeper, which is when it changed; missing before.",
		gauge, nil,
		func(r *reading, emit func(float64, ...string)) {
			if z, ok := r.Discovery(); ok && !z.ListedAt.IsZero() {
				emit(seconds(z.ListedAt))
			}
		},
	},
}
