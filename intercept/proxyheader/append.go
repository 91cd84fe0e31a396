package proxyheader

import (
	"net"
	"net/netip"

	"github.com/pires/go-proxyproto"
)

// Append appends the header that announces a connection from source to destination, version 1 or 2 (any other: 2), to b. When
// an address is not valid, it is the header of a connection of our own (UNKNOWN, LOCAL). Where one address is IPv4 and the
// other IPv6, the format has the first as IPv6 too.
func Append(b []byte, version int, source, destination netip.AddrPort) []byte {
	v := byte(2)
	if version == 1 {
		v = 1
	}
	var from, to net.Addr
	if source.Addr().IsValid() && destination.Addr().IsValid() {
		from, to = net.TCPAddrFromAddrPort(plain(source)), net.TCPAddrFromAddrPort(plain(destination))
	}
	header, err := proxyproto.HeaderProxyFromAddrs(v, from, to).Format()
	if err != nil { // an address it made a header of and cannot write: keep the receiver on the socket's
		local := &proxyproto.Header{Version: v, Command: proxyproto.LOCAL, TransportProtocol: proxyproto.UNSPEC}
		if header, err = local.Format(); err != nil {
			panic(err) // versions 1 and 2 are known
		}
	}
	return append(b, header...)
}
