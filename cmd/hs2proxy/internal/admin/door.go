package admin

import (
	"maps"
	"slices"
)

// doors is who may come in, and what we show to prove who we are.
var doors = []family{
	{
		"connections_refused_total", "Connections that a limit refused, by limit.", counter,
		[]string{"limit"},
		func(r *reading, emit func(float64, ...string)) {
			for _, what := range slices.Sorted(maps.Keys(r.limits.Refused)) {
				emit(float64(r.limits.Refused[what]), label(what))
			}
		},
	},
	{
		"client_addresses", "Addresses with a connection now; an IPv6 /64 is one.", gauge, nil,
		one(func(r *reading) int { return r.limits.Addresses }),
	},
	{
		"client_users", "Users with a connection now.", gauge, nil,
		one(func(r *reading) int { return r.limits.Users }),
	},
	{
		"login_addresses_watched", "Addresses whose refused logins are remembered.", gauge, nil,
		one(func(r *reading) int { return r.limits.Watched }),
	},
	{
		"login_addresses_paused", "Addresses that are turned away now because their logins were refused too often.", gauge, nil,
		one(func(r *reading) int { return r.limits.Paused }),
	},
	{
		"login_addresses_forgotten_total", "Addresses with refused logins given up because too many had some.", counter, nil,
		one(func(r *reading) uint64 { return r.limits.Forgotten }),
	},
	{
		"certificate_expiry_timestamp_seconds", "When our certificate towards a side expires, the first of its chain; missing without one.",
		gauge,
		[]string{"side"},
		func(r *reading, emit func(float64, ...string)) {
			for _, c := range r.Certificates {
				if end := c.NotAfter(); !end.IsZero() {
					emit(seconds(end), c.Side)
				}
			}
		},
	},
}
