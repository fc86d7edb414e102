package health

import (
	"context"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
)

// decidingHook is the hook that loads the resources by which requests are authorized.
const decidingHook = "generic-apiserver-start-informers"

// LoadHooks returns the hooks that wait for the stores, and load the resources that the first
// requests need: deciding, the resources by which requests are authorized, and admission, those
// that admission plugins read. All other resources are loaded at their first use. The hooks have
// the names of the kube-apiserver hooks that do the same.
func LoadHooks(host generic.Host, store *backing.Store, deciding, admission []meta.GroupResource) []generic.Hook {
	return []generic.Hook{
		{Name: "storage-readiness", Run: func(ctx context.Context) error {
			for _, s := range append([]*backing.Store{store}, store.Others...) {
				untilAnswered(ctx, host, s)
			}
			return nil
		}},
		{Name: decidingHook, Run: generic.CacheLoader(host, deciding)},
		{Name: "start-apiserver-admission-initializer", Run: generic.CacheLoader(host, admission)},
	}
}

// untilAnswered returns when a store has answered, or when ctx ends. When all stores have answered,
// every resource can be read: from its cache, or from its store while the cache is loading.
func untilAnswered(ctx context.Context, host generic.Host, s *backing.Store) {
	generic.RetryUntilDone(ctx, host.Log(), "a store does not answer yet", func() error {
		_, err := s.Revision(ctx)
		return err
	})
}
