package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
)

// decidingHook is the hook that has read what requests are authorized by.
const decidingHook = "generic-apiserver-start-informers"

// addReadHooks adds the hooks that read what every server needs. Resources are loaded when they are
// first used; by what these hooks load, requests are judged from the start. Their names are those
// of kube-apiserver's hooks that do the same.
func (s *Server) addReadHooks(byRoles bool) error {
	var deciding []meta.GroupResource
	if byRoles {
		deciding = slices.Clone(roleResources[:])
	}
	return errors.Join(
		s.AddPostStartHook(Hook{Name: "storage-readiness", Run: storesAnswer}),
		s.AddPostStartHook(Hook{Name: decidingHook, Run: readsAll(deciding)}),
		s.AddPostStartHook(Hook{Name: "start-apiserver-admission-initializer", Run: readsAll(admissionReads())}))
}

// storesAnswer returns when every store has answered. Then every resource can be read, by its cache
// or, while that is being loaded, from its store.
func storesAnswer(ctx context.Context, s *Server) error {
	for _, b := range s.Backends() {
		s.untilDone(ctx, "a store does not answer yet", func() error {
			_, err := b.Revision(ctx)
			return err
		})
	}
	return nil
}

// readsAll returns the work of a hook that loads resources, those of them that are served.
func readsAll(list []meta.GroupResource) func(context.Context, *Server) error {
	return func(ctx context.Context, s *Server) error {
		for _, gr := range list {
			if store := s.Store(gr); store != nil {
				s.untilDone(ctx, "a resource cannot be loaded yet", func() error { return store.Objects().CatchUp(ctx) })
			}
		}
		return nil
	}
}

// untilDone calls f until it succeeds or ctx ends. It logs the first failure.
func (s *Server) untilDone(ctx context.Context, failed string, f func() error) {
	for first := true; ; first = false {
		err := f()
		if err == nil || ctx.Err() != nil {
			return
		}
		if first {
			s.Log().Log(backing.Severity(err), failed, zap.Error(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(followAgain):
		}
	}
}
