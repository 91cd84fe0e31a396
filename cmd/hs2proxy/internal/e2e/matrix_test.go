package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
)

// combination is one HiveServer2 and the forms in which clients reach it through the proxy; brief are those of a run
// without HS2PROXY_E2E_FULL.
type combination struct {
	name  string
	auth  localhive.Auth
	http  bool
	brief []form
	full  []form
}

// NOSASL is binary only: over HTTP there is no SASL to leave out.
var combinations = []combination{
	{"NONE", localhive.AuthNone, true, []form{plain}, []form{plain, ended}},
	{"NONE with TLS", localhive.AuthNone, true, nil, []form{passed, again, begun}},
	{"CUSTOM", localhive.AuthCustom, true, nil, []form{plain, ended}},
	{"CUSTOM with TLS", localhive.AuthCustom, true, []form{passed}, []form{passed, again, begun}},
	{"NOSASL", localhive.AuthNoSASL, false, []form{plain}, []form{plain, ended}},
	{"NOSASL with TLS", localhive.AuthNoSASL, false, nil, []form{passed, again, begun}},
}

// Every client gets the same bytes through the proxy as without it, whatever the transport, the login and the TLS. Where
// the proxy reads along, every statement is recorded once with its outcome; and neither an operation nor a session of
// ours is left in HiveServer2.
func TestRealClientsThroughTheProxy(t *testing.T) {
	full := os.Getenv("HS2PROXY_E2E_FULL") == "1"
	for _, c := range combinations {
		forms := c.brief
		if full {
			forms = c.full
		}
		if len(forms) > 0 {
			t.Run(c.name, func(t *testing.T) { c.run(t, forms, full) })
		}
	}
}

func (c combination) run(t *testing.T, forms []form, full bool) {
	o := localhive.Options{Auth: c.auth, HTTP: c.http, TLS: forms[0].serverTLS()}
	if c.auth == localhive.AuthCustom {
		o.Users = map[string]string{"e2e": "e2e-secret"}
	}
	hive := startHive(t, o)
	own := newCertificate(t, hive.Java())
	var fronts []*front
	for _, f := range forms {
		fronts = append(fronts, newFront(t, f, hive, own))
	}
	before := goleak.IgnoreCurrent()
	for _, f := range fronts {
		f.start(t)
	}
	for _, http := range []bool{false, true} {
		if http && !c.http {
			continue
		}
		for _, p := range programs {
			target := Target{
				Address: hive.Address(), HTTP: http, TLS: serverTrust(hive), Auth: string(c.auth), User: "e2e", Password: "e2e-secret",
				Database: "e2e_" + strings.ReplaceAll(string(p.name), "-", "_"), Brief: !full || !thorough(p.name, c, http),
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

// thorough: all steps rather than one of each kind. Once for every client and transport is enough, and once through TLS.
func thorough(c client, in combination, http bool) bool {
	return in.name == "NONE" || in.name == "CUSTOM with TLS" && slices.Contains([]client{pyHive, jdbc}, c) && !http
}

// compare runs a client without the proxy, then in each form through it.
func compare(t *testing.T, p program, target Target, fronts []*front) {
	if reason := p.cannot(target); reason != "" {
		t.Skipf("%s: %s", p.name, reason)
	}
	direct := p.output(t, target)
	judge(t, p.name, target, direct)
	for _, f := range fronts {
		t.Run(string(f.form), func(t *testing.T) {
			if f.observes(target.HTTP) {
				f.runs = append(f.runs, observedRun{p.name, target})
			}
			if difference := firstDifference(direct, p.output(t, f.target(target))); difference != "" {
				t.Error(difference)
			}
		})
	}
}
