package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
)

// guard lets a request pass that carries the token. Without a token it lets pass what names this machine as the host: a web page
// whose own name was turned to point here does not.
func guard(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token == "" {
			if !namesLoopback(r.Host) {
				writeError(w, http.StatusForbidden, "this port answers to localhost only")
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		// Sums have one length, so that the comparison tells nothing of the token's.
		got := sha256.Sum256([]byte(bearer(r)))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="hs2proxy"`)
			writeError(w, http.StatusUnauthorized, "send the token of admin.token_file as \"Authorization: Bearer TOKEN\"")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// bearer is the token a request carries, empty without one.
func bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// namesLoopback takes a Host header, with or without a port.
func namesLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return config.LoopbackHost(strings.Trim(host, "[]"))
}
