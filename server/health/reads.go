package health

import (
	"context"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
)

// decidingHook is the hook that has read what requests are authorized by.
const decidingHook = "generic-apiserver-start-informers"

// Reads returns the hooks that read what every server needs. Resources are loaded when they are
// first used; the ones that these hooks load are needed to judge the first request: deciding are
// those by which requests are authorized, admission those that plugins read. The names are those of
// kube-apiserver's hooks that do the same.
func Reads(host generic.Host, store *backing.Store, deciding, admission []meta.GroupResource) []generic.Hook {
	return []generic.Hook{
		{Name: "storage-readiness", Run: func(ctx context.Context) error {
			for _, s := range append([]*backing.Store{store}, store.Others...) {
				untilAnswered(ctx, host, s)
			}
			return nil
		}},
		{Name: decidingHook, Run: generic.Loads(host, deciding)},
		{Name: "start-apiserver-admission-initializer", Run: generic.Loads(host, admission)},
	}
}

// untilAnswered returns when a store has answered, or when ctx ends. Once all stores have answered,
// every resource can be read: from its cache or, while that is being loaded, from its store.
func untilAnswered(ctx context.Context, host generic.Host, s *backing.Store) {
	generic.UntilDone(ctx, host.Log(), "a store does not answer yet", func() error {
		_, err := s.Revision(ctx)
		return err
	})
}
