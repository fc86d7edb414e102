package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Giving memory back to the system. Go's runtime returns free memory slowly, and keeps as much as
// it expects to need again, which with the ballast of tuneMemory is a lot. A server that had a
// burst of requests would stay large for ever. serve runs freeMemoryAtRest once the server is
// ready.

// The server is at rest while it allocates little. After a burst, memory is given back as soon as
// the server has been at rest for restTime. It is given back once more after longRest, because
// until then the windows of changes and the past states hold objects of the burst, and the pools
// hold buffers.
const (
	restTime   = time.Minute // the interval of the checks, and the shortest rest that counts
	longRest   = 6           // in restTimes; longer than past states are kept
	restBytes  = 8 << 20     // bytes that a server at rest allocates at most in restTime
	burstBytes = 32 << 20    // bytes allocated since the last release that make another worth its cost
)

// restDetector decides when to give memory back. due is called every restTime.
type restDetector struct {
	last, given uint64 // bytes allocated since the start: at the last call, and when memory was last given back
	quiet       int    // for how many calls in a row the server has been at rest
	again       bool   // memory was given back early in this rest, and is due again at longRest
}

// due reports whether to give memory back at this call. allocated is the number of bytes that the
// heap has allocated since the start; it never falls.
func (r *restDetector) due(allocated uint64) bool {
	r.quiet++
	if allocated-r.last > restBytes {
		r.quiet = 0
	}
	r.last = allocated
	switch {
	case r.quiet == 0:
		return false
	case allocated-r.given >= burstBytes:
		r.given, r.again = allocated, r.quiet < longRest
		return true
	case r.again && r.quiet >= longRest:
		r.again = false
		return true
	}
	return false
}

// freeMemoryAtRest gives memory back whenever it is due, until ctx ends. debug.FreeOSMemory first
// runs a collection, which runs concurrently with requests.
func freeMemoryAtRest(ctx context.Context) {
	tick := time.NewTicker(restTime)
	defer tick.Stop()
	var r restDetector
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if r.due(allocated()) {
				debug.FreeOSMemory()
				forgetStart()
			}
		}
	}
}

// allocated returns how many bytes the heap has allocated since the start of the process. Reading
// the metric does not stop the world.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
