package connections

import (
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"
)

// When many clients come at once, as after a restart, the process grows by the memory of their
// handshakes and first requests, and by the garbage that waits to be collected. The runtime keeps
// that memory for minutes. So it is given back to the system when the clients have settled.
//
// A crowd is crowdSize arrivals: new connections and long-running requests. It has settled when,
// for crowdRest, nobody has arrived and no connection has closed or had its first request. Making
// an OpenAPI document, which needs many times the memory of the document, counts as a crowd, and so
// does the start of the server.
const (
	crowdSize = 1000
	crowdRest = 300 * time.Millisecond
	// crowdWorth is the largest live heap, in bytes for each arrival, for which a forced collection
	// is worth its time: it then takes less time than the handshakes took.
	crowdWorth = 256 << 10
)

// Crowd counts arrivals, and gives memory back to the system when they have settled. All methods
// may be called at once.
type Crowd struct {
	mu   sync.Mutex
	size int         // arrivals since the last crowd settled
	rest *time.Timer // fires when the crowd has settled; nil if there is no crowd
}

// Came counts an arrival: a connection, or a long-running request.
func (c *Crowd) Came() { c.grow(1) }

// Burst counts work that took as much memory as a crowd does.
func (c *Crowd) Burst() { c.grow(crowdSize) }

// grow counts arrivals, and starts the timer when they are a crowd.
func (c *Crowd) grow(by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size += by
	if c.rest == nil && c.size >= crowdSize {
		c.rest = time.AfterFunc(crowdRest, c.settled)
		return
	}
	c.again()
}

// moved says that a connection has closed or had its first request, so a crowd has not settled.
func (c *Crowd) moved() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again()
}

// again starts crowdRest anew, if there is a crowd. mu is held.
func (c *Crowd) again() {
	if c.rest != nil {
		c.rest.Reset(crowdRest)
	}
}

// end stops the timer when the server ends.
func (c *Crowd) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rest != nil {
		c.rest.Stop()
		c.rest = nil
	}
}

// settled ends the crowd and gives memory back. If moved ran at the same instant, settled is called
// twice; the second call does nothing.
func (c *Crowd) settled() {
	c.mu.Lock()
	size, was := c.size, c.rest
	if was != nil {
		c.size, c.rest = 0, nil
	}
	c.mu.Unlock()
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(live)
	if was != nil && live[0].Value.Uint64() <= crowdWorth*uint64(size) {
		debug.FreeOSMemory()
	}
}
