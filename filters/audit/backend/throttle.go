package backend

import "time"

// bucket holds the tokens of a throttle: one for each batch. It fills with qps tokens a second up
// to burst. One goroutine at a time may use it.
type bucket struct {
	qps, burst float64
	tokens     float64 // < 0: batches wait for these tokens
	at         time.Time
}

// newBucket returns a full bucket.
func newBucket(qps float32, burst int, now time.Time) *bucket {
	return &bucket{qps: float64(qps), burst: float64(burst), tokens: float64(burst), at: now}
}

// take takes a token, and returns how long the caller has to wait for it.
func (b *bucket) take(now time.Time) time.Duration {
	const longest = 1e9 // seconds, which a Duration can hold
	b.tokens = min(b.burst, b.tokens+now.Sub(b.at).Seconds()*b.qps) - 1
	b.at = now
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(min(-b.tokens/b.qps, longest) * float64(time.Second))
}
