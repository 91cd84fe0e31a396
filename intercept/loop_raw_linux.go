package intercept

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of an event loop that move bytes. Their sockets do not block, so the runtime is not told of them: its monitor would
// take the loop's processor away from a call of a goroutine that runs for long, as a loop does, hand it to another thread, and
// look around fifty times as often from then on. Measured with 200 clients, that was a tenth of all that relaying costs. Waiting
// for events is an ordinary call.

// rawReceive is recv(2), which goes to the socket by a shorter way than read(2).
func rawReceive(fd int, p []byte) (int, error) {
	return raw(unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)) //nolint:gosec // as x/sys/unix does
}

// rawSend is send(2). With more, the system may hold the bytes back until those that follow at once: the receiver is woken once for
// both, which makes large results a sixth faster. It waits for them for a fifth of a second at most, and no longer than the connection
// lives.
func rawSend(fd int, p []byte, more bool) (int, error) {
	flags := uintptr(unix.MSG_NOSIGNAL)
	if more {
		flags |= unix.MSG_MORE
	}
	return raw(unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), flags, 0, 0)) //nolint:gosec // as x/sys/unix does
}

// rawSplice is splice(2) of at most n bytes, without offsets and without waiting.
func rawSplice(from, to, n int) (int, error) {
	return raw(unix.RawSyscall6(unix.SYS_SPLICE, uintptr(from), 0, uintptr(to), 0, uintptr(n), unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK))
}

func raw(n, _ uintptr, errno unix.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
