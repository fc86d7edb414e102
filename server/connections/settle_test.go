package connections

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/server/connections/connectionstest"
	"go.uber.org/zap"
)

// TestMemoryAfterBurst: memory is given back to the system after many connections and long-running
// requests have arrived, when no more arrive, and only then.
func TestMemoryAfterBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, cs := connectionstest.NewPipes(), newConns(10*burstSize, MaxStreams, &Bursts{}, zap.NewNop())
		l := cs.wrap(p)
		come := func(n int) {
			for range n {
				go p.Dial("")
				c, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
			}
		}
		given := func() uint32 {
			synctest.Wait()
			return forced()
		}
		before := given()
		come(burstSize - 1)
		time.Sleep(time.Hour)
		if given() != before {
			t.Error("a collection for a few")
		}
		for i := range 10 {
			if i%2 == 0 {
				come(1)
			} else {
				cs.bursts.Arrived() // a watch
			}
			time.Sleep(burstRest - 1)
		}
		if given() != before {
			t.Error("a collection while they still come")
		}
		garbage(64 << 20)
		var was, is runtime.MemStats
		runtime.ReadMemStats(&was)
		time.Sleep(time.Hour)
		if got := given(); got != before+1 {
			t.Errorf("got %d collections when they had settled, want 1", got-before)
		}
		if runtime.ReadMemStats(&is); is.HeapReleased < was.HeapReleased+32<<20 {
			t.Errorf("given back: got %d bytes", is.HeapReleased-was.HeapReleased)
		}
		cs.bursts.Burst()
		time.Sleep(time.Hour)
		if got := given(); got != before+2 {
			t.Errorf("got %d collections after a burst, want one more", got-before)
		}
	})
}

// forced returns the number of garbage collections that the program has requested.
func forced() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumForcedGC
}

// garbage allocates and writes n bytes, which are then free.
//
//go:noinline
func garbage(n int) {
	for b := make([]byte, n); len(b) > 0; b = b[min(4096, len(b)):] {
		b[0] = 1
	}
}
