package main

import (
	"fmt"
	"net"
)

// States that systemd is told of (Type=notify).
const (
	notifyReady     = "READY=1"
	notifyReloading = "RELOADING=1"
	notifyStopping  = "STOPPING=1"
)

// sdNotify tells systemd a state, by the socket that NOTIFY_SOCKET names (sd_notify(3)); without one there is nobody to tell.
func sdNotify(socket, state string) error {
	if socket == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte(state)); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}
