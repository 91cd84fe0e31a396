package limit

import (
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// held is a ticket and what the model says of it.
type held struct {
	ticket *Ticket
	addr   netip.Addr
	user   string
}

// TestCountsProperty: whatever happens in whatever order, the Limiter counts what a plain list of tickets says, lets nobody in
// beyond a limit and refuses nobody below it, and is back at zero when all tickets are back.
func TestCountsProperty(t *testing.T) {
	addresses := []netip.Addr{{}, addr("10.0.0.1"), addr("10.0.0.2"), addr("2001:db8::1"), addr("2001:db8::2"), addr("2001:db8:0:1::1")}
	users := []string{"", "alice", "bob"}
	limits := rapid.Custom(func(t *rapid.T) Config {
		n := rapid.IntRange(0, 4)
		return Config{Max: n.Draw(t, "max"), MaxPerAddress: n.Draw(t, "per address"), MaxPerUser: n.Draw(t, "per user")}
	})
	rapid.Check(t, func(t *rapid.T) {
		config := limits.Draw(t, "limits")
		l := New(config)
		var all []*held
		count := func(is func(*held) bool) (n int) {
			for _, h := range all {
				if is(h) {
					n++
				}
			}
			return n
		}
		roomAt := func(a netip.Addr) bool {
			return config.MaxPerAddress == 0 || !a.IsValid() || count(func(h *held) bool { return h.addr == a }) < config.MaxPerAddress
		}
		verdict := func(what string, err error, room bool) bool {
			if (err == nil) != room {
				t.Fatalf("%s: %v, room: %v", what, err, room)
			}
			return room
		}
		some := func() *held {
			if len(all) == 0 {
				t.Skip("no connection")
			}
			return rapid.SampledFrom(all).Draw(t, "connection")
		}
		t.Repeat(map[string]func(*rapid.T){
			"connect": func(t *rapid.T) {
				from := rapid.SampledFrom(addresses).Draw(t, "from")
				ticket, err := l.Connect(from)
				if verdict("connect", err, (config.Max == 0 || len(all) < config.Max) && roomAt(key(from))) {
					all = append(all, &held{&ticket, key(from), ""})
				}
			},
			"move": func(t *rapid.T) {
				h, to := some(), rapid.SampledFrom(addresses).Draw(t, "to")
				if verdict("move", h.ticket.Move(to), h.addr == key(to) || roomAt(key(to))) {
					h.addr = key(to)
				}
			},
			"login": func(t *rapid.T) {
				h, user := some(), rapid.SampledFrom(users).Draw(t, "user")
				n := count(func(h *held) bool { return h.user == user })
				if verdict("login", h.ticket.Login(user), user == "" || user == h.user || config.MaxPerUser == 0 || n < config.MaxPerUser) {
					h.user = user
				}
			},
			"release": func(t *rapid.T) {
				h := some()
				h.ticket.Release()
				h.ticket.Release()
				kept := all[:0]
				for _, other := range all {
					if other != h {
						kept = append(kept, other)
					}
				}
				all = kept
			},
			"set": func(t *rapid.T) {
				config = limits.Draw(t, "limits")
				l.Set(config)
			},
			"": func(t *rapid.T) {
				byAddress, byUser := map[netip.Addr]int{}, map[string]int{}
				for _, h := range all {
					if h.addr.IsValid() {
						byAddress[h.addr]++
					}
					if h.user != "" {
						byUser[h.user]++
					}
				}
				s := l.Stats()
				if s.Connections != len(all) || s.Addresses != len(byAddress) || s.Users != len(byUser) {
					t.Fatalf("%+v, want %d connections, %v, %v", s, len(all), byAddress, byUser)
				}
				for a, n := range byAddress {
					if l.mu.addresses[a] != n {
						t.Fatalf("%v: %d, want %d", a, l.mu.addresses[a], n)
					}
				}
				for u, n := range byUser {
					if l.mu.users[u] != n {
						t.Fatalf("%s: %d, want %d", u, l.mu.users[u], n)
					}
				}
			},
		})
		for _, h := range all {
			h.ticket.Release()
		}
		if s := l.Stats(); s.Connections != 0 || s.Addresses != 0 || s.Users != 0 {
			t.Fatalf("left: %+v", s)
		}
	})
}

// TestPauseProperty: an address is turned away exactly while it has had Limit refused logins in one window and the pause
// since then is not over.
func TestPauseProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := FailedLogins{
			Limit:  rapid.IntRange(1, 4).Draw(t, "limit"),
			Window: time.Duration(rapid.IntRange(1, 20).Draw(t, "window")) * time.Second,
			Pause:  time.Duration(rapid.IntRange(1, 20).Draw(t, "pause")) * time.Second,
		}
		c := newClock()
		l := New(Config{FailedLogins: policy, Now: c.read})
		ticket, err := l.Connect(addr4)
		if err != nil {
			t.Fatal(err)
		}
		var window []time.Time // the refused logins that count, oldest first
		var until time.Time
		t.Repeat(map[string]func(*rapid.T){
			"fail": func(t *rapid.T) {
				if !c.now.Before(until) {
					if len(window) > 0 && c.now.Sub(window[0]) >= policy.Window {
						window = nil
					}
					if window = append(window, c.now); len(window) >= policy.Limit {
						until, window = c.now.Add(policy.Pause), nil
					}
				}
				if err := ticket.LoginFailed(); (err != nil) != c.now.Before(until) {
					t.Fatalf("%v at %v, want a pause until %v", err, c.now, until)
				}
			},
			"pass": func(t *rapid.T) { c.pass(time.Duration(rapid.IntRange(1, 15).Draw(t, "seconds")) * time.Second) },
			"": func(t *rapid.T) {
				other, err := l.Connect(addr4)
				if (err != nil) != c.now.Before(until) {
					t.Fatalf("%v at %v, want a pause until %v", err, c.now, until)
				}
				other.Release()
			},
		})
	})
}
