package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// After a burst the heap keeps its greatest size: the ballast has the runtime think that as much
// will soon be needed again. So the memory that is free is given back when the server has rested
// for a while. It is given back once more after a longer rest: until then the windows of changes
// and the past states hold what the burst has left in them, and the pools what they lend.
const (
	restTime   = time.Minute
	longRest   = 6        // restTimes, more than past states last
	restBytes  = 8 << 20  // allocated in that time at most by a server that rests
	burstBytes = 32 << 20 // allocated since the last time at least, so that there may be something to give back
)

// rests looks at the bytes that have been allocated since the start, each restTime.
type rests struct {
	last, given uint64
	quiet       int  // restTimes at rest until now
	again       bool // memory is to be given back once more after a long rest
}

// due reports whether it is time to give memory back.
func (r *rests) due(allocated uint64) bool {
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

// giveBackAtRest gives memory back whenever the server rests after a burst, until ctx ends. A
// collection goes before that, which runs beside what requests there are.
func giveBackAtRest(ctx context.Context) {
	tick := time.NewTicker(restTime)
	defer tick.Stop()
	var r rests
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

// allocated returns how many bytes of the heap have been allocated since the start.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
