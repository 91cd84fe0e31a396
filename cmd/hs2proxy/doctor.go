package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

type doctorCmd struct {
	configFlags
	Timeout time.Duration `default:"30s" help:"Limit for each check."`
}

// check is one line of the doctor's.
type check struct {
	name   string
	detail string // what was found
	err    error  // nil: well
	mend   string // what to do about err
}

// Run prints a line per check and fails when one failed.
func (c doctorCmd) Run(ctx context.Context) error {
	cfg, err := c.load()
	if err == nil {
		err = cfg.Validate()
	}
	d := &doctor{cfg: cfg, timeout: c.Timeout, out: os.Stdout}
	d.print(check{name: "configuration", detail: "valid", err: err, mend: "correct the fields named; configs/hs2proxy.yaml explains each"})
	if err == nil {
		d.upstream(ctx)
		d.database(ctx)
		d.listener(ctx)
	}
	if d.failed > 0 {
		return exitError{1, fmt.Errorf("%d of %d checks failed", d.failed, d.checks)}
	}
	return nil
}

type doctor struct {
	cfg            config.Config
	timeout        time.Duration
	out            io.Writer
	checks, failed int
}

func (d *doctor) print(c check) {
	d.checks++
	if c.err == nil {
		fmt.Fprintf(d.out, "ok    %-22s %s\n", c.name, c.detail)
		return
	}
	d.failed++
	fmt.Fprintf(d.out, "FAIL  %-22s %s; mend: %s\n", c.name, oneLine(c.err), c.mend)
}

// warn is for what works but will disappoint.
func (d *doctor) warn(name, detail, mend string) {
	d.checks++
	fmt.Fprintf(d.out, "warn  %-22s %s; mend: %s\n", name, detail, mend)
}

func oneLine(err error) string {
	out := []rune(err.Error())
	for i, r := range out {
		if r == '\n' || r == '\r' {
			out[i] = ' '
		}
	}
	if len(out) > 300 {
		out = append(out[:300], '…')
	}
	return string(out)
}

func (d *doctor) upstream(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	address := d.cfg.Upstream.Address
	dialer := net.Dialer{Timeout: d.cfg.Upstream.DialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	d.print(check{
		name: "upstream", detail: address + " accepts connections", err: err,
		mend: "check upstream.address, the firewall, and that HiveServer2 runs in binary transport mode",
	})
	if err != nil {
		return
	}
	_ = conn.Close()

	session, err := client.Open(ctx, app.ClientConfig(d.cfg), nil)
	d.print(check{
		name: "credentials", detail: fmt.Sprintf("%s logs in as %s (%s)", "the proxy", d.cfg.Service.User, d.cfg.Service.Auth), err: err,
		mend: "set service.auth to hive.server2.authentication, service.user and service.password_file",
	})
	if err != nil {
		return
	}
	defer func() { _ = session.Close() }()
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
	d.explain(ctx)
}

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
}

// explain sends one EXPLAIN as the pipeline does, overlay and all.
func (d *doctor) explain(ctx context.Context) {
	explainer := pipeline.NewExplainer(app.ExplainConfig(d.cfg), zerolog.Nop())
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

func (d *doctor) database(ctx context.Context) {
	if d.cfg.Database.URL == "" {
		d.warn("database", "none configured: nothing is kept, no statistics are refreshed", "set database.url")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	s, err := openStore(ctx, d.cfg, zerolog.Nop())
	if err != nil {
		d.print(check{name: "database", err: err, mend: "correct database.url"})
		return
	}
	defer s.Close()
	for _, c := range s.Doctor(ctx) {
		var err error
		if !c.OK {
			err = errors.New(c.Detail)
		}
		d.print(check{name: c.Name, detail: c.Detail, err: err, mend: c.Mend})
	}
}

func (d *doctor) listener(ctx context.Context) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", d.cfg.Listen)
	if err == nil {
		_ = l.Close()
	}
	d.print(check{
		name: "listen", detail: d.cfg.Listen + " is free", err: err,
		mend: "stop what holds the port (a running hs2proxy does), or change listen",
	})
}
