package limit

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// maxWatched bounds the addresses whose refused logins are remembered, some 2 MiB in all.
	maxWatched = 16384
	// maxName bounds a user's name as a key: longer names count as one by their beginning.
	maxName = 256
)

// Limiter counts connections and refuses those beyond a limit. A nil *Limiter limits and counts nothing.
type Limiter struct {
	mu struct {
		sync.Mutex
		Config
		total     int
		addresses map[netip.Addr]int // by the key of an address; no zeros
		users     map[string]int     // no zeros
		watched   *simplelru.LRU[netip.Addr, *failures]
		refused   [4]uint64 // by the order of whats
		failed    uint64
		forgotten uint64
	}
}

// whats is the order in which refusals are counted.
var whats = [4]What{Connections, AddressConnections, UserConnections, RefusedLogins}

// New makes a Limiter.
func New(c Config) *Limiter {
	l := &Limiter{}
	l.mu.addresses = map[netip.Addr]int{}
	l.mu.users = map[string]int{}
	watched, err := simplelru.NewLRU[netip.Addr, *failures](maxWatched, nil)
	if err != nil { // only a size below 1 is refused
		panic(err)
	}
	l.mu.watched = watched
	l.mu.Now = time.Now
	l.Set(c)
	return l
}

// Set changes the limits. Connections that are there stay, and count.
func (l *Limiter) Set(c Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Now == nil {
		c.Now = l.mu.Now
	}
	l.mu.Config = c
	if c.FailedLogins.Limit == 0 {
		l.mu.watched.Purge()
	}
}

// Connect counts a connection from addr, or returns an *[Exceeded]. An address that is not valid, for a connection whose
// real address is still to come, counts only towards Max. It does not allocate.
func (l *Limiter) Connect(addr netip.Addr) (Ticket, error) {
	if l == nil {
		return Ticket{}, nil
	}
	addr = key(addr)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.paused(addr); err != nil {
		return Ticket{}, err
	}
	if l.mu.Max > 0 && l.mu.total >= l.mu.Max {
		return Ticket{}, l.refuse(&Exceeded{What: Connections, Limit: l.mu.Max})
	}
	if err := l.enter(addr); err != nil {
		return Ticket{}, err
	}
	l.mu.total++
	return Ticket{limiter: l, addr: addr}, nil
}

// key is what an address counts as: itself for IPv4, its /64 for IPv6, where one customer owns at least that much.
func key(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr
	}
	network, err := addr.Prefix(64)
	if err != nil { // 64 is within an IPv6 address
		return addr
	}
	return network.Addr()
}

// name is a key as a person reads it.
func name(addr netip.Addr) string {
	if addr.Is6() {
		return addr.String() + "/64"
	}
	return addr.String()
}

// enter counts a connection of the address. The lock is held, as in the methods below.
func (l *Limiter) enter(addr netip.Addr) error {
	if !addr.IsValid() {
		return nil
	}
	n := l.mu.addresses[addr]
	if l.mu.MaxPerAddress > 0 && n >= l.mu.MaxPerAddress {
		return l.refuse(&Exceeded{What: AddressConnections, Who: name(addr), Limit: l.mu.MaxPerAddress})
	}
	l.mu.addresses[addr] = n + 1
	return nil
}

func (l *Limiter) enterUser(user string) error {
	if user == "" {
		return nil
	}
	n := l.mu.users[user]
	if l.mu.MaxPerUser > 0 && n >= l.mu.MaxPerUser {
		return l.refuse(&Exceeded{What: UserConnections, Who: user, Limit: l.mu.MaxPerUser})
	}
	if n == 0 {
		user = strings.Clone(user) // it may be a part of something larger
	}
	l.mu.users[user] = n + 1
	return nil
}

func leave[K comparable](counts map[K]int, k K) {
	switch n := counts[k]; {
	case n > 1:
		counts[k] = n - 1
	case n == 1:
		delete(counts, k)
	}
}

func (l *Limiter) refuse(e *Exceeded) error {
	for i, what := range whats {
		if what == e.What {
			l.mu.refused[i]++
		}
	}
	return e
}
