package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAdminToken(t *testing.T) {
	const token = "0123456789abcdef"
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(write(t, "upstream: {address: \"hive:10000\"}\nadmin: {listen: \":10010\"}"), []string{"HS2PROXY_ADMIN__TOKEN_FILE=" + path})
	if err != nil || cfg.Admin.Token != token || cfg.Validate() != nil {
		t.Errorf("got %+v, %v, %v", cfg.Admin, err, cfg.Validate())
	}
	if _, err := Load(write(t, "admin: {token: "+token+"}"), nil); err == nil {
		t.Error("a token in the configuration itself is taken")
	}
	if _, err := Load(write(t, "admin: {token_file: /nowhere/at/all}"), nil); err == nil || !strings.Contains(err.Error(), "admin.token_file") {
		t.Errorf("a missing file: %v", err)
	}
	cfg.Admin.Token = "short-secret"
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "admin.token_file") || strings.Contains(err.Error(), "secret") {
		t.Errorf("a short token: %v", err)
	}
}

// TestAdminListen: off, on this machine alone, or with a token.
func TestAdminListen(t *testing.T) {
	for listen, field := range map[string]string{
		"": "", "127.0.0.1:1": "", "[::1]:1": "", "localhost:1": "",
		":1": "admin.token_file", "0.0.0.0:1": "admin.token_file", "[::]:1": "admin.token_file", "proxy:1": "admin.token_file",
		"10010": "admin.listen", "127.0.0.1": "admin.listen",
	} {
		cfg := Default()
		cfg.Upstream.Address, cfg.Admin.Listen = "hive:10000", listen
		err := cfg.Validate()
		if (err == nil) != (field == "") || err != nil && !strings.Contains(err.Error(), field) {
			t.Errorf("%q: %v, want an error about %q", listen, err, field)
		}
	}
	example, err := Load("../../../../configs/hs2proxy.yaml", nil)
	if err != nil || example.Admin != Default().Admin {
		t.Errorf("the example's values are not the defaults it says they are: %+v, %v", example.Admin, err)
	}
}
