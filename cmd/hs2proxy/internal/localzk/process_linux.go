package localzk

import "syscall"

// childAttributes have the kernel end the server when the thread that started it ends, which is when this process does.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
