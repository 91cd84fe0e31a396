package main

import "syscall"

// childAttributes have the kernel end a proxy when this process dies, whatever it dies of.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// openFiles is how many files a process may have open at most.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(limit.Max, 1<<20))
}

// suspend and resume halt a proxy while another one is measured: what it still analyses is not the other's load.
func suspend(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }
func resume(pid int) error  { return syscall.Kill(pid, syscall.SIGCONT) }
