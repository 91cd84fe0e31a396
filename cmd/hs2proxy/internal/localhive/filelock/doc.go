// Package filelock locks files between processes, so that two of them do not fill the same cache folder or run two
// servers in the same place. A lock ends with its process, however that ends.
package filelock

import "errors"

// ErrHeld: another process, or another caller in this one, holds the lock.
var ErrHeld = errors.New("the lock is held")
