package registry

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// TestEveryKindHasAStatus walks through the kinds of storage errors. A new kind needs a line here.
func TestEveryKindHasAStatus(t *testing.T) {
	s := &Store{res: Resource{GroupResource: meta.GroupResource{Group: "g.io", Resource: "things"}}}
	for kind, want := range map[storage.Kind]struct {
		code   int32
		reason meta.StatusReason
	}{
		storage.NotFound:    {404, meta.StatusReasonNotFound},
		storage.Exists:      {409, meta.StatusReasonAlreadyExists},
		storage.Conflict:    {409, meta.StatusReasonConflict},
		storage.Compacted:   {410, meta.StatusReasonExpired},
		storage.Future:      {500, meta.StatusReasonInternalError}, // reads answer it with readError
		storage.InDoubt:     {500, meta.StatusReasonServerTimeout},
		storage.TooLarge:    {400, meta.StatusReasonBadRequest},
		storage.Unavailable: {503, meta.StatusReasonServiceUnavailable},
		storage.Corrupt:     {500, meta.StatusReasonInternalError},
		storage.Closed:      {503, meta.StatusReasonServiceUnavailable},
		storage.NoLease:     {500, meta.StatusReasonServerTimeout},
		storage.Fenced:      {500, meta.StatusReasonServerTimeout},
	} {
		err := s.apiError(fmt.Errorf("wrapped: %w", &storage.Error{Op: "put", Kind: kind}), "n")
		var status *meta.StatusError
		if !errors.As(err, &status) || status.Status.Code != want.code || status.Status.Reason != want.reason {
			t.Errorf("%s: got %+v, want %d %s", kind.Error(), err, want.code, want.reason)
		}
	}
	last := storage.Fenced
	if _, more := nameOf(last + 1); more {
		t.Errorf("the kind after %v needs a line in this test", last)
	}
	for _, err := range []error{context.Canceled, context.DeadlineExceeded, meta.NewBadRequest("x")} {
		if got := s.apiError(err, "n"); got != err {
			t.Errorf("apiError(%v): got %v, want it unchanged", err, got)
		}
	}
	if got := s.apiError(nil, "n"); got != nil {
		t.Errorf("apiError(nil): got %v", got)
	}
	if got := s.apiError(errors.New("x"), "n"); !meta.IsInternalError(got) {
		t.Errorf("apiError of a plain error: got %v", got)
	}
}

// nameOf reports whether there is such a kind.
func nameOf(k storage.Kind) (name string, ok bool) {
	defer func() { ok = recover() == nil }()
	return k.Error(), true
}
