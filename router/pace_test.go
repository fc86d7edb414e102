package router

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	now := time.Unix(1000, 0)
	var p pace
	p.flushed(now)
	for range 20 { // a client that writes and waits for its event, again and again
		now = now.Add(2 * time.Millisecond)
		p.flushed(now)
		if got := p.pause(time.Now()); got > 0 {
			t.Fatalf("a flush every 2 ms: got a pause of %v, want none", got)
		}
	}
	for range 2 * busyFlushes {
		now = now.Add(10 * time.Microsecond)
		p.flushed(now)
	}
	if got := p.pause(time.Now()); got <= 0 || got > flushGap {
		t.Errorf("a flush every 10 µs: got a pause of %v, want up to %v", got, flushGap)
	}
	if got := p.pause(time.Now().Add(-flushGap)); got > 0 {
		t.Errorf("a watch that was quiet: got a pause of %v, want none", got)
	}
	for range 3 {
		now = now.Add(paceWindow + time.Millisecond)
		p.flushed(now)
	}
	if got := p.pause(time.Now()); got > 0 {
		t.Errorf("after the burst: got a pause of %v, want none", got)
	}
}
