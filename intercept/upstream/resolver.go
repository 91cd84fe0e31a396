package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

// Defaults of ResolverOptions.
const (
	DefaultResolveTTL     = 5 * time.Second
	DefaultResolveTimeout = 5 * time.Second
)

// resolverEntries bounds the cache; a set of HiveServer2s has a few names.
const resolverEntries = 1024

// ResolverOptions configure a Resolver. A zero field stands for its default.
type ResolverOptions struct {
	// TTL is how long an answer is used before the resolver is asked again, and the pause after an answer that failed.
	TTL time.Duration
	// Timeout bounds one lookup.
	Timeout time.Duration
	// Lookup resolves a host name; net.DefaultResolver's LookupNetIP for both families when nil.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Now is time.Now when nil.
	Now func() time.Time
}

// Resolver caches the addresses of host:port pairs. While a name cannot be resolved, its last addresses stay in use.
type Resolver struct {
	opts   ResolverOptions
	cache  *lru.Cache[string, answer]
	flight singleflight.Group
}

type answer struct {
	addresses []netip.AddrPort
	until     time.Time // zero for an IP literal
}

// NewResolver makes an empty Resolver.
func NewResolver(opts ResolverOptions) *Resolver {
	if opts.TTL == 0 {
		opts.TTL = DefaultResolveTTL
	}
	if opts.Timeout == 0 {
		opts.Timeout = DefaultResolveTimeout
	}
	if opts.Lookup == nil {
		opts.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	cache, err := lru.New[string, answer](resolverEntries)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &Resolver{opts: opts, cache: cache}
}

// Cached is what Resolve would return without I/O: the address of an IP literal, or addresses not older than the TTL. It never
// blocks; when it returns false, Resolve has to be asked, off the event loop. The slice must not be changed.
func (r *Resolver) Cached(hostport string) ([]netip.AddrPort, bool) {
	a, ok := r.cache.Get(hostport)
	if ok && (a.until.IsZero() || r.opts.Now().Before(a.until)) {
		return a.addresses, true
	}
	if ok {
		return nil, false
	}
	literal, err := netip.ParseAddrPort(hostport)
	if err != nil {
		return nil, false
	}
	a = answer{addresses: []netip.AddrPort{netip.AddrPortFrom(literal.Addr().Unmap(), literal.Port())}}
	r.cache.Add(hostport, a)
	return a.addresses, true
}

// Resolve returns the addresses of host:port, in the resolver's order. Callers at the same time share one lookup, which goes on
// for the others when ctx of one ends. The slice must not be changed.
func (r *Resolver) Resolve(ctx context.Context, hostport string) ([]netip.AddrPort, error) {
	if addresses, ok := r.Cached(hostport); ok {
		return addresses, nil
	}
	host, text, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, fmt.Errorf("address %q: must be host:port", hostport)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("address %q: port must be a number up to 65535", hostport)
	}
	done := r.flight.DoChan(hostport, func() (any, error) {
		return r.lookup(context.WithoutCancel(ctx), hostport, host, uint16(port)) //nolint:gosec // parsed as 16 bits
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("resolve %s: %w", host, ctx.Err())
	case result := <-done:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.([]netip.AddrPort), nil
	}
}

func (r *Resolver) lookup(ctx context.Context, hostport, host string, port uint16) ([]netip.AddrPort, error) {
	// The flight that this caller just missed may have filled the cache.
	if addresses, ok := r.Cached(hostport); ok {
		return addresses, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	found, err := r.opts.Lookup(ctx, host)
	if err == nil && len(found) == 0 {
		err = errors.New("no address")
	}
	until := r.opts.Now().Add(r.opts.TTL)
	if err != nil {
		stale, ok := r.cache.Peek(hostport)
		if !ok {
			return nil, fmt.Errorf("resolve HiveServer2's host %s: %w", host, err)
		}
		stale.until = until
		r.cache.Add(hostport, stale)
		return stale.addresses, nil
	}
	addresses := make([]netip.AddrPort, len(found))
	for i, a := range found {
		addresses[i] = netip.AddrPortFrom(a.Unmap(), port)
	}
	r.cache.Add(hostport, answer{addresses: addresses, until: until})
	return addresses, nil
}
