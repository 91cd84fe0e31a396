//go:build !unix

package intercept

import "net"

func newReader(conn net.Conn, secret bool) reader { return &plainReader{conn: conn, secret: secret} }
