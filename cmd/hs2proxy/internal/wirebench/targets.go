package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// target is a way to the fake HiveServer2.
type target struct {
	name string
	addr string
	proc *process // nil: direct
}

// start starts one target, a fresh process unless it is direct.
func (r *rig) start(ctx context.Context, name string) (*target, error) {
	if name == direct {
		return &target{name: name, addr: r.fake.addr}, nil
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	r.started++
	file := func(what string) string { return filepath.Join(r.dir, fmt.Sprintf("%s-%d.%s", name, r.started, what)) }
	env, command := os.Environ(), []string(nil)
	switch name {
	case haproxy:
		if err := os.WriteFile(file("cfg"), []byte(haproxyConfig(addr, r.fake.addr)), 0o600); err != nil {
			return nil, err
		}
		command = []string{r.haproxy, "-db", "-f", file("cfg")}
	default:
		env = hs2proxyEnv(env, name == analysed)
		command = []string{r.opt.hs2proxy, "serve", "--listen", addr, "--upstream", r.fake.addr}
	}
	p, err := startProcess(ctx, name, file("log"), addr, env, command...)
	if err != nil {
		return nil, err
	}
	return &target{name: name, addr: addr, proc: p}, nil
}

// haproxyConfig is HAProxy as a blind TCP proxy, everything else as it comes.
func haproxyConfig(addr, upstream string) string {
	const spare = 200 // files beside two for each connection
	return fmt.Sprintf(`global
    maxconn %d
defaults
    mode tcp
    timeout connect 10s
    timeout client 1h
    timeout server 1h
listen hiveserver2
    bind %s
    server hs2 %s
`, min(10_000, (openFiles()-spare)/2), addr, upstream)
}

// hs2proxyEnv is the configuration of hs2proxy; nothing of the caller's own HS2PROXY_ variables is in it.
func hs2proxyEnv(environ []string, explain bool) []string {
	var env []string
	for _, e := range environ {
		if !strings.HasPrefix(e, "HS2PROXY_") {
			env = append(env, e)
		}
	}
	return append(env, "HS2PROXY_ADMIN__LISTEN=", "HS2PROXY_LOG__LEVEL=warn", fmt.Sprintf("HS2PROXY_EXPLAIN__ENABLED=%t", explain))
}

// available leaves out what cannot run here, with a note.
func (r *rig) available() error {
	var there []string
	for _, name := range r.opt.targets {
		switch name {
		case haproxy:
			path, err := exec.LookPath(haproxy)
			if err != nil {
				r.notes = append(r.notes, "haproxy is not installed and left out; ratios are to the first target")
				continue
			}
			r.haproxy = path
		case relaying, analysed:
			if _, err := os.Stat(r.opt.hs2proxy); err != nil {
				return fmt.Errorf("hs2proxy: %w; build it (make build) or name it with -hs2proxy", err)
			}
		}
		there = append(there, name)
	}
	r.opt.targets = there
	return nil
}
