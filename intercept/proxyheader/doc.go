// Package proxyheader says where a client really is: it reads and writes PROXY protocol headers, versions 1 and 2, and reads
// X-Forwarded-For. Both are believed only from networks the operator trusts; [Trusted] is that set. The formats themselves are
// go-proxyproto's; [Parse] adds what a proxy that peeks needs: where the header ends, and whether more bytes are wanted.
//
// Format: https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt
package proxyheader
