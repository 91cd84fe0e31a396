package main

import (
	"fmt"
	"runtime"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/version"
)

type versionCmd struct{}

// Run prints one line, from the build's own record.
func (versionCmd) Run() error {
	_, err := fmt.Println("hs2proxy", version.String(), runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	return err
}
