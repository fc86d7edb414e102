package server

import (
	"context"
	"errors"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/plugins"
)

// decidingHook is the hook that has read what requests are authorized by.
const decidingHook = "generic-apiserver-start-informers"

// addReadHooks adds the hooks that read what every server needs. Resources are loaded when they are
// first used; by what these hooks load, requests are judged from the start. Their names are those
// of kube-apiserver's hooks that do the same.
func (s *Server) addReadHooks(byRoles bool) error {
	var deciding []meta.GroupResource
	if byRoles {
		deciding = access.RoleResources()
	}
	return errors.Join(
		s.AddPostStartHook(Hook{Name: "storage-readiness", Run: storesAnswer}),
		s.AddPostStartHook(Hook{Name: decidingHook, Run: hostless(generic.Loads(s, deciding))}),
		s.AddPostStartHook(Hook{Name: "start-apiserver-admission-initializer", Run: hostless(generic.Loads(s, plugins.Reads()))}))
}

// storesAnswer returns when every store has answered. Then every resource can be read, by its cache
// or, while that is being loaded, from its store.
func storesAnswer(ctx context.Context, s *Server) error {
	for _, b := range s.Backends() {
		generic.UntilDone(ctx, s.Log(), "a store does not answer yet", func() error {
			_, err := b.Revision(ctx)
			return err
		})
	}
	return nil
}
