//go:build !linux

package localzk

import "syscall"

func childAttributes() *syscall.SysProcAttr { return nil }
