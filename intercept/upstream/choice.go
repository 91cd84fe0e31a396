package upstream

import (
	"cmp"
	"slices"
	"time"
)

// Listed are the listed servers that speak a transport, in no order. Asking changes nothing; the slice must not be changed.
func (s *Set) Listed(t Transport) []*Server { return *s.lists[t].Load() }

// Candidates are the listed servers that speak a transport, in the order in which one connect should try them: the healthy ones,
// those with the fewest connections first and equals in turn; then those that failed lately, the one whose back-off ends earliest
// first. Empty when there is none. Ask once per connect: after a server's back-off one caller, and no other, is told to try it in
// its ordinary place (not with Options.Probe). The slice must not be changed; with a single server nothing is allocated.
func (s *Set) Candidates(t Transport) []*Server {
	listed := *s.lists[t].Load()
	if len(listed) < 2 {
		return listed
	}
	return s.order(listed, s.opts.Now())
}

func (s *Set) order(listed []*Server, now time.Time) []*Server {
	// The counts change while we sort, so each is read once.
	type ranked struct {
		*Server
		retryAt int64 // 0 for a healthy one
		open    int64
	}
	ranks := make([]ranked, len(listed))
	first := int(s.turn.Add(1) % uint64(len(listed))) //nolint:gosec // below the length of a slice
	for i := range listed {
		v := listed[(first+i)%len(listed)]
		ranks[i] = ranked{Server: v, retryAt: s.retryAt(v, now), open: v.Open()}
	}
	slices.SortStableFunc(ranks, func(a, b ranked) int {
		if a.retryAt != b.retryAt {
			return cmp.Compare(a.retryAt, b.retryAt)
		}
		return cmp.Compare(a.open, b.open)
	})
	out := make([]*Server, len(ranks))
	for i, r := range ranks {
		out[i] = r.Server
	}
	return out
}

// retryAt is the end of a server's back-off, 0 for a healthy server and for the one caller that is to try it after that.
func (s *Set) retryAt(v *Server, now time.Time) int64 {
	at := v.retryAt.Load()
	if at == 0 || s.opts.Probe > 0 || at > now.UnixNano() {
		return at
	}
	// The others go on passing it by until the caller has told how the try went.
	next := now.Add(s.opts.MaxBackoff).UnixNano()
	if v.retryAt.CompareAndSwap(at, next) {
		v.trial.Store(true)
		return 0
	}
	return next
}
