package admin

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

func watched() *Metrics {
	m := NewMetrics()
	m.Watch(sourceOf(newFake()))
	m.Explained(70 * time.Millisecond)
	m.Refreshed(statscheck.EffectEffective)
	return m
}

// TestLint: names, types, units and help texts are as Prometheus wants them.
func TestLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(watched().registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestCollectorDescribesWhatItCollects: a pedantic registry refuses anything else.
func TestCollectorDescribesWhatItCollects(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(newCollector(sourceOf(newFake())))
	got, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(families)+1 {
		t.Errorf("%d of %d families", len(got), len(families)+1)
	}
}

func TestValues(t *testing.T) {
	w := ask(handler("", sourceOf(newFake()), watched(), zerolog.Nop()), http.MethodGet, "/metrics", nil)
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	body := w.Body.String()
	for _, line := range []string{
		`hs2proxy_connections_open 2`,
		`hs2proxy_connections_accepted_total 9`,
		`hs2proxy_http_connections_open 1`,
		`hs2proxy_http_connections_accepted_total 7`,
		`hs2proxy_connections_failed_total{side="client"} 1`,
		`hs2proxy_connections_failed_total{side="hiveserver2"} 3`,
		`hs2proxy_connections_blind_total{reason="tls"} 8`,
		`hs2proxy_connections_blind_total{reason="sealed"} 0`,
		`hs2proxy_relayed_bytes_total{direction="to_hiveserver2"} 100`,
		`hs2proxy_relayed_bytes_total{direction="to_client"} 2000`,
		`hs2proxy_upstream_dials_total{outcome="ok"} 3`,
		`hs2proxy_upstream_dials_total{outcome="failed"} 2`,
		`hs2proxy_logins_refused_total 4`,
		`hs2proxy_decode_failures_total 6`,
		`hs2proxy_calls_total{method="ExecuteStatement"} 12`,
		`hs2proxy_replies_total{method="ExecuteStatement",outcome="ok"} 10`,
		`hs2proxy_replies_total{method="ExecuteStatement",outcome="refused"} 1`,
		`hs2proxy_added_latency_seconds_bucket{le="1e-06"} 2`,
		`hs2proxy_added_latency_seconds_bucket{le="0.001"} 5`,
		`hs2proxy_added_latency_seconds_bucket{le="+Inf"} 6`,
		`hs2proxy_added_latency_seconds_sum 1.5`,
		`hs2proxy_sessions 3`,
		`hs2proxy_statements_running 1`,
		`hs2proxy_events_dropped_total 11`,
		`hs2proxy_queue_length 23`,
		`hs2proxy_analyses_total{outcome="explained"} 21`,
		`hs2proxy_analyses_total{outcome="failed"} 0`,
		`hs2proxy_fidelity_compared_total{number="budget"} 28`,
		`hs2proxy_fidelity_agreed_total{number="budget"} 27`,
		`hs2proxy_fidelity_agreed_total{number="size"} 0`,
		`hs2proxy_explain_breaker_state{state="half_open"} 1`,
		`hs2proxy_explain_breaker_state{state="open"} 0`,
		`hs2proxy_explain_duration_seconds_bucket{le="0.05"} 0`,
		`hs2proxy_explain_duration_seconds_bucket{le="0.1"} 1`,
		`hs2proxy_records_total{outcome="written"} 22`,
		`hs2proxy_records_waiting 24`,
		`hs2proxy_spool_records_total{outcome="replayed"} 26`,
		`hs2proxy_spool_faults_total 0`,
		`hs2proxy_spool_records 2`,
		`hs2proxy_spool_bytes 50`,
		`hs2proxy_upstream_servers{state="up"} 1`,
		`hs2proxy_upstream_servers{state="down"} 1`,
		`hs2proxy_upstream_servers{state="left"} 0`,
		`hs2proxy_upstream_up{server="a:10000"} 1`,
		`hs2proxy_upstream_up{server="b:10000"} 0`,
		`hs2proxy_upstream_connections_open{server="a:10000"} 2`,
		`hs2proxy_upstream_connections_open{server="b:10000"} 0`,
		`hs2proxy_zookeeper_up 1`,
		`hs2proxy_zookeeper_listed_timestamp_seconds 1001`,
		`hs2proxy_connections_refused_total{limit="connections_per_address"} 36`,
		`hs2proxy_connections_refused_total{limit="failed_logins"} 37`,
		`hs2proxy_connections_refused_total{limit="connections"} 0`,
		`hs2proxy_client_addresses 31`,
		`hs2proxy_client_users 32`,
		`hs2proxy_login_addresses_watched 33`,
		`hs2proxy_login_addresses_paused 34`,
		`hs2proxy_login_addresses_forgotten_total 35`,
		`hs2proxy_certificate_expiry_timestamp_seconds{side="clients"} 4.1024448e+09`,
		`hs2proxy_refreshes_total{effect="effective"} 1`,
		`hs2proxy_refreshes_total{effect="no_change"} 0`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(body, `side="upstream"`) {
		t.Error("a certificate that there is not expires")
	}
	if !regexp.MustCompile(`hs2proxy_build_info\{go_version="go[^"]+",version="[^"]+"\} 1\n`).MatchString(body) {
		t.Error("no build")
	}
}

// TestWithoutASpool: what there is not is missing, not zero.
func TestWithoutASpool(t *testing.T) {
	source, m := sourceOf(newFake()), NewMetrics()
	source.Spool = nil
	m.Watch(source)
	n, err := testutil.GatherAndCount(m.registry, "hs2proxy_spool_records", "hs2proxy_spool_bytes")
	if err != nil || n != 0 {
		t.Errorf("%d series, %v", n, err)
	}
}

// TestDashboard: the dashboard is JSON as Grafana imports it, and every metric it asks for exists.
func TestDashboard(t *testing.T) {
	raw, err := os.ReadFile("../../../../configs/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title, UID string
		Panels     []struct {
			ID          int
			Type, Title string
			GridPos     struct{ H, W, X, Y int }
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	got, err := watched().registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range got {
		known[family.GetName()] = true
	}
	names, ids := regexp.MustCompile(`\b(hs2proxy|process|go)_\w+`), map[int]bool{}
	used, taken := map[string]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		if p.Type == "row" {
			continue
		}
		if ids[p.ID] || p.ID == 0 || p.Title == "" || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 || len(p.Targets) == 0 {
			t.Errorf("panel %d %q: id taken, no title, no place or no query", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("panels %q and %q overlap", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			found := names.FindAllString(target.Expr, -1)
			if len(found) == 0 {
				t.Errorf("panel %q asks for nothing of ours: %s", p.Title, target.Expr)
			}
			for _, name := range found {
				used[name] = true
				base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
				if !known[name] && !known[base] {
					t.Errorf("panel %q asks for %s, which does not exist", p.Title, name)
				}
			}
		}
	}
	if board.Title == "" || board.UID == "" || len(board.Panels) < 10 {
		t.Errorf("title %q, uid %q, %d panels", board.Title, board.UID, len(board.Panels))
	}
	for _, name := range []string{
		"hs2proxy_connections_open", "hs2proxy_relayed_bytes_total", "hs2proxy_events_dropped_total", "hs2proxy_explain_breaker_state",
		"hs2proxy_explain_duration_seconds_bucket", "hs2proxy_records_total", "hs2proxy_refreshes_total", "hs2proxy_connections_failed_total",
		"hs2proxy_spool_records", "hs2proxy_upstream_up", "hs2proxy_zookeeper_up", "hs2proxy_connections_refused_total",
		"hs2proxy_certificate_expiry_timestamp_seconds",
	} {
		if !used[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}
