package connections

import (
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"
)

// When many clients come at once, as they do after a restart, the process grows by what their
// handshakes and first requests take, and by a fifth of all before that is collected; what has been
// collected the runtime keeps for minutes. So it is given back to the system when they have
// settled. A crowd is crowdSize arrivals, which are new connections and long-running requests, and
// has settled when for crowdRest none has come, and no connection has gone or sent its first
// request. Making a document of OpenAPI, which needs many times the room that it is kept in, counts
// for a crowd, and so does the server's own start.
const (
	crowdSize = 1000
	crowdRest = 300 * time.Millisecond
	// crowdWorth is how much may live, in bytes for each arrival, for a collection to be worth it:
	// so it takes less time than the handshakes did.
	crowdWorth = 256 << 10
)

// Crowd sees clients come. All methods may be called at once.
type Crowd struct {
	mu   sync.Mutex
	size int         // how many have come since the last crowd settled
	rest *time.Timer // until the crowd has settled; nil if there is none
}

// Came counts an arrival: a connection, or a request that stays.
func (c *Crowd) Came() { c.grow(1) }

// Burst counts something that took as much room as a crowd does.
func (c *Crowd) Burst() { c.grow(crowdSize) }

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

// moved says that the crowd has not settled, if there is one.
func (c *Crowd) moved() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again()
}

// again waits for the crowd from now on. mu is held.
func (c *Crowd) again() {
	if c.rest != nil {
		c.rest.Reset(crowdRest)
	}
}

// end has nobody wait for what comes: the server ends.
func (c *Crowd) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rest != nil {
		c.rest.Stop()
		c.rest = nil
	}
}

// settled ends the crowd. If that moved at this instant, it is called twice.
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
