package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"strconv"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
)

// Target is the endpoint a client connects to: a HiveServer2 or a proxy in front of one.
type Target struct {
	// Address is host:port.
	Address string
	// HTTP is the HTTP transport under /cliservice.
	HTTP bool
	// TLS is nil where the endpoint speaks none.
	TLS *Trust
	// Auth is NONE (also when empty), NOSASL, or CUSTOM for a checked password.
	Auth string
	// User and Password log in; "e2e" when empty.
	User, Password string
	// Database is dropped, made, used and dropped again. It appears in error messages and metadata: runs that are to
	// be compared use the same name, one after the other. "hs2proxy_e2e" when empty.
	Database string
	// Brief runs fewer steps: one of each kind.
	Brief bool
}

// Trust is the authority that signed an endpoint's certificate: a PEM file, and the same for Java (PKCS12, opened by
// localhive.StorePassword).
type Trust struct{ CAFile, TrustStore string }

var databaseName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (t Target) withDefaults() (Target, error) {
	if _, _, err := t.split(); err != nil {
		return t, err
	}
	for field, value := range map[*string]string{&t.Auth: "NONE", &t.User: "e2e", &t.Password: "e2e", &t.Database: "hs2proxy_e2e"} {
		if *field == "" {
			*field = value
		}
	}
	switch t.Auth {
	case "NONE", "NOSASL", "CUSTOM":
	default:
		return t, fmt.Errorf("authentication %q: must be NONE, NOSASL or CUSTOM", t.Auth)
	}
	if !databaseName.MatchString(t.Database) {
		return t, fmt.Errorf("database %q: must be lower-case letters, digits and underscores", t.Database)
	}
	return t, nil
}

func (t Target) split() (host string, port int, err error) {
	host, text, err := net.SplitHostPort(t.Address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil {
		return "", 0, fmt.Errorf("address %q: %w", t.Address, err)
	}
	return host, port, nil
}

// prepared is the target with its defaults, and its argument.
func (t Target) prepared() (Target, string, error) {
	t, err := t.withDefaults()
	if err != nil {
		return t, "", err
	}
	argument, err := t.argument()
	return t, argument, err
}

// argument is the target as the clients read it that are not Java.
func (t Target) argument() (string, error) {
	host, port, err := t.split()
	if err != nil {
		return "", err
	}
	ca := ""
	if t.TLS != nil {
		ca = t.TLS.CAFile
	}
	out, err := json.Marshal(map[string]any{
		"host": host, "port": port, "auth": t.Auth, "user": t.User, "password": t.Password, "http": t.HTTP, "ca": ca,
	})
	if err != nil {
		return "", fmt.Errorf("render the target: %w", err)
	}
	return string(out), nil
}

// url is the target for Hive's JDBC driver.
func (t Target) url() string {
	url := "jdbc:hive2://" + t.Address + "/default"
	if t.Auth == "NOSASL" {
		url += ";auth=noSasl"
	}
	if t.HTTP {
		url += ";transportMode=http;httpPath=cliservice"
	}
	if t.TLS != nil {
		url += ";ssl=true;sslTrustStore=" + t.TLS.TrustStore + ";trustStorePassword=" + localhive.StorePassword
	}
	return url
}
