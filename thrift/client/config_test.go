package client

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	good := Config{Address: "hive:10000", Auth: "LDAP", User: "u", Password: "hunter2"}
	tests := []struct {
		change func(*Config)
		want   string // part of the error; empty for none
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.Address = "[::1]:1" }, ""},
		{func(c *Config) { c.Address = "h:65535" }, ""},
		{func(c *Config) { c.Address = "h:65536" }, `address "h:65536"`},
		{func(c *Config) { c.Address = "h:0" }, `address "h:0"`},
		{func(c *Config) { c.Address = "h" }, `address "h"`},
		{func(c *Config) { c.Address = ":10000" }, `address ":10000"`},
		{func(c *Config) { c.Address = "" }, `address ""`},
		{func(c *Config) { c.Auth = "" }, `auth ""`},
		{func(c *Config) { c.Auth = "kerberos" }, `auth "kerberos"`},
		{func(c *Config) { c.Auth = "PAM" }, ""},
		{func(c *Config) { c.Transport = "binary" }, ""},
		{func(c *Config) { c.Transport, c.HTTPPath = "http", "/gateway/hive" }, ""},
		{func(c *Config) { c.Transport = "HTTP" }, `transport "HTTP"`},
		{func(c *Config) { c.HTTPPath = "a?b" }, `HTTP path "a?b"`},
		{func(c *Config) { c.Transport, c.User = "http", "a:b" }, `user "a:b"`},
		{func(c *Config) { c.User = "a:b" }, ""},
		{withTicket("p@R", "k", "hive/_HOST@R"), ""},
		{withTicket("p/h", "k", "hive/h"), ""},
		{withTicket("", "k", "hive/h@R"), `principal ""`},
		{withTicket("p@", "k", "hive/h@R"), `principal "p@"`},
		{withTicket("@R", "k", "hive/h@R"), `principal "@R"`},
		{withTicket("p@R@S", "k", "hive/h@R"), `principal "p@R@S"`},
		{withTicket("p//h@R", "k", "hive/h@R"), `principal "p//h@R"`},
		{withTicket("p@R", "", "hive/h@R"), "keytab file: empty"},
		{withTicket("p@R", "k", "hive@R"), `server principal "hive@R"`},
		{withTicket("p@R", "k", ""), `server principal ""`},
		{func(c *Config) { c.Auth = "none" }, `auth "none"`},
		{func(c *Config) { c.User = "" }, "user: empty"},
		{func(c *Config) { c.Auth, c.User = "NOSASL", "" }, ""},
		{func(c *Config) { c.Password = "" }, "password: empty"},
		{func(c *Config) { c.Auth, c.Password = "CUSTOM", "" }, "password: empty"},
		{func(c *Config) { c.Auth, c.Password = "NONE", "" }, ""},
		{func(c *Config) { c.User = "a\x00b" }, "NUL"},
		{func(c *Config) { c.Password = "hunter2\x00" }, "NUL"},
		{func(c *Config) { c.DialTimeout = -1 }, "dial timeout"},
		{func(c *Config) { c.CallTimeout = -1 }, "call timeout"},
		{func(c *Config) { c.MaxMessageSize = math.MaxInt32 }, ""},
		{func(c *Config) { c.MaxMessageSize = math.MaxInt32 + 1 }, "maximum message size"},
	}
	for _, tt := range tests {
		c := good
		tt.change(&c)
		err := c.Validate()
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%v: error %v, want %q", c, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	c := Config{Address: "hive:10000", Auth: "LDAP", User: "u", Password: "hunter2"}
	h := Handle{GUID: [16]byte{1}, Secret: [16]byte([]byte("0123456789abcdef"))}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(format, c); strings.Contains(s, "hunter2") {
			t.Errorf("%s of a Config shows the password: %s", format, s)
		}
		if s := fmt.Sprintf(format, h); s != "01000000000000000000000000000000" {
			t.Errorf("%s of a Handle is %s", format, s)
		}
	}
}

// withTicket asks for authentication KERBEROS.
func withTicket(principal, keytab, server string) func(*Config) {
	return func(c *Config) {
		c.Auth, c.User, c.Password = "KERBEROS", "", ""
		c.Principal, c.KeytabFile, c.ServerPrincipal = principal, keytab, server
	}
}
