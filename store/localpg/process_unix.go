//go:build unix

package localpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// nobody is the uid and gid that root's server runs under: by custom the user without rights on every Linux.
const nobody = 65534

func asRoot() bool { return os.Geteuid() == 0 }

// executable is empty where /proc/self/exe serves: the link reaches a binary in a folder that the keeper's uid may not enter.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "", nil
	}
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find our own executable: %w", err)
	}
	return exe, nil
}

// asKeeper gives the keeper a session of its own, so that a Ctrl-C meant for us does not take the database away
// before we have written our last rows, and an unprivileged uid.
func asKeeper(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if asRoot() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
}

// handOver gives a folder and all in it to the keeper's uid.
func handOver(dir string) error {
	if !asRoot() {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("hand the folder over to uid %d: %w", nobody, err)
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(path, nobody, nobody)
	})
	err = errors.Join(err, root.Close())
	if err != nil {
		return fmt.Errorf("hand the folder over to uid %d: %w", nobody, err)
	}
	return nil
}

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
