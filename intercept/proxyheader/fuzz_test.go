package proxyheader

import (
	"bytes"
	"net/netip"
	"testing"
)

// FuzzProxyHeader: whatever comes, one byte at a time or at once: the answer is "need more" until it is settled and then stays,
// never takes bytes that are not there, and a header written anew says the same.
func FuzzProxyHeader(f *testing.F) {
	for _, version := range []int{1, 2} {
		f.Add(append(Append(nil, version, source4, dest4), 1, 0, 0, 0, 5))
		f.Add(Append(nil, version, source6, dest6))
		f.Add(Append(nil, version, netip.AddrPort{}, dest4))
	}
	f.Add(v2(0x21, 0x11, append(bytes.Clone(payload4), tlvs...)...))
	f.Add(v2(0x21, 0x31, make([]byte, 216)...))
	f.Add([]byte("POST /cliservice HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, state := Parse(b)
		if len(b) >= MaxSize && state == NeedMore {
			t.Fatalf("%d bytes are not enough", len(b))
		}
		if (state == Complete) != (n > 0) || n > len(b) || (h.Err != nil) != (state == Bad) {
			t.Fatalf("%+v, %d, %v", h, n, state)
		}
		settled := NeedMore
		for i := range min(len(b), MaxSize) + 1 {
			_, m, s := Parse(b[:i])
			if settled != NeedMore && s != settled || s == Complete && m != n {
				t.Fatalf("after %d of %d bytes %v, %d; before %v, at the end %v, %d", i, len(b), s, m, settled, state, n)
			}
			if settled == NeedMore && s == Complete && i != n {
				t.Fatalf("complete at %d, says %d", i, n)
			}
			settled = s
		}
		if len(b) <= MaxSize && settled != state {
			t.Fatalf("byte by byte %v, at once %v", settled, state)
		}
		if state != Complete || h.Local {
			return
		}
		for _, version := range []int{1, 2} {
			written := Append(nil, version, h.Source, h.Destination)
			if again, m, s := Parse(written); s != Complete || m != len(written) || again != h {
				t.Fatalf("%+v became %+v, %v, by %q", h, again, s, written)
			}
		}
	})
}

// FuzzForwardedFor: a peer that is not trusted is never overruled, and what comes out is an address that can be compared.
func FuzzForwardedFor(f *testing.F) {
	for _, header := range []string{"", "192.0.2.1", "192.0.2.1, 10.0.0.2", `"[2001:db8::1]:4711"`, "unknown", "192.0.2.1,,\t10.0.0.2 ", "fe80::1%eth0", "["} {
		f.Add(header)
	}
	trusted, err := ParsePrefixes([]string{"10.0.0.0/8", "fd00::/8"})
	if err != nil {
		f.Fatal(err)
	}
	inside, outside := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("192.0.2.9")
	f.Fuzz(func(t *testing.T, header string) {
		if got := ForwardedFor(header, outside, trusted); got != outside {
			t.Fatalf("%q moves an untrusted peer to %v", header, got)
		}
		got := ForwardedFor(header, inside, trusted)
		if !got.IsValid() || got.Is4In6() || got.Zone() != "" {
			t.Fatalf("%q: %v", header, got)
		}
		// What a client puts in front of what a trusted proxy appended does not matter.
		if got := ForwardedFor(header+", 192.0.2.7", inside, trusted); got != netip.MustParseAddr("192.0.2.7") {
			t.Fatalf("%q: %v", header, got)
		}
	})
}
