package upstream

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const node = "serverUri=hive-1.example.org:10000;version=4.0.1;sequence=0000000007"

// The data as HiveServer2.addConfsToPublish writes it; its order is that of a hash map.
const binaryConf = "hive.server2.instance.uri=hive-1.example.org:10000;hive.server2.authentication=KERBEROS;" +
	"hive.server2.transport.mode=binary;hive.server2.thrift.sasl.qop=auth;hive.server2.thrift.bind.host=hive-1.example.org;" +
	"hive.server2.thrift.port=10000;hive.server2.use.SSL=true;hive.server2.authentication.kerberos.principal=hive/_HOST@EXAMPLE.ORG"

func TestParseNode(t *testing.T) {
	version := Published{Version: "4.0.1"}
	for name, c := range map[string]struct {
		node, data string
		want       Server
	}{
		"binary": {node, binaryConf, Server{Binary: "hive-1.example.org:10000", Published: Published{
			Version: "4.0.1", TransportMode: "binary", Authentication: "KERBEROS", Principal: "hive/_HOST@EXAMPLE.ORG", SASLQOP: "auth", TLS: true,
		}}},
		"http": {
			node, "hive.server2.transport.mode=http;hive.server2.thrift.bind.host=h;hive.server2.thrift.http.port=10001;hive.server2.thrift.http.path=cliservice",
			Server{HTTP: "h:10001", Published: Published{Version: "4.0.1", TransportMode: "http", HTTPPath: "cliservice"}},
		},
		"all": {
			node, "hive.server2.transport.mode=all;hive.server2.thrift.bind.host=h;hive.server2.thrift.http.port=10001;hive.server2.thrift.port=10002",
			Server{Binary: "h:10002", HTTP: "h:10001", Published: Published{Version: "4.0.1", TransportMode: "all"}},
		},
		"publish.configs is false": {node, "other.example.org:10003", Server{Binary: "other.example.org:10003", HTTP: "other.example.org:10003", Published: version}},
		"no bind host":             {node, "hive.server2.thrift.port=10002", Server{Binary: "hive-1.example.org:10002", Published: version}},
		"IPv6":                     {node, "fe80:0:0:0:0:0:0:1:10000", Server{Binary: "[fe80:0:0:0:0:0:0:1]:10000", HTTP: "[fe80:0:0:0:0:0:0:1]:10000", Published: version}},
		"protected":                {"_c_01234567-89ab-cdef-0123-456789abcdef-" + node, "h:1", Server{Binary: "h:1", HTTP: "h:1", Published: version}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.ID = "hive-1.example.org:10000"
			got, sequence, err := parseNode(c.node, c.data)
			if err != nil || got != c.want || sequence != 7 {
				t.Errorf("got %+v, %d, %v\nwant %+v", got, sequence, err, c.want)
			}
			if !registered(c.node) {
				t.Error("not taken for a HiveServer2")
			}
		})
	}
}

func TestNodesRefused(t *testing.T) {
	for name, c := range map[string]struct{ node, data, want string }{
		"empty data":  {node, "", `"": must be host:port`},
		"no port":     {node, "host", `"host": must be host:port`},
		"bad port":    {node, "host:x", `port "x"`},
		"port 0":      {node, "hive.server2.thrift.port=0", `hive.server2.thrift.port: port "0"`},
		"all of IPv4": {node, "hive.server2.thrift.bind.host=0.0.0.0;hive.server2.thrift.port=10000", "set hive.server2.thrift.bind.host"},
		"no ports":    {node, "hive.server2.thrift.bind.host=h", "neither"},
		"no sequence": {"serverUri=h:1;version=4.0.1", "h:1", "sequence"},
		"no URI":      {"version=4.0.1;sequence=1", "h:1", "server URI"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := parseNode(c.node, c.data); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	for _, name := range []string{"leader", "_c_", "_c_01234567-89ab-cdef-0123-456789abcdef-leader", "instance-0000000000", ""} {
		if registered(name) {
			t.Errorf("%q is taken for a HiveServer2", name)
		}
	}
}

func FuzzParseNode(f *testing.F) {
	f.Add(node, binaryConf)
	f.Add("_c_01234567-89ab-cdef-0123-456789abcdef-"+node, "h:1")
	f.Add("serverUri=[::1]:1;sequence=-1", "=;;=")
	f.Fuzz(func(t *testing.T, name, data string) {
		v, _, err := parseNode(name, data)
		if err == nil && (v.ID == "" || v.Binary == "" && v.HTTP == "") {
			t.Errorf("a server without an ID or address: %+v", v)
		}
	})
}

func TestEnsemble(t *testing.T) {
	for ensemble, want := range map[string]string{
		"zk-1":                          "zk-1:2181 /hiveserver2",
		"zk-1:2182, zk-2 ,zk-3:1":       "zk-1:2182 zk-2:2181 zk-3:1 /hiveserver2",
		"zk-1:2181,zk-2:2181/a/b":       "zk-1:2181 zk-2:2181 /a/b/hiveserver2",
		"[::1]:2181,[fe80::1],10.0.0.1": "[::1]:2181 [fe80::1]:2181 10.0.0.1:2181 /hiveserver2",
	} {
		servers, root, err := ZKConfig{Ensemble: ensemble}.parse()
		if got := strings.Join(append(servers, root), " "); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", ensemble, got, err, want)
		}
	}
	if _, root, err := (ZKConfig{Ensemble: "zk", Namespace: "/hive/prod/"}).parse(); err != nil || root != "/hive/prod" {
		t.Errorf("namespace: %q, %v", root, err)
	}
	for _, c := range []ZKConfig{
		{},
		{Ensemble: " , "},
		{Ensemble: "/chroot"},
		{Ensemble: "zk:"},
		{Ensemble: "zk;x=y"},
		{Ensemble: "zk", Namespace: "/"},
		{Ensemble: "zk", SessionTimeout: -time.Second},
	} {
		if err := c.Validate(); err == nil {
			t.Errorf("%+v: no error", c)
		}
		if _, err := NewZooKeeper(t.Context(), c, Options{}); err == nil {
			t.Errorf("%+v: a set was made", c)
		}
	}
}

func TestHostsTakeTurns(t *testing.T) {
	var h hosts
	if err := h.Init([]string{"a", "b"}); err != nil || h.Len() != 2 {
		t.Fatal(errors.New("not taken"), err)
	}
	var got []string
	next := func() {
		name, again := h.Next()
		if again {
			name += "!"
		}
		got = append(got, name)
	}
	for range 5 {
		next()
	}
	h.Connected()
	for range 3 {
		next()
	}
	if s := strings.Join(got, " "); s != "a b a! b a! b a b!" {
		t.Errorf("%s: want every round but the first to be marked, counted from the last success", s)
	}
}
