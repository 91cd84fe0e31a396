package proxyheader

import (
	"net/netip"
	"strings"
)

// ForwardedFor is the client's address: peer itself unless it is trusted, else the rightmost address of an X-Forwarded-For
// header that is not trusted, for each trusted proxy appends the address it saw. Where all are trusted it is the leftmost.
// Several header lines are joined by commas. Anything that is no address before that one is found: peer. Elements may carry a
// port, brackets and quotes, as RFC 7239 writes its nodes.
func ForwardedFor(header string, peer netip.Addr, trusted Trusted) netip.Addr {
	peer = peer.Unmap()
	if !trusted.Contains(peer) {
		return peer
	}
	client := peer
	for rest, more := header, true; more; {
		var element string
		if i := strings.LastIndexByte(rest, ','); i >= 0 {
			rest, element = rest[:i], rest[i+1:]
		} else {
			element, more = rest, false
		}
		if element = strings.Trim(element, " \t"); element == "" {
			continue // lists may have empty elements
		}
		addr, ok := node(element)
		if !ok {
			return peer
		}
		if client = addr; !trusted.Contains(addr) {
			break
		}
	}
	return client
}

// maxNode is longer than any node that is an address: "[" + 45 characters of IPv6 + "]:65535" and quotes.
const maxNode = 64

// node reads one address, with or without a port. Zones are a host's own business and not believed.
func node(s string) (netip.Addr, bool) {
	if len(s) > maxNode {
		return netip.Addr{}, false
	}
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		var withPort netip.AddrPort
		switch {
		case s[0] == '[' && s[len(s)-1] == ']':
			if addr, err = netip.ParseAddr(s[1 : len(s)-1]); err == nil && !addr.Is6() {
				return netip.Addr{}, false
			}
		default:
			withPort, err = netip.ParseAddrPort(s)
			addr = withPort.Addr()
		}
	}
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}, false
	}
	return addr.Unmap(), true
}
