package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync/atomic"
	"time"
)

// paths are the files of either side; empty: not there.
type paths struct{ cert, key, ca string }

// material is what was read at one time, and never changes.
type material struct {
	cert   *tls.Certificate
	chain  []*x509.Certificate // the leaf first
	pool   *x509.CertPool
	ca     []*x509.Certificate
	seen   []seen
	config *tls.Config // shared by handshakes: not to be changed
}

// set is files that are loaded together.
type set struct {
	paths   paths
	build   func(*material) *tls.Config
	current atomic.Pointer[material]
}

func newSet(p paths, build func(*material) *tls.Config) (*set, error) {
	s := &set{paths: p, build: build}
	return s, s.reload()
}

func (s *set) config() *tls.Config { return s.current.Load().config }

// reload swaps the material. Of two at the same time, the one that began with what is in use now wins; the other reads again,
// so that the older reading never replaces the newer.
func (s *set) reload() error {
	for {
		before := s.current.Load()
		m, err := s.paths.read()
		if err != nil {
			return err
		}
		m.config = s.build(m)
		if s.current.CompareAndSwap(before, m) {
			return nil
		}
	}
}

func (s *set) changed() bool {
	for _, f := range s.current.Load().seen {
		if f.changed() {
			return true
		}
	}
	return false
}

func (s *set) notAfter() time.Time {
	var first time.Time
	for _, c := range s.current.Load().chain {
		if first.IsZero() || c.NotAfter.Before(first) {
			first = c.NotAfter
		}
	}
	return first
}

func (s *set) warnings(now time.Time) []string {
	m := s.current.Load()
	var warnings []string
	for _, c := range m.chain {
		if w := outOfTime(c, now); w != "" {
			warnings = append(warnings, fmt.Sprintf("certificate file %s: %s", s.paths.cert, w))
		}
	}
	// Bundles hold old authorities by custom; it matters when no other is left.
	last := ""
	for _, c := range m.ca {
		if last = outOfTime(c, now); last == "" {
			break
		}
	}
	if last != "" {
		warnings = append(warnings, fmt.Sprintf("CA file %s: no authority in it is valid now; the last: %s", s.paths.ca, last))
	}
	return warnings
}

func outOfTime(c *x509.Certificate, now time.Time) string {
	switch {
	case now.After(c.NotAfter):
		return fmt.Sprintf("%q expired at %s", c.Subject, c.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(c.NotBefore):
		return fmt.Sprintf("%q is not valid before %s", c.Subject, c.NotBefore.UTC().Format(time.RFC3339))
	default:
		return ""
	}
}
