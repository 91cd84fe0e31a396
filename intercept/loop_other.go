//go:build !linux

package intercept

import (
	"context"
	"net"
)

// loops are Linux's: elsewhere each connection has two goroutines.
type loops struct{}

func (*loops) stop() {}

func (*Server) serveLooped(context.Context, net.Listener) (looped bool, err error) { return false, nil }
