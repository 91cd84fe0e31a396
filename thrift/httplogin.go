package thrift

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"strings"
)

// Mechanisms of HTTP.
const (
	mechanismBasic     = "BASIC"
	mechanismNegotiate = "NEGOTIATE"
	mechanismBearer    = "BEARER"
	mechanismCookie    = "COOKIE"
)

// maxForwarded bounds what is kept of X-Forwarded-For, in bytes.
const maxForwarded = 1024

// requestLogin learns the login of a request and tells the observer where it differs from the last one.
func (c *Conn) requestLogin(r *requestHead) {
	l := Login{
		Transport: HTTP, Mechanism: c.login.Mechanism, User: c.login.User,
		DoAs: doAs(r.target), ForwardedFor: kept(c.login.ForwardedFor, r.forwarded[:min(len(r.forwarded), maxForwarded)]),
	}
	user := cookieUser(r.cookie)
	scheme, credentials, _ := bytes.Cut(r.authorization, []byte{' '})
	switch {
	case len(r.authorization) == 0 && r.cookie == nil:
		l.Mechanism, l.User = "", ""
	case len(r.authorization) == 0:
		if l.Mechanism == "" || len(user) > 0 && l.User != "" && l.User != string(user) {
			l.Mechanism = mechanismCookie
		}
		if len(user) > 0 {
			l.User = kept(l.User, user)
		}
	case bytes.EqualFold(scheme, []byte("basic")):
		l.Mechanism, l.User = mechanismBasic, basicUser(l.User, credentials)
	default:
		l.Mechanism = schemeMechanism(scheme)
		if l.Mechanism != c.login.Mechanism {
			l.User = ""
		}
		if len(user) > 0 {
			l.User = kept(l.User, user)
		}
	}
	c.tellHTTPLogin(l)
}

func schemeMechanism(scheme []byte) string {
	switch {
	case bytes.EqualFold(scheme, []byte("negotiate")):
		return mechanismNegotiate
	case bytes.EqualFold(scheme, []byte("bearer")):
		return mechanismBearer
	default:
		return ""
	}
}

func (c *Conn) tellHTTPLogin(l Login) {
	if !c.told || l != c.login {
		c.login, c.told = l, true
		c.observer.Login(l)
	}
}

// kept is b as a string, the old one where they are equal.
func kept(old string, b []byte) string {
	if old == string(b) {
		return old
	}
	return string(b)
}

// basicUser is the user in Basic's credentials, which are Base64 of user:password. The decoded bytes are wiped.
func basicUser(old string, credentials []byte) string {
	var decoded [maxUser + 2]byte
	credentials = bytes.TrimRight(bytes.TrimSpace(credentials), "=")
	n, err := base64.RawStdEncoding.Decode(decoded[:], credentials[:min(len(credentials), len(decoded)/3*4)])
	defer clear(decoded[:n])
	user, _, found := bytes.Cut(decoded[:n], []byte{':'})
	if err != nil || !found {
		return ""
	}
	return kept(old, user)
}

// authCookie is the cookie that HiveServer2 sets for a login it took (ThriftHttpServlet.AUTH_COOKIE).
const authCookie = "hive.server2.auth"

// cookieIn is the value of HiveServer2's cookie in a Cookie header; nil without one, or with an empty one.
func cookieIn(header []byte) []byte {
	for len(header) > 0 {
		var pair []byte
		pair, header, _ = bytes.Cut(header, []byte{';'})
		name, value, _ := bytes.Cut(bytes.TrimSpace(pair), []byte{'='})
		if value = bytes.Trim(value, `"`); string(name) == authCookie && len(value) > 0 {
			return value
		}
	}
	return nil
}

// cookieUser is the user in the value of HiveServer2's cookie, cu=USER&rn=RANDOM&s=SIGNATURE (HttpAuthUtils.createCookieToken);
// nil where the cookie is not of this form.
func cookieUser(cookie []byte) []byte {
	cookie, found := bytes.CutPrefix(cookie, []byte("cu="))
	user, _, ended := bytes.Cut(cookie, []byte("&rn="))
	if !found || !ended || len(user) > maxUser {
		return nil
	}
	return user
}

// doAs is the parameter of a request's target that asks to act as another user. HiveServer2 takes its name in any case
// (ThriftHttpServlet.getDoAsQueryParam).
func doAs(target []byte) string {
	_, query, _ := bytes.Cut(target, []byte{'?'})
	for len(query) > 0 {
		var pair []byte
		pair, query, _ = bytes.Cut(query, []byte{'&'})
		name, value, _ := bytes.Cut(pair, []byte{'='})
		if len(value) > maxUser || !strings.EqualFold(string(name), "doAs") {
			continue
		}
		user, err := url.QueryUnescape(string(value))
		if err == nil {
			return user
		}
	}
	return ""
}
