package admin

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/limit"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// family is one metric: how it is called and how it is read. read emits one value for each combination of labels.
type family struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string
	read       func(r *reading, emit func(value float64, labels ...string))
}

// reading is the source at one moment.
type reading struct {
	Source
	stats   intercept.Stats
	servers []upstream.Status
	limits  limit.Stats
}

// families are all there are.
var families = slices.Concat(traffic, upstreams, doors)

// collector reads families from a source.
type collector struct {
	source Source
	descs  []*prometheus.Desc // of families
	added  *prometheus.Desc
}

func newCollector(source Source) *collector {
	c := &collector{source: source, descs: make([]*prometheus.Desc, len(families))}
	c.added = prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "added_latency_seconds"),
		"Time that bytes stayed in the proxy between being read and being written, a sample; slow receivers are not in it.", nil, nil)
	for i, f := range families {
		c.descs[i] = prometheus.NewDesc(prometheus.BuildFQName(namespace, "", f.name), f.help, f.labels, nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
	ch <- c.added
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	r := &reading{Source: c.source, stats: c.source.Relay.Stats(), servers: c.source.Relay.Servers(), limits: c.source.Limits()}
	for i, f := range families {
		f.read(r, func(value float64, labels ...string) {
			m, err := prometheus.NewConstMetric(c.descs[i], f.kind, value, labels...)
			if err != nil { // a label that is no UTF-8 costs its own metric, not the process
				m = prometheus.NewInvalidMetric(c.descs[i], err)
			}
			ch <- m
		})
	}
	ch <- latency(c.added, r.stats.Added)
}

// latency is a histogram as Prometheus counts it: every bucket with those below.
func latency(desc *prometheus.Desc, l intercept.Latencies) prometheus.Metric {
	buckets := make(map[float64]uint64, len(l.Bounds))
	var below uint64
	for i, bound := range l.Bounds {
		below += uint64(max(0, l.Counts[i]))
		buckets[bound.Seconds()] = below
	}
	return prometheus.MustNewConstHistogram(desc, uint64(max(0, l.Count)), l.Sum.Seconds(), buckets)
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// one reads a family of a single value.
func one[N int | int64 | uint64](value func(r *reading) N) func(*reading, func(float64, ...string)) {
	return func(r *reading, emit func(float64, ...string)) { emit(float64(value(r))) }
}

// bySide reads a family of two values, one for each side of the proxy.
func bySide(name1, name2 string, values func(r *reading) (int64, int64)) func(*reading, func(float64, ...string)) {
	return func(r *reading, emit func(float64, ...string)) {
		first, second := values(r)
		emit(float64(first), name1)
		emit(float64(second), name2)
	}
}

// byNumber reads a family of the numbers that are compared with the planner's.
func byNumber(value func(*pipeline.Agreement) int64) func(*reading, func(float64, ...string)) {
	return func(r *reading, emit func(float64, ...string)) {
		emit(float64(value(&r.Counters.Strategies)), "strategy")
		emit(float64(value(&r.Counters.Budgets)), "budget")
		emit(float64(value(&r.Counters.Sizes)), "size")
	}
}

// traffic is what passes, and what becomes of it.
var traffic = []family{
	{
		"connections_open", "Client connections open now.", gauge, nil,
		one(func(r *reading) int64 { return r.stats.Open }),
	},
	{
		"connections_accepted_total", "Client connections accepted.", counter, nil,
		one(func(r *reading) int64 { return r.stats.Accepted }),
	},
	{
		"http_connections_open", "Client connections that speak HTTP open now, those passed through in TLS not among them.", gauge, nil,
		one(func(r *reading) int64 { return r.stats.OpenHTTP }),
	},
	{
		"http_connections_accepted_total", "Client connections that spoke HTTP, those passed through in TLS not among them.", counter, nil,
		one(func(r *reading) int64 { return r.stats.HTTP }),
	},
	{
		"connections_failed_total", "Connections that ended before their time, by the side that failed.", counter,
		[]string{"side"},
		bySide("client", "hiveserver2", func(r *reading) (int64, int64) { return r.stats.ClientFailures, r.stats.UpstreamFailures }),
	},
	{
		"connections_blind_total", "Connections relayed without being observed, by reason.", counter,
		[]string{"reason"},
		func(r *reading, emit func(float64, ...string)) {
			for _, reason := range thrift.BlindReasons() {
				emit(float64(r.stats.Blind[reason]), reason.String())
			}
		},
	},
	{
		"relayed_bytes_total", "Payload bytes relayed, by direction.", counter,
		[]string{"direction"},
		bySide("to_hiveserver2", "to_client", func(r *reading) (int64, int64) { return r.stats.BytesFromClients, r.stats.BytesFromServer }),
	},
	{
		"upstream_dials_total", "Attempts to connect to HiveServer2, by outcome.", counter,
		[]string{"outcome"},
		bySide("ok", "failed", func(r *reading) (int64, int64) {
			return r.stats.Dials - r.stats.FailedDials, r.stats.FailedDials
		}),
	},
	{
		"logins_refused_total", "Logins that HiveServer2 refused.", counter, nil,
		one(func(r *reading) int64 { return r.stats.RefusedLogins }),
	},
	{
		"decode_failures_total", "Watched messages whose content could not be read; their bytes went on.", counter, nil,
		one(func(r *reading) int64 { return r.stats.DecodeFailures }),
	},
	{
		"calls_total", "Calls of clients, by method.", counter,
		[]string{"method"},
		func(r *reading, emit func(float64, ...string)) {
			for _, c := range r.stats.Calls {
				emit(float64(c.Calls), c.Method.String())
			}
		},
	},
	{
		"replies_total", "Replies of HiveServer2, by method and by what they say.", counter,
		[]string{"method", "outcome"},
		func(r *reading, emit func(float64, ...string)) {
			for _, c := range r.stats.Calls {
				for outcome, n := range c.Outcomes {
					emit(float64(n), c.Method.String(), outcome.String())
				}
			}
		},
	},
	{
		"sessions", "Sessions followed now.", gauge, nil,
		one(func(r *reading) int { return r.stats.Tracker.Sessions }),
	},
	{
		"statements_running", "Statements followed now, without an outcome yet.", gauge, nil,
		one(func(r *reading) int { return r.stats.Tracker.Statements }),
	},
	{
		"sessions_forgotten_total", "Sessions given up because too many were followed.", counter, nil,
		one(func(r *reading) int64 { return r.stats.Tracker.ForgottenSessions }),
	},
	{
		"statements_forgotten_total", "Running statements given up because too many were followed.", counter, nil,
		one(func(r *reading) int64 { return r.stats.Tracker.ForgottenStatements }),
	},
	{
		"events_dropped_total", "Observations that found the queue full.", counter, nil,
		one(func(r *reading) int64 { return r.stats.Tracker.DroppedEvents }),
	},
	{
		"queue_length", "Observations that wait for the pipeline.", gauge, nil,
		one(func(r *reading) int { return r.QueueLength() }),
	},
	{
		"analyses_total", "Statements that could be explained, by what came of it.", counter,
		[]string{"outcome"},
		func(r *reading, emit func(float64, ...string)) {
			c := r.Counters
			emit(float64(c.Explained.Load()), "explained")
			emit(float64(c.Reused.Load()), "reused")
			emit(float64(c.Refused.Load()), "refused")
			emit(float64(c.Failed.Load()), "failed")
			emit(float64(c.Skipped.Load()), "skipped")
		},
	},
	{
		"fidelity_compared_total", "Numbers of the simulation compared with the planner's.", counter,
		[]string{"number"},
		byNumber(func(a *pipeline.Agreement) int64 { return a.Compared.Load() }),
	},
	{
		"fidelity_agreed_total", "Those that agree: strategies with the streamed side, budgets to the byte, sizes within 1 %.", counter,
		[]string{"number"},
		byNumber(func(a *pipeline.Agreement) int64 { return a.Agreed.Load() }),
	},
	{
		"panics_total", "Panics of the pipeline that were isolated.", counter, nil,
		one(func(r *reading) int64 { return r.Counters.Panics.Load() }),
	},
	{
		"explain_breaker_state", "1 for the state that the breaker in front of EXPLAIN is in.", gauge,
		[]string{"state"},
		func(r *reading, emit func(float64, ...string)) {
			now := r.Breaker()
			for _, state := range []string{"closed", "half-open", "open"} {
				value := 0.0
				if state == now {
					value = 1
				}
				emit(value, strings.ReplaceAll(state, "-", "_"))
			}
		},
	},
	{
		"records_total", "Records for Postgres, by what became of them.", counter,
		[]string{"outcome"},
		func(r *reading, emit func(float64, ...string)) {
			c := r.Counters
			emit(float64(c.Recorded.Load()), "written")
			emit(float64(c.RecordDropped.Load()), "dropped")
			emit(float64(c.RecordFailed.Load()), "failed")
		},
	},
	{
		"records_waiting", "Records that wait in memory, for Postgres or the spool.", gauge, nil,
		one(func(r *reading) int { return r.RecordsWaiting() }),
	},
	{
		"spool_records_total", "Records that went by the spool, by what became of them; those replayed are written as well.",
		counter,
		[]string{"outcome"},
		func(r *reading, emit func(float64, ...string)) {
			c := r.Counters
			emit(float64(c.Spooled.Load()), "spooled")
			emit(float64(c.Replayed.Load()), "replayed")
			emit(float64(c.SpoolDropped.Load()), "dropped")
		},
	},
	{
		"spool_faults_total", "Times that the spool's disk refused.", counter, nil,
		one(func(r *reading) int64 { return r.Counters.SpoolFaults.Load() }),
	},
	{
		"spool_records", "Records on disk that wait for Postgres; missing without a spool.", gauge, nil,
		func(r *reading, emit func(float64, ...string)) {
			if r.Spool != nil {
				emit(float64(r.Spool.Len()))
			}
		},
	},
	{
		"spool_bytes", "Bytes that the spool takes on disk; missing without a spool.", gauge, nil,
		func(r *reading, emit func(float64, ...string)) {
			if r.Spool != nil {
				emit(float64(r.Spool.Bytes()))
			}
		},
	},
}

// label is a constant of ours as labels are written.
func label[S ~string](s S) string { return strings.ToLower(string(s)) }
