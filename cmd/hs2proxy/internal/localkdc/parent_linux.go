package localkdc

import (
	"os"
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel end the child when this process dies.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
