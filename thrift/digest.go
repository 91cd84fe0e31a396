package thrift

import "strings"

// maxDigest bounds the part of a DIGEST-MD5 response that is searched for its quality of protection, in bytes.
const maxDigest = 4096

// digest keeps the first part of a DIGEST-MD5 response (RFC 2831), a list of name=value pairs; it holds a hash, no password.
type digest struct{ text []byte }

func (d *digest) feed(b []byte) {
	d.text = append(d.text, b[:min(len(b), maxDigest-len(d.text))]...)
}

// sealed reports whether the client chose to wrap the payloads: qop=auth-int or qop=auth-conf.
func (d *digest) sealed() bool {
	for directive := range strings.SplitSeq(string(d.text), ",") {
		name, value, found := strings.Cut(directive, "=")
		if found && strings.TrimSpace(name) == "qop" {
			return strings.Trim(strings.TrimSpace(value), `"`) != "auth"
		}
	}
	return false
}
