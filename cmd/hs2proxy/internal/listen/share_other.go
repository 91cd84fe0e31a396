//go:build !linux

package listen

import (
	"errors"
	"syscall"
)

func control(string, string, syscall.RawConn) error {
	return errors.New("a shared port (relay.reuse_port) needs Linux")
}

func (l *Listener) unsteer() {}

func (l *Listener) steer(uint32) error { return errors.ErrUnsupported }
