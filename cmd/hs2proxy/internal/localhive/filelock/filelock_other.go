//go:build !unix

package filelock

import (
	"context"
	"errors"
)

var errUnix = errors.New("file locks need Linux or another Unix system")

// Try is not available on this system.
func Try(string) (func(), error) { return nil, errUnix }

// Wait is not available on this system.
func Wait(context.Context, string) (func(), error) { return nil, errUnix }
