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
// A burst is burstSize arrivals: new connections and long-running requests. It has settled when,
// for burstRest, nobody has arrived and no connection has closed or had its first request. Making
// an OpenAPI document, which needs many times the memory of the document, counts as a burst, and so
// does the start of the server.
const (
	burstSize = 1000
	burstRest = 300 * time.Millisecond
	// burstWorth is the largest live heap, in bytes for each arrival, for which a forced collection
	// is worth its time: it then takes less time than the handshakes took.
	burstWorth = 256 << 10
)

// Bursts counts arrivals, and gives memory back to the system when they have settled. All methods
// may be called at once.
type Bursts struct {
	mu   sync.Mutex
	size int         // arrivals since the last burst settled
	rest *time.Timer // fires when the burst has settled; nil if there is no burst
}

// Arrived counts an arrival: a connection, or a long-running request.
func (c *Bursts) Arrived() { c.grow(1) }

// Burst counts work that took as much memory as a burst does.
func (c *Bursts) Burst() { c.grow(burstSize) }

// grow counts arrivals, and starts the timer when they are a burst.
func (c *Bursts) grow(by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size += by
	if c.rest == nil && c.size >= burstSize {
		c.rest = time.AfterFunc(burstRest, c.settled)
		return
	}
	c.again()
}

// moved says that a connection has closed or had its first request, so a burst has not settled.
func (c *Bursts) moved() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again()
}

// again starts burstRest anew, if there is a burst. mu is held.
func (c *Bursts) again() {
	if c.rest != nil {
		c.rest.Reset(burstRest)
	}
}

// end stops the timer when the server ends.
func (c *Bursts) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rest != nil {
		c.rest.Stop()
		c.rest = nil
	}
}

// settled ends the burst and gives memory back. If moved ran at the same instant, settled is called
// twice; the second call does nothing.
func (c *Bursts) settled() {
	c.mu.Lock()
	size, was := c.size, c.rest
	if was != nil {
		c.size, c.rest = 0, nil
	}
	c.mu.Unlock()
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(live)
	if was != nil && live[0].Value.Uint64() <= burstWorth*uint64(size) {
		debug.FreeOSMemory()
	}
}
