package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
)

// combination is one HiveServer2 and the forms in which clients reach it through the proxy. Without HS2PROXY_E2E_FULL
// only few are tried, by some of the clients.
type combination struct {
	name string
	auth localhive.Auth
	http bool
	all  []form
	few  few
}

// few is what is tried each time. Together they take every client over each transport, and TLS over each.
type few struct {
	forms        []form
	binary, http []client
}

var everyClient = []client{pyHive, impyla, hiveDriver, goHive, jdbc, beeline}

// NOSASL is binary only: over HTTP there is no SASL to leave out.
var combinations = []combination{
	{"NONE", localhive.AuthNone, true, []form{plain, ended}, few{[]form{plain}, everyClient, []client{impyla, goHive, beeline}}},
	{"NONE with TLS", localhive.AuthNone, true, []form{passed, again, begun}, few{}},
	{"CUSTOM", localhive.AuthCustom, true, []form{plain, ended}, few{}},
	{
		"CUSTOM with TLS", localhive.AuthCustom, true,
		[]form{passed, again, begun},
		few{[]form{again}, []client{jdbc}, []client{pyHive, hiveDriver, jdbc}},
	},
	{"NOSASL", localhive.AuthNoSASL, false, []form{plain, ended}, few{[]form{plain}, []client{pyHive, jdbc}, nil}},
	{"NOSASL with TLS", localhive.AuthNoSASL, false, []form{passed, again, begun}, few{}},
}

// Every client gets the same bytes through the proxy as without it, whatever the transport, the login and the TLS. Where
// the proxy reads along, every statement is recorded once with its outcome; and neither an operation nor a session of
// ours is left in HiveServer2.
func TestRealClientsThroughTheProxy(t *testing.T) {
	full := os.Getenv("HS2PROXY_E2E_FULL") == "1"
	for _, c := range combinations {
		tried := c.few
		if full {
			tried = few{c.all, everyClient, everyClient}
		}
		if len(tried.forms) > 0 {
			t.Run(c.name, func(t *testing.T) { c.run(t, tried, full) })
		}
	}
}

func (c combination) server(t *testing.T, tls bool) *localhive.Server {
	t.Helper()
	if c.auth == localhive.AuthNone && !tls {
		return sharedHive(t)
	}
	o := localhive.Options{Auth: c.auth, HTTP: c.http, TLS: tls, Conf: sharedConf()}
	if c.auth == localhive.AuthCustom {
		o.Users = map[string]string{"e2e": "e2e-secret"}
	}
	return startHive(t, o)
}

func (c combination) run(t *testing.T, tried few, full bool) {
	hive := c.server(t, tried.forms[0].serverTLS())
	own := newCertificate(t, hive.Java())
	var fronts []*front
	for _, f := range tried.forms {
		fronts = append(fronts, newFront(t, f, hive, own))
	}
	before := goleak.IgnoreCurrent()
	for _, f := range fronts {
		f.start(t)
	}
	for _, http := range []bool{false, true} {
		clients := tried.binary
		if http {
			clients = tried.http
		}
		if http && !c.http {
			continue
		}
		for _, p := range programs {
			if !slices.Contains(clients, p.name) {
				continue
			}
			target := Target{
				Address: hive.Address(), HTTP: http, TLS: serverTrust(hive), Auth: string(c.auth), User: "e2e", Password: "e2e-secret",
				Database: "e2e_" + strings.ReplaceAll(string(p.name), "-", "_"), Brief: !c.thorough(p.name, http, full),
			}
			name := string(p.name) + " binary"
			if http {
				target.Address, name = hive.HTTPAddress(), string(p.name)+" HTTP"
			}
			t.Run(name, func(t *testing.T) { compare(t, p, target, fronts) })
		}
	}
	for _, f := range fronts {
		f.stop(t)
		f.judge(t)
	}
	judgeLeaks(t, hive.LogFile())
	goleak.VerifyNone(t, before)
}

// thorough: a client does all steps rather than one of each kind. One does once; where there is time every client over each
// transport, and two once more through TLS.
func (c combination) thorough(name client, http, full bool) bool {
	switch c.name {
	case "NONE":
		return full || name == pyHive && !http
	case "CUSTOM with TLS":
		return full && !http && slices.Contains([]client{pyHive, jdbc}, name)
	default:
		return false
	}
}

// compare runs a client without the proxy, then in each form through it.
func compare(t *testing.T, p program, target Target, fronts []*front) {
	direct := p.output(t, target)
	judge(t, p.name, target, direct)
	for _, f := range fronts {
		t.Run(string(f.form), func(t *testing.T) {
			if f.form.observed() {
				f.runs = append(f.runs, observedRun{p.name, target})
			}
			if difference := firstDifference(direct, p.output(t, f.target(target))); difference != "" {
				t.Error(difference)
			}
		})
	}
}
