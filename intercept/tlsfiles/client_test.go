package tlsfiles

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"
)

func mustClient(t *testing.T, files ClientFiles) *ClientTLS {
	t.Helper()
	c, err := Client(files)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClient(t *testing.T) {
	ca, strangers, f := newAuthority(t, "ca", later), newAuthority(t, "strangers", later), newFolder(t)
	server := &tls.Config{Certificates: []tls.Certificate{load2(f.pair(ca, "hive", "hive", 0))(t)}}
	own, other := f.write("ca.pem", ca.pem, 0), f.write("strangers.pem", strangers.pem, 0)
	for name, test := range map[string]struct {
		files ClientFiles
		host  string
		want  string // part of the client's error
	}{
		"own authority":         {ClientFiles{CA: own}, "hive", ""},
		"name from the files":   {ClientFiles{CA: own, ServerName: "hive"}, "10.0.0.1", ""},
		"another name":          {ClientFiles{CA: own}, "hive2", "hive2"},
		"another name in files": {ClientFiles{CA: own, ServerName: "hive2"}, "hive", "hive2"},
		"another authority":     {ClientFiles{CA: other}, "hive", "unknown authority"},
		"the system's":          {ClientFiles{}, "hive", "unknown authority"},
	} {
		err := handshake(t, server, mustClient(t, test.files).Config(test.host)).client
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := mustClient(t, ClientFiles{CA: own})
	if config := c.Config("hive"); config.MinVersion != tls.VersionTLS12 || config.InsecureSkipVerify || config.ServerName != "hive" {
		t.Errorf("%+v", config)
	}
	if !c.NotAfter().IsZero() {
		t.Errorf("no certificate of ours, and it expires at %v", c.NotAfter())
	}
	c.Config("hive").ServerName = "changed by the caller"
	if config := c.Config("hive"); config.ServerName != "hive" {
		t.Error("callers share a configuration")
	}
}

// TestClientReload: authority and own certificate follow, also for the server that asks for one.
func TestClientReload(t *testing.T) {
	ca, renewed, f := newAuthority(t, "ca", later), newAuthority(t, "renewed", later), newFolder(t)
	hive := func(a *authority, name string) *tls.Config {
		cert, key := f.pair(a, name, "hive", 0)
		return mustServer(t, ServerFiles{Cert: cert, Key: key, ClientCA: f.write(name+".ca.pem", a.pem, 0)}).Config()
	}
	before, after := hive(ca, "before"), hive(renewed, "after")
	cert, key := f.pair(ca, "own", "proxy", 0)
	authorities := f.write("ca.pem", ca.pem, 0)
	c := mustClient(t, ClientFiles{CA: authorities, Cert: cert, Key: key})
	if err := handshake(t, before, c.Config("hive")).err(); err != nil {
		t.Error(err)
	}
	if o := handshake(t, after, c.Config("hive")); o.client == nil {
		t.Error("an unknown authority is believed")
	}
	if c.Changed() {
		t.Error("changed before anything was")
	}

	f.pair(renewed, "own", "proxy", time.Minute)
	f.write("ca.pem", renewed.pem, time.Minute)
	if !c.Changed() {
		t.Error("not seen to have changed")
	}
	if err := c.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := handshake(t, after, c.Config("hive")).err(); err != nil {
		t.Error(err)
	}
	if o := handshake(t, before, c.Config("hive")); o.client == nil {
		t.Error("the authority taken away is believed")
	}
	if w := c.Warnings(later.Add(1)); len(w) != 2 || c.NotAfter().IsZero() {
		t.Errorf("%v, %v", w, c.NotAfter())
	}
}
