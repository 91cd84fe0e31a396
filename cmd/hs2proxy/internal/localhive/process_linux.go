package localhive

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// childAttributes make the server leader of a process group of its own, so that a Ctrl-C on the terminal reaches only
// us and we stop the server in order, and have the kernel ask it to end when the thread that started it ends, which
// is when this process does. SIGTERM rather than SIGKILL: the metastore gets to close its files.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// commandLineHas tells whether a process was started with this argument; false when that cannot be read.
func commandLineHas(pid int, argument string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	for arg := range bytes.SplitSeq(line, []byte{0}) {
		if string(arg) == argument {
			return true
		}
	}
	return false
}
