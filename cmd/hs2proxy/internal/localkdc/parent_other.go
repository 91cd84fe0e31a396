//go:build !linux

package localkdc

import (
	"os"
	"os/exec"
)

func dieWithParent(*exec.Cmd) {}

func terminate(p *os.Process) error { return p.Signal(os.Interrupt) }
