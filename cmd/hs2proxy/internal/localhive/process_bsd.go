//go:build unix && !linux

package localhive

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// childAttributes make the server leader of a process group of its own, so that a Ctrl-C on the terminal reaches only
// us and we stop the server in order.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// commandLineHas tells whether a process was started with this argument; false when that cannot be read.
func commandLineHas(pid int, argument string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output() //nolint:gosec // a number
	return err == nil && slices.Contains(strings.Fields(string(out)), argument)
}
