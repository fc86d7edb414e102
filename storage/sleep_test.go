package storage_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
)

func TestSleep(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if err := storage.Sleep(ctx, 0); err != nil {
		t.Errorf("Sleep: %v", err)
	}
	time.AfterFunc(time.Millisecond, cancel)
	for _, d := range []time.Duration{time.Hour, 0} { // ctx ends during the first, before the second
		if err := storage.Sleep(ctx, d); !errors.Is(err, context.Canceled) {
			t.Errorf("Sleep(%v): got %v, want %v", d, err, context.Canceled)
		}
	}
}
