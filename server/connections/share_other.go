//go:build !unix

package connections

import (
	"errors"
	"syscall"
)

// sharing returns a net.ListenConfig.Control that fails, because sockets of this system cannot
// share a port safely; nil if nothing is to be shared.
func sharing(port, address bool) func(network, addr string, raw syscall.RawConn) error {
	if !port && !address {
		return nil
	}
	return func(string, string, syscall.RawConn) error {
		return errors.New("ports and addresses cannot be shared on this system")
	}
}
