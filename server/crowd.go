package server

import (
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"
)

// When many clients connect at once, as they do after a restart, the process grows by what their handshakes take, and by
// half of all before that is collected; what has been collected the runtime keeps for minutes. So it is given back to the
// system when they have settled. A crowd is crowdSize new connections, and has settled when for crowdRest none has come,
// gone, or sent its first request.
const (
	crowdSize = 1000
	crowdRest = 300 * time.Millisecond
	// crowdWorth is how much may live, in bytes for each connection of the crowd, for a collection to be worth it: so it
	// takes less time than the handshakes did.
	crowdWorth = 256 << 10
)

// crowd sees connections come. The mutex of conns guards it.
type crowd struct {
	size int         // connections that have come since the last crowd settled
	rest *time.Timer // until the crowd has settled; nil if there is none
}

// came counts a new connection. If that makes a crowd, settled is called once it has settled; or twice, if it moved at that
// instant.
func (c *crowd) came(settled func()) {
	c.size++
	if c.rest == nil && c.size >= crowdSize {
		c.rest = time.AfterFunc(crowdRest, settled)
	}
	c.moved()
}

// moved says that the crowd has not settled, if there is one.
func (c *crowd) moved() {
	if c.rest != nil {
		c.rest.Reset(crowdRest)
	}
}

// settled ends the crowd.
func (cs *conns) settled() {
	cs.mu.Lock()
	was := cs.crowd
	if was.rest != nil {
		cs.crowd = crowd{}
	}
	cs.mu.Unlock()
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(live)
	if was.rest != nil && live[0].Value.Uint64() <= crowdWorth*uint64(was.size) {
		debug.FreeOSMemory()
	}
}
