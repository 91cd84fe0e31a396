package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/intercept/tlsfiles"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// upstream reaches every server, logs in to each, and asks the first that lets us in for the rest.
func (d *doctor) upstream(ctx context.Context) {
	servers := app.ServerList(d.cfg)
	if d.cfg.Upstream.ZooKeeper.Ensemble != "" {
		servers = d.discovered(ctx)
	}
	secure, err := app.UpstreamTLS(d.cfg)
	if err != nil { // certificates has said so
		return
	}
	asked := false
	for _, s := range servers {
		session, login := d.server(ctx, s, secure)
		if session == nil {
			continue
		}
		if !asked {
			asked = true
			d.answers(ctx, session, login)
			if d.cfg.Stats.Enabled && d.cfg.Stats.SysViews != config.SysOff {
				d.sysViews(ctx, login)
			}
		}
		_ = session.Close()
	}
}

// discovered is the servers that have registered.
func (d *doctor) discovered(ctx context.Context) []upstream.Server {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	z := d.cfg.Upstream.ZooKeeper
	set, err := upstream.NewZooKeeper(ctx, upstream.ZKConfig{Ensemble: z.Ensemble, Namespace: z.Namespace}, upstream.Options{Log: zerolog.Nop()})
	var servers []upstream.Server
	if err == nil {
		for _, s := range set.Snapshot() {
			if s.Listed {
				servers = append(servers, *s.Server)
			}
		}
		err = set.Close()
	}
	if err == nil && len(servers) == 0 {
		err = fmt.Errorf("no HiveServer2 has registered at /%s in ZooKeeper %s", strings.Trim(z.Namespace, "/"), z.Ensemble)
	}
	d.print(check{
		name: "ZooKeeper", detail: fmt.Sprintf("%d registered: %s", len(servers), names(servers)), err: err,
		mend: "check upstream.zookeeper, and hive.server2.support.dynamic.service.discovery and hive.server2.zookeeper.namespace of HiveServer2",
	})
	return servers
}

func names(servers []upstream.Server) string {
	var out []string
	for _, s := range servers {
		out = append(out, s.ID)
	}
	return strings.Join(out, ", ")
}

// server reaches one server by each of its addresses and logs in; the session is nil where that failed.
func (d *doctor) server(ctx context.Context, s upstream.Server, secure *tlsfiles.ClientTLS) (*client.Session, client.Config) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	well := true
	for i, address := range []string{s.Binary, s.HTTP} {
		if address != "" && (i == 0 || address != s.Binary) {
			well = d.reach(ctx, address, secure) && well
		}
	}
	login := app.ServiceConfig(d.cfg, s, secure)
	if !well {
		return nil, login
	}
	if login.Address == "" {
		d.print(check{
			name: "credentials", err: fmt.Errorf("%s does not speak the %s transport", s.ID, d.cfg.Service.Transport),
			mend: "set service.transport to hive.server2.transport.mode",
		})
		return nil, login
	}
	session, err := client.Open(ctx, login, nil)
	who, mend := d.cfg.Service.User, "set service.auth to hive.server2.authentication, service.user and service.password_file"
	if d.cfg.Service.Auth == config.AuthKerberos {
		who, mend = d.cfg.Service.Principal, "check service.keytab_file (klist -k), service.server_principal, service.krb5_conf and that the KDC answers"
	}
	d.print(check{
		name: "credentials", detail: fmt.Sprintf("the proxy logs in to %s as %s (%s, %s)", login.Address, who, d.cfg.Service.Auth, d.cfg.Service.Transport), err: err, mend: mend,
	})
	if err != nil {
		return nil, login
	}
	return session, login
}

// reach connects and, where it is configured, speaks TLS.
func (d *doctor) reach(ctx context.Context, address string, secure *tlsfiles.ClientTLS) bool {
	conn, err := app.DialUpstream(ctx, d.cfg, address)
	d.print(check{
		name: "upstream", detail: address + " accepts connections", err: err,
		mend: "check upstream.address (or servers, or what ZooKeeper publishes), the firewall, and that HiveServer2 runs",
	})
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	if secure == nil {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	secured := tls.Client(conn, secure.Config(host))
	err = secured.HandshakeContext(ctx)
	detail := ""
	if err == nil {
		state := secured.ConnectionState()
		leaf := state.PeerCertificates[0]
		detail = fmt.Sprintf("%s speaks %s; its certificate is valid until %s", address, tls.VersionName(state.Version), leaf.NotAfter.UTC().Format(time.DateOnly))
		if left := leaf.NotAfter.Sub(d.now()); left < soon {
			d.warn("upstream TLS", fmt.Sprintf("the certificate of %s ends in %d days", address, int(left/(24*time.Hour))), "renew it at HiveServer2")
		}
	}
	d.print(check{name: "upstream TLS", detail: detail, err: err, mend: tlsMend(err)})
	return err == nil
}

// tlsMend says what most probably is wrong.
func tlsMend(err error) string {
	var (
		name *tls.CertificateVerificationError
		odd  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &odd):
		return "HiveServer2 does not speak TLS here (hive.server2.use.SSL): set upstream.tls.enabled to false"
	case errors.As(err, &name):
		return "set upstream.tls.ca_file to the authority of HiveServer2's certificate, and upstream.tls.server_name where the name differs"
	default:
		return "check hive.server2.use.SSL of HiveServer2, and upstream.tls.cert_file where it asks for a certificate"
	}
}

// answers asks what a session can tell.
func (d *doctor) answers(ctx context.Context, session *client.Session, login client.Config) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	server := pipeline.NewServer(session, time.Hour, time.Now)
	facts, err := server.Facts(ctx)
	d.print(check{
		name: "settings", detail: fmt.Sprintf("Hive %s, %d settings read", facts.Version, len(facts.Settings)), err: err,
		mend: "the service user must be allowed SET -v and SELECT version()",
	})
	if err != nil {
		return
	}
	d.settings(facts.Settings)
	d.explain(ctx, login)
}

// sysViews asks whether Hive's sys database can be read, on a session as the watch has.
func (d *doctor) sysViews(ctx context.Context, login client.Config) {
	session := pipeline.NewService(pipeline.To(login), pipeline.SysConf())
	defer session.Close()
	d.sys(ctx, session)
}

// sys says whether sys can be read. That it cannot is no fault: each table is described then.
func (d *doctor) sys(ctx context.Context, hive statscheck.Hive) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	size, err := statscheck.SysReadable(ctx, hive)
	detail := fmt.Sprintf("Hive's sys database can be read (up to %d tables and %d partitions): only tables that it shows as changed are described",
		size.Tables, size.Partitions)
	switch {
	case err == nil:
	case errors.Is(err, statscheck.ErrNoSys):
		detail = "there is no sys database: each table is described (schematool -dbType hive would make it)"
	case errors.Is(err, statscheck.ErrSysLarge):
		detail = "the metastore is too large to be read through sys: each table is described"
	default:
		d.warn("sys", "Hive's sys database cannot be read, each table is described: "+oneLine(err),
			"GRANT SELECT on the nine tables named in docs/staleness.md to the service user, or set statistics.sys_views to off")
		return
	}
	d.print(check{name: "sys", detail: detail})
}

// closeOnDisconnect decides whether a session outlives its connection; Hive's default is true.
const closeOnDisconnect = "hive.server2.close.session.on.disconnect"

func (d *doctor) settings(s map[string]string) {
	if s["hive.execution.engine"] != "tez" {
		d.warn("engine", "hive.execution.engine is "+s["hive.execution.engine"], "the selector is Tez's; plans of other engines are read but not simulated")
	}
	if s["hive.server2.parallel.ops.in.session"] == "false" {
		d.warn("parallel operations", "hive.server2.parallel.ops.in.session is false: our EXPLAIN and the client's query wait for each other",
			"set it to true")
	}
	if s["hive.driver.parallel.compilation"] == "false" {
		d.warn("parallel compilation", "hive.driver.parallel.compilation is false: EXPLAIN queues behind other compilations", "set it to true")
	}
	switch keep := d.cfg.Upstream.KeepSessions; {
	case s[closeOnDisconnect] == "false" && !keep:
		d.warn("sessions", closeOnDisconnect+" is false, so sessions outlive their connections; the proxy takes them for ended",
			"set upstream.keep_sessions_on_disconnect to true")
	case s[closeOnDisconnect] == "true" && keep:
		d.warn("sessions", closeOnDisconnect+" is true, so sessions end with their connections; the proxy takes them for alive",
			"set upstream.keep_sessions_on_disconnect to false")
	}
}

// explain sends one EXPLAIN as the pipeline does, overlay and all.
func (d *doctor) explain(ctx context.Context, login client.Config) {
	explainer := pipeline.NewExplainer(app.ExplainConfig(d.cfg, pipeline.To(login)), zerolog.Nop())
	defer explainer.Close()
	got, err := explainer.Explain(ctx, pipeline.Target{Database: "default"}, "SELECT 1")
	detail := "EXPLAIN EXTENDED works"
	if len(got.Log) > 0 {
		detail += ", with the planner's own numbers"
	}
	d.print(check{
		name: "explain", detail: detail, err: err,
		mend: "the service user must be allowed to EXPLAIN; allow the settings named in docs/wire.md",
	})
	if refused := explainer.Forbidden(); len(refused) > 0 {
		d.warn("explain settings", "HiveServer2 refuses "+strings.Join(refused, ", ")+" in a confOverlay",
			"add them to hive.security.authorization.sqlstd.confwhitelist.append")
	}
}
