package storage

import (
	"context"
	"time"
)

// Sleep waits until d has passed or ctx ends, and returns the error of ctx if it has ended.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
