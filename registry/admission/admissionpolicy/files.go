package admissionpolicy

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
)

// This file adds policies and bindings in files. They run before those of the API, and also judge
// the policies and bindings of the API, which no policy of the API sees. Bindings in files are only
// for policies in files, and bindings of the API only for policies of the API.

// Files are all policies of one kind and their bindings in files at one time. Nobody changes them.
type Files[P, B any] struct {
	policies *Objects[P]
	bindings *Objects[B]
}

// NewFiles returns Files of policies and bindings, which the caller does not change afterwards.
func NewFiles[P, B any](policies []P, bindings []B) *Files[P, B] {
	return &Files[P, B]{NewObjects(policies), NewObjects(bindings)}
}

// shelf has the book of the API's policies, and that of the policies in files.
type shelf[P, B object, R any] struct {
	api   *book[P, B, R]
	files *book[P, B, R] // nil: there are none
	last  atomic.Pointer[both[P, B, R]]
}

// both are the hooks of both books, those in files first.
type both[P, B object, R any] struct {
	files, api *joined[P, B, R]
	hooks      *matching.Index[*hook[R]]
}

// addFiles adds the policies and bindings that now returns.
func (s *shelf[P, B, R]) addFiles(now func() *Files[P, B]) {
	read := func(context.Context) (*Objects[P], *Objects[B], error) {
		f := now()
		return f.policies, f.bindings, nil
	}
	s.files = &book[P, B, R]{read: read, rule: s.api.rule, bind: s.api.bind}
}

// hooksFor returns the hooks that may be called for a request as they are now. The result is nil if
// there are none, and for requests that no policy sees.
func (s *shelf[P, B, R]) hooksFor(ctx context.Context, a *admission.Attributes) (*matching.Index[*hook[R]], error) {
	exempt := matching.ExemptFromPolicies(a)
	if exempt && (s.files == nil || !matching.ConfiguresPolicies(a)) {
		a.TellReason("no policy sees this resource")
		return nil, nil
	}
	var inFiles *joined[P, B, R]
	if s.files != nil {
		inFiles, _ = s.files.now(ctx) // reading them cannot fail
		if a.Told() {
			s.files.tellUnbound(a)
		}
		if exempt {
			return inFiles.hooks, nil
		}
	}
	api, err := s.api.now(ctx)
	if err != nil {
		return nil, err
	}
	if a.Told() {
		s.api.tellUnbound(a)
	}
	if inFiles == nil || len(inFiles.list) == 0 {
		return api.hooks, nil
	}
	last := s.last.Load()
	if last == nil || last.files != inFiles || last.api != api {
		last = &both[P, B, R]{inFiles, api, newIndex(slices.Concat(inFiles.list, api.list))}
		s.last.Store(last)
	}
	return last.hooks, nil
}
