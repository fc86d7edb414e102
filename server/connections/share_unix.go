//go:build unix

package connections

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// sharing returns a net.ListenConfig.Control that lets a socket share its port, or its address,
// with sockets of other processes that do so, too; nil if nothing is to be shared.
func sharing(port, address bool) func(network, addr string, raw syscall.RawConn) error {
	if !port && !address {
		return nil
	}
	return func(_, _ string, raw syscall.RawConn) error {
		var errs [3]error
		errs[0] = raw.Control(func(fd uintptr) {
			if port {
				errs[1] = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
			}
			if address {
				errs[2] = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
			}
		})
		return errors.Join(errs[:]...)
	}
}
