//go:build !unix

package localhive

import (
	"errors"
	"os"
	"syscall"
)

var errUnix = errors.New("a local HiveServer2 needs Linux or another Unix system")

func interrupt(*os.Process) error           { return errUnix }
func kill(*os.Process) error                { return errUnix }
func running(*os.Process) bool              { return false }
func childAttributes() *syscall.SysProcAttr { return nil }
func commandLineHas(int, string) bool       { return false }
