package admin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// series are the lines of one metric.
func series(t *testing.T, source Source, name string) (lines []string) {
	t.Helper()
	m := NewMetrics()
	m.Watch(source)
	body := ask(handler("", source, m, zerolog.Nop()), http.MethodGet, "/metrics", nil).Body.String()
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, namespace+"_"+name); ok && strings.ContainsAny(rest[:1], " {") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// TestServersAreBounded: the servers with series of their own are bounded, the totals count all of them.
func TestServersAreBounded(t *testing.T) {
	var list []upstream.Server
	for i := range maxServers + 7 {
		list = append(list, upstream.Server{Binary: fmt.Sprintf("s%03d:10000", i)})
	}
	relay := newFake()
	if err := relay.servers.Replace(list); err != nil {
		t.Fatal(err)
	}
	source := sourceOf(relay)
	for _, name := range []string{"upstream_up", "upstream_connections_open"} {
		if got := series(t, source, name); len(got) != maxServers {
			t.Errorf("%s: %d series", name, len(got))
		}
	}
	if got := strings.Join(series(t, source, "upstream_servers"), "\n"); !strings.Contains(got, fmt.Sprintf(`{state="up"} %d`, maxServers+7)) ||
		!strings.Contains(got, `{state="left"} 2`) {
		t.Errorf("totals:\n%s", got)
	}
}

// TestServersThatLeft: one that takes no new connections is neither up nor down, and seen as long as it has some.
func TestServersThatLeft(t *testing.T) {
	relay := newFake()
	if err := relay.servers.Replace([]upstream.Server{{Binary: "c:10000"}}); err != nil {
		t.Fatal(err)
	}
	source := sourceOf(relay)
	if got := strings.Join(series(t, source, "upstream_up"), " "); got != `hs2proxy_upstream_up{server="c:10000"} 1` {
		t.Errorf("up: %s", got)
	}
	open := func() string { return strings.Join(series(t, source, "upstream_connections_open"), " ") }
	if got := open(); !strings.Contains(got, `{server="a:10000"} 2`) || strings.Contains(got, `b:10000`) {
		t.Errorf("open: %s", got)
	}
	a, _ := relay.servers.ByID("a:10000")
	a.Closed()
	a.Closed()
	if got := open(); strings.Contains(got, "a:10000") {
		t.Errorf("open, when the last has gone: %s", got)
	}
	if got := series(t, source, "upstream_last_dial_timestamp_seconds"); len(got) != 0 {
		t.Errorf("never dialled: %s", got)
	}
}

// TestABadLabelCostsItsMetric: a name that is no UTF-8 does not end the process.
func TestABadLabelCostsItsMetric(t *testing.T) {
	relay := newFake()
	if err := relay.servers.Replace([]upstream.Server{{ID: "\xff", Binary: "a:10000"}}); err != nil {
		t.Fatal(err)
	}
	source := sourceOf(relay)
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(source))
	if _, err := r.Gather(); err == nil {
		t.Error("the label is taken")
	}
	if got := series(t, source, "connections_open"); len(got) != 1 {
		t.Errorf("the other metrics are lost: %s", got)
	}
}

func TestZooKeeper(t *testing.T) {
	now := time.Unix(2000, 0)
	for name, c := range map[string]struct {
		state upstream.Discovery
		up    string
	}{
		"followed":       {upstream.Discovery{Connected: true, Since: now, ListedAt: now}, "1"},
		"away":           {upstream.Discovery{Since: now, ListedAt: now}, "0"},
		"cannot be read": {upstream.Discovery{Connected: true, Since: now, Err: errors.New("no authority")}, "0"},
	} {
		source := sourceOf(newFake())
		source.Discovery = func() (upstream.Discovery, bool) { return c.state, true }
		if got := series(t, source, "zookeeper_up"); len(got) != 1 || got[0] != "hs2proxy_zookeeper_up "+c.up {
			t.Errorf("%s: %s", name, got)
		}
		if got := series(t, source, "zookeeper_listed_timestamp_seconds"); (len(got) == 1) == c.state.ListedAt.IsZero() {
			t.Errorf("%s: %s", name, got)
		}
	}
	source := sourceOf(newFake())
	source.Discovery = func() (upstream.Discovery, bool) { return upstream.Discovery{}, false }
	if got := series(t, source, "zookeeper_up"); len(got) != 0 {
		t.Errorf("without ZooKeeper: %s", got)
	}
}
