package limit

import "net/netip"

// Ticket is one counted connection. Keep it where the connection is kept, and do not copy it: each copy would be given back.
// The zero Ticket counts nothing. Its methods may be called from several goroutines.
type Ticket struct {
	limiter *Limiter // nil: nothing to count; set once. The other fields are under its lock.
	addr    netip.Addr
	user    string
	gone    bool
}

// Move counts the connection as one from addr, once that is known, or returns an *[Exceeded]; then it counts as before, and
// the caller closes it.
func (t *Ticket) Move(addr netip.Addr) error {
	l := t.limiter
	if l == nil {
		return nil
	}
	addr = key(addr)
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.gone {
		return nil
	}
	if err := l.paused(addr); err != nil {
		return err
	}
	if addr == t.addr {
		return nil
	}
	if err := l.enter(addr); err != nil {
		return err
	}
	leave(l.mu.addresses, t.addr)
	t.addr = addr
	return nil
}

// Login counts the connection as one of the user, and no longer as one of the user before, or returns an *[Exceeded]; then it
// counts as before, and the caller closes it. An empty name: nobody's. HTTP connections may change users with each request.
func (t *Ticket) Login(user string) error {
	l := t.limiter
	if l == nil {
		return nil
	}
	user = user[:min(len(user), maxName)]
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.gone || user == t.user {
		return nil
	}
	if err := l.enterUser(user); err != nil {
		return err
	}
	leave(l.mu.users, t.user)
	t.user = user
	return nil
}

// LoginFailed counts a refused login of the connection's address. It returns an *[Exceeded] when the address has to wait from
// now on: the caller closes the connection, since over HTTP it could go on trying.
func (t *Ticket) LoginFailed() error {
	l := t.limiter
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fail(t.addr)
}

// Release gives the ticket back; more than once is the same as once.
func (t *Ticket) Release() {
	l := t.limiter
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.gone {
		return
	}
	t.gone = true
	l.mu.total--
	leave(l.mu.addresses, t.addr)
	leave(l.mu.users, t.user)
}
