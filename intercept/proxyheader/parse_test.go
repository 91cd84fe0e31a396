package proxyheader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/pires/go-proxyproto"
)

// v2 writes a version 2 header by hand.
func v2(command, family byte, payload ...byte) []byte {
	b := append(bytes.Clone(proxyproto.SIGV2), command, family)
	b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
	return append(b, payload...)
}

var (
	payload4 = []byte{192, 0, 2, 1, 198, 51, 100, 2, 0xdc, 0x04, 0x27, 0x10}
	tlvs     = []byte{0x04, 0, 3, 0, 0, 0, 0x20, 0, 5, 1, 0, 0, 0, 0} // NOOP, SSL
	source4  = netip.MustParseAddrPort("192.0.2.1:56324")
	dest4    = netip.MustParseAddrPort("198.51.100.2:10000")
	source6  = netip.MustParseAddrPort("[2001:db8::1]:56324")
	dest6    = netip.MustParseAddrPort("[2001:db8::2]:10000")
)

func payload6(source, destination netip.AddrPort) []byte {
	from, to := source.Addr().As16(), destination.Addr().As16()
	b := append(from[:], to[:]...)
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, source.Port()), destination.Port())
}

func TestParse(t *testing.T) {
	four, six, local := Header{Source: source4, Destination: dest4}, Header{Source: source6, Destination: dest6}, Header{Local: true}
	const mapped = "PROXY TCP6 ::ffff:192.0.2.1 ::ffff:198.51.100.2 56324 10000\r\n"
	for name, test := range map[string]struct {
		bytes []byte
		want  Header
	}{
		"v1 TCP4":                    {[]byte("PROXY TCP4 192.0.2.1 198.51.100.2 56324 10000\r\n"), four},
		"v1 TCP6":                    {[]byte("PROXY TCP6 2001:db8::1 2001:db8::2 56324 10000\r\n"), six},
		"v1 TCP6 with IPv4":          {[]byte(mapped), four},
		"v1 UNKNOWN":                 {[]byte("PROXY UNKNOWN\r\n"), local},
		"v1 UNKNOWN, the longest":    {[]byte("PROXY UNKNOWN " + strings.Repeat("f", 91) + "\r\n"), local},
		"v2 TCP4":                    {v2(0x21, 0x11, payload4...), four},
		"v2 TCP4 with TLVs":          {v2(0x21, 0x11, append(bytes.Clone(payload4), tlvs...)...), four},
		"v2 TCP6":                    {v2(0x21, 0x21, payload6(source6, dest6)...), six},
		"v2 TCP6 with IPv4":          {v2(0x21, 0x21, payload6(source4, dest4)...), four},
		"v2 LOCAL":                   {v2(0x20, 0x00), local},
		"v2 LOCAL with addresses":    {v2(0x20, 0x11, payload4...), local},
		"v2 LOCAL without addresses": {v2(0x20, 0x11), local},
		"v2 LOCAL with TLVs":         {v2(0x20, 0x00, tlvs...), local},
		"v2 PROXY UNSPEC":            {v2(0x21, 0x00), local},
		"v2 PROXY UNSPEC with TLVs":  {v2(0x21, 0x00, tlvs...), local},
		"v2 UDP":                     {v2(0x21, 0x12, payload4...), local},
		"v2 UNIX":                    {v2(0x21, 0x31, make([]byte, 216)...), local},
		"v2, the longest":            {v2(0x21, 0x11, append(bytes.Clone(payload4), make([]byte, 4096-12)...)...), four},
	} {
		t.Run(name, func(t *testing.T) {
			for _, behind := range []string{"", "\x01\x00\x00\x00\x05PLAIN", "PROXY TCP4 1.1.1.1 1.1.1.1 1 1\r\n"} {
				h, n, state := Parse(append(bytes.Clone(test.bytes), behind...))
				if h != test.want || n != len(test.bytes) || state != Complete {
					t.Errorf("got %+v, %d, %v; want %+v, %d", h, n, state, test.want, len(test.bytes))
				}
			}
			for i := range test.bytes {
				if h, n, state := Parse(test.bytes[:i]); h != (Header{}) || n != 0 || state != NeedMore {
					t.Fatalf("the first %d: %+v, %d, %v", i, h, n, state)
				}
			}
		})
	}
}

// TestParseNone: what HiveServer2's clients begin with is no header, and told from one as soon as it can be.
func TestParseNone(t *testing.T) {
	for _, b := range []string{
		"\x01", "\x01\x00\x00\x00\x05PLAIN", "\x80\x01\x00\x01", "\x16\x03\x01", "POST /cliservice HTTP/1.1\r\n", "PO", "PU", "PROPFIND", "PROXx",
		"PROXYx", "\r\n\r\n\x01", "\r\n\r\n\x00\r\nQUIX", "\rx", "\x00", "proxy ",
	} {
		if h, n, state := Parse([]byte(b)); h != (Header{}) || n != 0 || state != None {
			t.Errorf("%q: %+v, %d, %v", b, h, n, state)
		}
	}
}

func TestParseBad(t *testing.T) {
	tooLong := append(v2(0x21, 0x11, payload4...)[:14], 0x10, 0x01) // 4097 to come
	for name, test := range map[string]struct {
		bytes []byte
		want  error
	}{
		"v1 without CR":        {[]byte("PROXY UNKNOWN\n"), proxyproto.ErrLineMustEndWithCrlf},
		"v1 too long":          {[]byte("PROXY UNKNOWN " + strings.Repeat("f", 93)), proxyproto.ErrVersion1HeaderTooLong},
		"v1 end one too late":  {[]byte("PROXY UNKNOWN " + strings.Repeat("f", 92) + "\r\n"), proxyproto.ErrVersion1HeaderTooLong},
		"v1 protocol":          {[]byte("PROXY UDP4 1.1.1.1 1.1.1.1 1 1\r\n"), proxyproto.ErrCantReadAddressFamilyAndProtocol},
		"v1 address":           {[]byte("PROXY TCP4 1.1.1 1.1.1.1 1 1\r\n"), proxyproto.ErrInvalidAddress},
		"v1 IPv4 as TCP6":      {[]byte("PROXY TCP6 1.1.1.1 1.1.1.1 1 1\r\n"), proxyproto.ErrInvalidAddress},
		"v1 zone":              {[]byte("PROXY TCP6 fe80::1%eth0 ::1 1 1\r\n"), proxyproto.ErrInvalidAddress},
		"v1 port":              {[]byte("PROXY TCP4 1.1.1.1 1.1.1.1 65536 1\r\n"), proxyproto.ErrInvalidPortNumber},
		"v1 two spaces":        {[]byte("PROXY  TCP4 1.1.1.1 1.1.1.1 1 1\r\n"), proxyproto.ErrCantReadAddressFamilyAndProtocol},
		"v1 token behind":      {[]byte("PROXY TCP4 1.1.1.1 1.1.1.1 1 1 1\r\n"), proxyproto.ErrCantReadAddressFamilyAndProtocol},
		"v2 version":           {v2(0x11, 0x11, payload4...), proxyproto.ErrUnsupportedProtocolVersionAndCommand},
		"v2 command":           {v2(0x22, 0x11, payload4...), proxyproto.ErrUnsupportedProtocolVersionAndCommand},
		"v2 family":            {v2(0x21, 0x41, payload4...), proxyproto.ErrUnsupportedAddressFamilyAndProtocol},
		"v2 protocol":          {v2(0x21, 0x13, payload4...), proxyproto.ErrUnsupportedAddressFamilyAndProtocol},
		"v2 addresses cut off": {v2(0x21, 0x11, payload4[:11]...), proxyproto.ErrInvalidLength},
		"v2 IPv6 cut off":      {v2(0x21, 0x21, payload4...), proxyproto.ErrInvalidLength},
		"v2 too long":          {tooLong, nil},
	} {
		h, n, state := Parse(test.bytes)
		if n != 0 || state != Bad || h.Err == nil || test.want != nil && !errors.Is(h.Err, test.want) {
			t.Errorf("%s: %+v, %d, %v; want %v", name, h, n, state, test.want)
		}
	}
}

func TestAppend(t *testing.T) {
	none := netip.AddrPort{}
	mapped := netip.AddrPortFrom(netip.AddrFrom16(source4.Addr().As16()), source4.Port())
	zoned := netip.AddrPortFrom(source6.Addr().WithZone("eth0"), source6.Port())
	for name, test := range map[string]struct {
		version      int
		source, dest netip.AddrPort
		want         string
	}{
		"v1 IPv4":     {1, source4, dest4, "PROXY TCP4 192.0.2.1 198.51.100.2 56324 10000\r\n"},
		"v1 mapped":   {1, mapped, dest4, "PROXY TCP4 192.0.2.1 198.51.100.2 56324 10000\r\n"},
		"v1 IPv6":     {1, source6, dest6, "PROXY TCP6 2001:db8::1 2001:db8::2 56324 10000\r\n"},
		"v1 zone":     {1, zoned, dest6, "PROXY TCP6 2001:db8::1 2001:db8::2 56324 10000\r\n"},
		"v1 mixed":    {1, source4, dest6, "PROXY TCP6 ::ffff:192.0.2.1 2001:db8::2 56324 10000\r\n"},
		"v1 no peer":  {1, none, dest4, "PROXY UNKNOWN\r\n"},
		"v2 IPv4":     {2, source4, dest4, string(v2(0x21, 0x11, payload4...))},
		"v2 mapped":   {2, mapped, dest4, string(v2(0x21, 0x11, payload4...))},
		"v2 IPv6":     {2, source6, dest6, string(v2(0x21, 0x21, payload6(source6, dest6)...))},
		"v2 mixed":    {2, source4, dest6, string(v2(0x21, 0x21, payload6(source4, dest6)...))},
		"v2 no peer":  {2, source4, none, string(v2(0x20, 0x00))},
		"v2 for else": {7, source4, dest4, string(v2(0x21, 0x11, payload4...))},
	} {
		if got := Append([]byte("before "), test.version, test.source, test.dest); string(got) != "before "+test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestStateString(t *testing.T) {
	for state, want := range map[State]string{NeedMore: "need more", Complete: "complete", None: "none", Bad: "bad", 0: "State(0)"} {
		if got := state.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
