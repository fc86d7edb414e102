//go:build !unix

package connections

import (
	"errors"
	"syscall"
)

// sharing is for systems on which sockets cannot share a port safely.
func sharing(port, address bool) func(network, addr string, raw syscall.RawConn) error {
	if !port && !address {
		return nil
	}
	return func(string, string, syscall.RawConn) error {
		return errors.New("ports and addresses cannot be shared on this system")
	}
}
