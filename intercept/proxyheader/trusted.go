package proxyheader

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Trusted is the networks whose word about a client's address is taken. The nil Trusted is nobody.
type Trusted []netip.Prefix

// ParsePrefixes reads networks in CIDR form ("10.0.0.0/8", "2001:db8::/32") and single addresses. Bits beyond the prefix do not
// matter. The error names the entry.
func ParsePrefixes(networks []string) (Trusted, error) {
	trusted := make(Trusted, 0, len(networks))
	for _, network := range networks {
		prefix, err := parsePrefix(strings.TrimSpace(network))
		if err != nil {
			return nil, fmt.Errorf("network %q: want CIDR form such as 10.0.0.0/8, or an address: %w", network, err)
		}
		trusted = append(trusted, prefix)
	}
	return trusted, nil
}

func parsePrefix(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		addr, err := netip.ParseAddr(s)
		if err != nil {
			return netip.Prefix{}, err
		}
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	if prefix.Addr().Is4In6() {
		if prefix.Bits() < 96 {
			return netip.Prefix{}, errors.New("it is wider than IPv4")
		}
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), nil
}

// Contains reports whether addr is in one of the networks. IPv4 in IPv6 form counts as IPv4.
func (t Trusted) Contains(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, prefix := range t {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
