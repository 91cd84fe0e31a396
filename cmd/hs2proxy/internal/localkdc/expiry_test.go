package localkdc

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// lifetime of the tickets of this test. The KDC counts in seconds.
const lifetime = 3 * time.Second

// A connection over HTTP outlives its tickets: a call that must log in again comes with a new one, also when the KDC was
// away at the time at which the ticket-granting ticket had to be renewed.
func TestTicketsExpire(t *testing.T) {
	for name, away := range map[string]bool{"KDC there": false, "KDC away meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			k := start(t)
			if err := k.AddPrincipals(t.Context(), "hs2proxy", "HTTP/localhost"); err != nil {
				t.Fatal(err)
			}
			if err := k.query(t.Context(), "modprinc", "-maxlife", lifetime.String(), "hs2proxy"); err != nil {
				t.Fatal(err)
			}
			own, err := k.Keytab(t.Context(), "hs2proxy.keytab", "hs2proxy")
			if err != nil {
				t.Fatal(err)
			}
			door := newDoor(t, k)
			conn, err := client.Dial(t.Context(), client.Config{
				Address: door.address, Transport: "http", Auth: "KERBEROS", Principal: "hs2proxy", KeytabFile: own,
				ServerPrincipal: "HTTP/_HOST@" + Realm, Krb5Conf: k.Krb5Conf(),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			first := door.lastTicket(t)
			if away {
				if err := k.process.Kill(); err != nil {
					t.Fatal(err)
				}
				<-k.exited
			}
			wait(t, first.Add(2*time.Second)) // its end is cut to the second, and one is forgiven
			if away {
				relaunch(t, k)
			}
			now := time.Now()
			if _, err := conn.OpenSession(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "HTTP 503") {
				t.Errorf("behind the login: %v, want the door's HTTP 503", err)
			}
			if second := door.lastTicket(t); !second.After(now) {
				t.Errorf("logged in at %s with a ticket that ended at %s", now, second)
			}
		})
	}
}

// relaunch starts the KDC again, and has it forgive a second only, where five minutes are usual.
func relaunch(t *testing.T, k *KDC) {
	t.Helper()
	conf, err := os.ReadFile(k.Krb5Conf())
	if err != nil {
		t.Fatal(err)
	}
	strict := strings.Replace(string(conf), "[libdefaults]\n", "[libdefaults]\n  clockskew = 1\n", 1)
	if err := os.WriteFile(k.Krb5Conf(), []byte(strict), 0o600); err != nil {
		t.Fatal(err)
	}
	k.exited = make(chan struct{})
	if err := k.launch(); err != nil {
		t.Fatal(err)
	}
	if err := k.waitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wait returns at a time, or ends the test.
func wait(t *testing.T, until time.Time) {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), until)
	defer cancel()
	<-ctx.Done()
	if t.Context().Err() != nil {
		t.Fatal(t.Context().Err())
	}
}

// door is an HTTP server at localhost that asks for a ticket each time, knows no calls, and remembers when the last
// ticket ends.
type door struct {
	address string
	keys    *keytab.Keytab
	mu      sync.Mutex
	ends    []time.Time
}

func newDoor(t *testing.T, k *KDC) *door {
	t.Helper()
	path, err := k.Keytab(t.Context(), "http.keytab", "HTTP/localhost")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keytab.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	d := &door{keys: keys}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	d.address = net.JoinHostPort("localhost", port)
	return d
}

// ServeHTTP answers the first login like Thrift, those behind it with a status of their own.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	end, ok := d.ticketEnd(r.Header.Get("Authorization"))
	if !ok {
		w.Header().Set("WWW-Authenticate", "Negotiate")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends = append(d.ends, end)
	if len(d.ends) > 1 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte{0x80})
}

// ticketEnd decrypts the ticket in a Negotiate header.
func (d *door) ticketEnd(header string) (time.Time, bool) {
	text, found := strings.CutPrefix(header, "Negotiate ")
	b, err := base64.StdEncoding.DecodeString(text)
	var token spnego.SPNEGOToken
	var mechanism spnego.KRB5Token
	if !found || err != nil || token.Unmarshal(b) != nil || mechanism.Unmarshal(token.NegTokenInit.MechTokenBytes) != nil {
		return time.Time{}, false
	}
	ticket := mechanism.APReq.Ticket
	if err := ticket.DecryptEncPart(d.keys, nil); err != nil {
		return time.Time{}, false
	}
	return ticket.DecryptedEncPart.EndTime, true
}

// lastTicket is when the ticket of the last login ends.
func (d *door) lastTicket(t *testing.T) time.Time {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ends) == 0 {
		t.Fatal("nobody has logged in")
	}
	return d.ends[len(d.ends)-1]
}
