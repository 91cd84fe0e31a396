package proxyheader

import (
	"net/netip"
	"strings"
	"testing"
)

func networks(t *testing.T, list ...string) Trusted {
	t.Helper()
	trusted, err := ParsePrefixes(list)
	if err != nil {
		t.Fatal(err)
	}
	return trusted
}

func TestForwardedFor(t *testing.T) {
	trusted := networks(t, "10.0.0.0/8", "fd00::/8")
	const peer = "10.0.0.1"
	for header, want := range map[string]string{
		"":                                   peer,
		" , ,":                               peer,
		"192.0.2.1":                          "192.0.2.1",
		"192.0.2.1:4711":                     "192.0.2.1",
		"::ffff:192.0.2.1":                   "192.0.2.1",
		"2001:db8::1":                        "2001:db8::1",
		"[2001:db8::1]":                      "2001:db8::1",
		"[2001:db8::1]:4711":                 "2001:db8::1",
		`"[2001:db8::1]:4711"`:               "2001:db8::1",
		`"192.0.2.1"`:                        "192.0.2.1",
		"192.0.2.66, 192.0.2.1":              "192.0.2.1", // the client wrote the first itself
		"192.0.2.66,192.0.2.1,10.0.0.2":      "192.0.2.1",
		"192.0.2.66,192.0.2.1,fd00::1 ":      "192.0.2.1",
		"192.0.2.1,, 10.0.0.2,":              "192.0.2.1",
		"10.0.0.3,10.0.0.2":                  "10.0.0.3", // a client within the trusted networks
		"garbage,192.0.2.1":                  "192.0.2.1",
		"192.0.2.1,garbage":                  peer,
		"192.0.2.1,garbage,10.0.0.2":         peer,
		"garbage,10.0.0.2":                   peer,
		"192.0.2.1,unknown":                  peer,
		"192.0.2.1,_hidden":                  peer,
		"[192.0.2.1]":                        peer,
		"2001:db8::1%eth0":                   peer,
		"[2001:db8::1%eth0]:1":               peer,
		"[2001:db8::1":                       peer,
		"192.0.2.1:65536":                    peer,
		"192.0.2.1:":                         peer,
		`""`:                                 peer,
		`"`:                                  peer,
		"192.0.2.1 10.0.0.2":                 peer,
		strings.Repeat("1", 1<<20):           peer,
		strings.Repeat("10.0.0.2,", 1<<10):   "10.0.0.2",
		"192.0.2.1" + strings.Repeat(",", 9): "192.0.2.1",
	} {
		if got := ForwardedFor(header, netip.MustParseAddr(peer), trusted); got != netip.MustParseAddr(want) {
			t.Errorf("%.60q: %v, want %s", header, got, want)
		}
	}
	outside := netip.MustParseAddr("192.0.2.9")
	if got := ForwardedFor("192.0.2.1", outside, trusted); got != outside {
		t.Errorf("an untrusted peer is believed: %v", got)
	}
	if got := ForwardedFor("192.0.2.1", netip.MustParseAddr("::ffff:10.0.0.1"), trusted); got != netip.MustParseAddr("192.0.2.1") {
		t.Errorf("a peer in IPv6 form: %v", got)
	}
	if got := ForwardedFor("192.0.2.1", outside, nil); got != outside {
		t.Errorf("nobody is trusted: %v", got)
	}
}

func TestTrusted(t *testing.T) {
	trusted := networks(t, "10.1.2.3/8", " 192.0.2.1 ", "2001:db8::/32", "::ffff:198.51.100.0/120", "fe80::/10", "::ffff:192.0.2.2", "2001:db9::1")
	for addr, want := range map[string]bool{
		"10.0.0.0": true, "10.255.255.255": true, "9.255.255.255": false, "11.0.0.0": false,
		"::ffff:10.0.0.1": true,
		"192.0.2.1":       true, "192.0.2.0": false, "192.0.2.2": true, "192.0.2.3": false,
		"2001:db8:ffff::": true, "2001:db9::": false, "2001:db9::1": true, "2001:db9::2": false,
		"198.51.100.255": true, "198.51.101.0": false,
		"fe80::1%eth0": true,
	} {
		if got := trusted.Contains(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
	if trusted.Contains(netip.Addr{}) {
		t.Error("no address is trusted")
	}
	if networks(t, "0.0.0.0/0").Contains(netip.MustParseAddr("::1")) {
		t.Error("all of IPv4 holds an IPv6 address")
	}
	for _, bad := range []string{"", "10.0.0.0/33", "host", "10.0.0.0/8,11.0.0.0/8", "fe80::1%eth0/64", "::ffff:0.0.0.0/90", "10.0.0"} {
		if _, err := ParsePrefixes([]string{"10.0.0.0/8", bad}); err == nil || !strings.Contains(err.Error(), `"`+bad+`"`) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
