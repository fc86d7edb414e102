package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// After a burst the heap keeps its greatest size: the ballast has the runtime think that as much
// will soon be needed again. So the memory that is free is given back when the server has rested
// for a while.
const (
	restTime   = time.Minute
	restBytes  = 8 << 20  // allocated in that time at most by a server that rests
	burstBytes = 32 << 20 // allocated since the last time at least, so that there may be something to give back
)

// rests looks at the bytes that have been allocated since the start, each restTime.
type rests struct{ last, given uint64 }

// due reports whether it is time to give memory back.
func (r *rests) due(allocated uint64) bool {
	due := allocated-r.last <= restBytes && allocated-r.given >= burstBytes
	r.last = allocated
	if due {
		r.given = allocated
	}
	return due
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
