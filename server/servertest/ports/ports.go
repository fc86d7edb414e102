// Package ports finds TCP ports for servers that tests start, when a test must know the port before
// the server listens on it.
//
// Its law: a port comes from a range that no system gives to outgoing connections. So a port that
// is free stays free until the server listens on it, and also while the server is restarted, unless
// another program asks for that very port. A port from net.Listen with port 0 does not have this
// property: the next outgoing connection may take it.
//
// All functions may be called concurrently.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// Ports are in [first, last]. Linux gives ports from 32768 on to outgoing connections, other
// systems from 49152 on.
const first, last = 20_000, 29_999

// given counts the calls of Free. It starts at a random number, so that programs that run at the
// same time try different ports.
var given atomic.Uint64

func init() { given.Store(rand.Uint64N(last - first + 1)) }

// Free returns a port on which host, an IP address or a name, can listen. A program gets no port
// twice before it has got each port of the range.
func Free(host string) (int, error) {
	var err error
	for range 100 { // after 100 failures the reason is not that ports are in use
		var l net.Listener
		port := first + int(given.Add(1)%(last-first+1))
		if l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}
