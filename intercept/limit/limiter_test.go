package limit

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is a time that tests move.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) read() time.Time       { return c.now }
func (c *clock) pass(d time.Duration)  { c.now = c.now.Add(d) }
func addr(s string) netip.Addr         { return netip.MustParseAddr(s) }
func exceeded(err error) (e *Exceeded) { errors.As(err, &e); return e }

// connect wants a ticket.
func connect(t *testing.T, l *Limiter, from netip.Addr) *Ticket {
	t.Helper()
	ticket, err := l.Connect(from)
	if err != nil {
		t.Fatal(err)
	}
	return &ticket
}

// refused wants an error with exactly this text.
func refused(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || err.Error() != text {
		t.Errorf("got %v\nwant %s", err, text)
	}
	if exceeded(err) == nil {
		t.Errorf("%v is no *Exceeded", err)
	}
}

func TestMax(t *testing.T) {
	l := New(Config{Max: 2})
	first, _ := connect(t, l, addr("10.0.0.1")), connect(t, l, netip.Addr{})
	_, err := l.Connect(addr("10.0.0.3"))
	refused(t, err, "too many connections: limit 2 (clients.max_connections)")
	first.Release()
	first.Release()
	connect(t, l, addr("10.0.0.3"))
	if _, err = l.Connect(addr("10.0.0.4")); err == nil {
		t.Error("a ticket released twice makes room twice")
	}
	if s := l.Stats(); s.Connections != 2 || s.Addresses != 1 || s.Refused[Connections] != 2 {
		t.Errorf("%+v", s)
	}
}

func TestPerAddress(t *testing.T) {
	l := New(Config{MaxPerAddress: 1})
	connect(t, l, addr("10.0.0.1"))
	_, err := l.Connect(addr("::ffff:10.0.0.1"))
	refused(t, err, "too many connections from 10.0.0.1: limit 1 (clients.max_connections_per_address)")
	connect(t, l, addr("10.0.0.2"))

	connect(t, l, addr("2001:db8:1:2::1"))
	_, err = l.Connect(addr("2001:db8:1:2:ffff::9%eth0"))
	refused(t, err, "too many connections from 2001:db8:1:2::/64: limit 1 (clients.max_connections_per_address)")
	connect(t, l, addr("2001:db8:1:3::1"))

	connect(t, l, netip.Addr{})
	connect(t, l, netip.Addr{}) // no address: nobody's limit
}

// TestMove: a balancer's connection counts for the client behind it once that is known.
func TestMove(t *testing.T) {
	l := New(Config{MaxPerAddress: 1})
	a, b := connect(t, l, netip.Addr{}), connect(t, l, netip.Addr{})
	if err := a.Move(addr("10.0.0.1")); err != nil {
		t.Fatal(err)
	}
	if err := a.Move(addr("10.0.0.1")); err != nil {
		t.Errorf("moved to where it is: %v", err)
	}
	refused(t, b.Move(addr("10.0.0.1")), "too many connections from 10.0.0.1: limit 1 (clients.max_connections_per_address)")
	if err := a.Move(addr("10.0.0.2")); err != nil {
		t.Fatal(err)
	}
	if err := b.Move(addr("10.0.0.1")); err != nil {
		t.Errorf("the first is elsewhere now: %v", err)
	}
	a.Release()
	if err := a.Move(addr("10.0.0.3")); err != nil {
		t.Error(err)
	}
	if s := l.Stats(); s.Connections != 1 || s.Addresses != 1 {
		t.Errorf("a ticket given back still counts: %+v", s)
	}
}

func TestPerUser(t *testing.T) {
	l := New(Config{MaxPerUser: 1})
	a, b := connect(t, l, addr("10.0.0.1")), connect(t, l, addr("10.0.0.2"))
	for _, user := range []string{"alice", "alice", "", "bob", "alice"} {
		if err := a.Login(user); err != nil {
			t.Fatalf("%q: %v", user, err)
		}
	}
	refused(t, b.Login("alice"), `too many connections of user "alice": limit 1 (clients.max_connections_per_user)`)
	if err := b.Login("bob"); err != nil {
		t.Error(err)
	}
	refused(t, a.Login("bob"), `too many connections of user "bob": limit 1 (clients.max_connections_per_user)`)
	if s := l.Stats(); s.Users != 2 || s.Refused[UserConnections] != 2 {
		t.Errorf("%+v", s)
	}
	a.Release()
	if err := a.Login("carol"); err != nil {
		t.Error(err)
	}
	b.Release()
	if s := l.Stats(); s.Users != 0 {
		t.Errorf("%+v", s)
	}
}

// TestHostileName: a client's name is cut and quoted in what goes to a log, and a key of bounded size.
func TestHostileName(t *testing.T) {
	l := New(Config{MaxPerUser: 1})
	name := "x\nERROR forged" + strings.Repeat("y", 1<<20)
	if err := connect(t, l, addr("10.0.0.1")).Login(name); err != nil {
		t.Fatal(err)
	}
	err := connect(t, l, addr("10.0.0.1")).Login(name)
	if err == nil || strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
		t.Errorf("%.300v", err)
	}
	for user := range l.mu.users {
		if len(user) > maxName {
			t.Errorf("a key of %d bytes", len(user))
		}
	}
}

// TestSet: a limit set later counts the connections already there, and cuts none.
func TestSet(t *testing.T) {
	l := New(Config{})
	first, second := connect(t, l, addr("10.0.0.1")), connect(t, l, addr("10.0.0.1"))
	for _, ticket := range []*Ticket{first, second} {
		if err := ticket.Login("alice"); err != nil {
			t.Fatal(err)
		}
	}
	l.Set(Config{MaxPerAddress: 2, MaxPerUser: 2})
	if _, err := l.Connect(addr("10.0.0.1")); exceeded(err) == nil || exceeded(err).What != AddressConnections {
		t.Errorf("by address: %v", err)
	}
	third := connect(t, l, addr("10.0.0.2"))
	if err := third.Login("alice"); exceeded(err) == nil || exceeded(err).What != UserConnections {
		t.Errorf("by user: %v", err)
	}
	l.Set(Config{Max: 1})
	if _, err := l.Connect(addr("10.0.0.1")); exceeded(err) == nil || exceeded(err).What != Connections {
		t.Errorf("in all: %v", err)
	}
	for _, ticket := range []*Ticket{first, second, third} {
		ticket.Release()
	}
	connect(t, l, addr("10.0.0.1"))
}

// TestNothing: without a Limiter everything is let in.
func TestNothing(t *testing.T) {
	var l *Limiter
	ticket, err := l.Connect(addr("10.0.0.1"))
	if err = errors.Join(err, ticket.Login("a"), ticket.LoginFailed(), ticket.Move(addr("10.0.0.2"))); err != nil {
		t.Error(err)
	}
	ticket.Release()
	if s := l.Stats(); s.Connections != 0 || len(s.Refused) != 4 {
		t.Errorf("%+v", s)
	}
}

func TestConnectDoesNotAllocate(t *testing.T) {
	for name, config := range map[string]Config{
		"no limit": {},
		"all":      {Max: 10, MaxPerAddress: 10, MaxPerUser: 10, FailedLogins: FailedLogins{3, time.Minute, time.Minute}},
	} {
		l := New(config)
		if n := testing.AllocsPerRun(100, func() {
			ticket, err := l.Connect(addr4)
			if err != nil {
				t.Fatal(err)
			}
			ticket.Release()
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

var addr4 = addr("10.0.0.1")

func TestValidate(t *testing.T) {
	good := FailedLogins{Limit: 3, Window: time.Minute, Pause: time.Minute}
	for field, c := range map[string]Config{
		"":                                    {Max: 1, MaxPerAddress: 1, MaxPerUser: 1, FailedLogins: good},
		"clients.max_connections is -1":       {Max: -1},
		"clients.max_connections_per_address": {MaxPerAddress: -1},
		"clients.max_connections_per_user":    {MaxPerUser: -1},
		"clients.failed_logins.limit":         {FailedLogins: FailedLogins{Limit: -1}},
		"clients.failed_logins.window":        {FailedLogins: FailedLogins{Limit: 1, Pause: 1}},
		"clients.failed_logins.pause":         {FailedLogins: FailedLogins{Limit: 1, Window: 1}},
	} {
		err := c.Validate()
		if (err == nil) != (field == "") || err != nil && !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := (Config{}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestAtOnce: many connections at once never pass a limit, and all is given back.
func TestAtOnce(t *testing.T) {
	const most = 5
	l := New(Config{Max: most, MaxPerAddress: 3, MaxPerUser: 2, FailedLogins: FailedLogins{1 << 30, time.Minute, time.Minute}})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 200 {
				ticket, err := l.Connect(addr(fmt.Sprintf("10.0.0.%d", (i+j)%3)))
				if err != nil {
					continue
				}
				if s := l.Stats(); s.Connections > most || s.Connections < 1 {
					t.Errorf("%d connections", s.Connections)
				}
				_ = ticket.Login(fmt.Sprint("user", j%3)) // refused or not, it counts right
				_ = ticket.LoginFailed()
				var twice sync.WaitGroup
				twice.Go(ticket.Release)
				twice.Go(ticket.Release)
				twice.Wait()
			}
		})
	}
	all.Wait()
	if s := l.Stats(); s.Connections != 0 || s.Addresses != 0 || s.Users != 0 {
		t.Errorf("left: %+v", s)
	}
}

func BenchmarkConnect(b *testing.B) {
	l := New(Config{Max: 100, MaxPerAddress: 100})
	b.ReportAllocs()
	for b.Loop() {
		ticket, err := l.Connect(addr4)
		if err != nil {
			b.Fatal(err)
		}
		ticket.Release()
	}
}
