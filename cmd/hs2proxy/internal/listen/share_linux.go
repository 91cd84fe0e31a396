package listen

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// control sets SO_REUSEPORT before the address is taken.
func control(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	})
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("SO_REUSEPORT: %w", err)
	}
	return nil
}

// unsteer takes away what an earlier Yield left, so that all sockets get their share. There may be nothing.
func (l *Listener) unsteer() {
	_ = l.onSocket(func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_REUSEPORT_BPF, 0) })
}

// steer has the kernel give every new connection to the socket at a place of the group; where there is none, it chooses by a hash
// as it does without a program.
func (l *Listener) steer(place uint32) error {
	program := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: place}
	err := l.onSocket(func(fd int) error {
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF, &unix.SockFprog{Len: 1, Filter: &program})
	})
	if err != nil {
		return fmt.Errorf("SO_ATTACH_REUSEPORT_CBPF: %w", err)
	}
	return nil
}

func (l *Listener) onSocket(do func(fd int) error) error {
	raw, err := l.socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = do(int(fd)) })
	return errors.Join(err, failed)
}
