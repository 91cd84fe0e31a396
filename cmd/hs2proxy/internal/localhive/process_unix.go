//go:build unix

package localhive

import (
	"errors"
	"os"
	"syscall"
)

func interrupt(p *os.Process) error { return ignoreGone(p.Signal(syscall.SIGTERM)) }

func kill(p *os.Process) error { return ignoreGone(p.Kill()) }

func ignoreGone(err error) error {
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// running tells whether a process of that id exists.
func running(p *os.Process) bool { return p.Signal(syscall.Signal(0)) == nil }
