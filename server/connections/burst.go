package connections

import (
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"
)

// When many clients come at once, as after a restart, the process grows by the memory of their
// handshakes and first requests, and by the garbage that waits to be collected. The Go runtime
// keeps that memory for minutes. So Bursts gives it back to the system when the clients have
// settled.
//
// A burst is burstSize arrivals: new connections and long-running requests. It has settled when for
// burstRest no client has arrived and no connection has closed or had its first request. The making
// of an OpenAPI document counts as a burst, because it needs many times the memory of the document,
// and so does the start of the server.
const (
	burstSize = 1000
	burstRest = 300 * time.Millisecond
	// A forced collection is worth its time if the live heap has at most burstWorth bytes for each
	// arrival: it then takes less time than the handshakes took.
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
	c.restartTimer()
}

// moved is called when a connection has closed or had its first request: the burst has not settled
// yet.
func (c *Bursts) moved() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restartTimer()
}

// restartTimer restarts the timer if there is a burst. The caller holds mu.
func (c *Bursts) restartTimer() {
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

// settled ends the burst and gives memory back. If moved restarts the timer just when it fires,
// settled is called twice; the second call does nothing.
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
