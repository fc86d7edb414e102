package memory

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
)

func TestSmoke(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/", Prev: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := s.Put(t.Context(), fmt.Sprintf("/a/%d", i), []byte("v"), storage.Pre{Absent: true}, 0); err != nil {
			t.Fatal(err)
		}
	}
	b, err := c.Next(t.Context())
	if err != nil || len(b.Events) != 10 || b.Rev != 11 {
		t.Fatalf("Next: got %+v, %v", b, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.Next(ctx); err != context.DeadlineExceeded {
		t.Fatal(err)
	}
	r, err := s.Range(t.Context(), storage.RangeRequest{Prefix: "/a/", After: "/a/3", Rev: 9, Limit: 2})
	if err != nil || len(r.Entries) != 2 || !r.More || r.Count != 4 {
		t.Fatalf("Range: got %+v, %v", r, err)
	}
}
