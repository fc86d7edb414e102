package generic

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
)

// TestWork: a part can be stopped before the rest, and is stopped with the rest. A Work that has
// stopped runs nothing.
func TestWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWork(t.Context())
		part, other := w.Part(), w.Part()
		var mu sync.Mutex
		var ended []string
		run := func(w *Work, name string) {
			w.Run(func(ctx context.Context) {
				<-ctx.Done()
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, name)
			})
		}
		want := func(when string, names ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if len(ended) != len(names) {
				t.Errorf("%s: got %v ended, want %v", when, ended, names)
			}
		}
		run(w, "whole")
		run(part, "part")
		want("begun")
		part.Stop()
		part.Stop()
		run(part, "late")
		want("the part has stopped", "part")
		run(other, "other")
		want("another part runs", "part")
		done := make(chan struct{})
		other.Run(func(ctx context.Context) {
			<-ctx.Done()
			close(done)
		})
		w.Stop()
		select {
		case <-done:
		default:
			t.Error("Stop does not wait for parts")
		}
		if part := w.Part(); part.Context().Err() == nil {
			t.Error("a part of stopped work runs")
		}
	})
}
