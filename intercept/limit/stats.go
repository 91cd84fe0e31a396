package limit

// Stats is what a Limiter counts.
type Stats struct {
	// Connections, Addresses and Users are those there now; an IPv6 /64 is one address.
	Connections, Addresses, Users int
	// Watched is the number of addresses whose refused logins are remembered, Paused how many of them have to wait now.
	Watched, Paused int
	// Refused counts refusals by limit since the start; each limit has an entry.
	Refused map[What]uint64
	// FailedLogins counts the logins HiveServer2 refused since the start.
	FailedLogins uint64
	// Forgotten counts addresses with refused logins given up because too many had some.
	Forgotten uint64
}

// Stats is a snapshot; a nil Limiter's is zero but for the entries of Refused.
func (l *Limiter) Stats() Stats {
	s := Stats{Refused: make(map[What]uint64, len(whats))}
	for _, what := range whats {
		s.Refused[what] = 0
	}
	if l == nil {
		return s
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Connections, s.Addresses, s.Users = l.mu.total, len(l.mu.addresses), len(l.mu.users)
	s.FailedLogins, s.Forgotten = l.mu.failed, l.mu.forgotten
	for i, what := range whats {
		s.Refused[what] = l.mu.refused[i]
	}
	s.Watched = l.mu.watched.Len()
	now := l.mu.Now()
	for _, f := range l.mu.watched.Values() {
		if now.Before(f.until) {
			s.Paused++
		}
	}
	return s
}
