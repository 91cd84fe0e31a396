package admin

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/version"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

const namespace = "hs2proxy"

// Metrics is the proxy's own registry. Most of it is read from counters when somebody asks; the rest is told as it happens.
type Metrics struct {
	registry  *prometheus.Registry
	explains  prometheus.Histogram
	refreshes *prometheus.CounterVec
}

// NewMetrics makes a registry with the build, the process and the Go runtime in it.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		explains: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "explain_duration_seconds",
			Help:    "Time from sending an EXPLAIN to HiveServer2's answer, refusals and failures included.",
			Buckets: []float64{0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
		}),
		refreshes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "refreshes_total",
			Help: "Refreshes of table statistics that ended here, by what they were worth.",
		}, []string{"effect"}),
	}
	for _, e := range []statscheck.Effect{
		statscheck.EffectEffective, statscheck.EffectNoChange, statscheck.EffectIneffective, statscheck.EffectFailed,
	} {
		m.refreshes.WithLabelValues(label(e))
	}
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "The running build; always 1.",
		ConstLabels: prometheus.Labels{"version": version.String(), "go_version": runtime.Version()},
	}, func() float64 { return 1 })
	m.registry.MustRegister(m.explains, m.refreshes, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Explained takes note of an EXPLAIN that was sent.
func (m *Metrics) Explained(took time.Duration) { m.explains.Observe(took.Seconds()) }

// Refreshed takes note of a refresh that has ended and is on record.
func (m *Metrics) Refreshed(effect statscheck.Effect) {
	m.refreshes.WithLabelValues(label(effect)).Inc()
}

// Watch reads the source's counters whenever somebody asks. Call it once, before anybody does.
func (m *Metrics) Watch(source Source) { m.registry.MustRegister(newCollector(source)) }

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: readTimeout,
	})
}
