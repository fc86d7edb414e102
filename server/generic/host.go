package generic

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
)

// Host is what a part of a server needs of the server around it: the resources, a way to run work
// until the server stops, and the log. Resources implements it. All methods may be called at once.
type Host interface {
	// Store returns the store of a resource by any of its names, or nil if the resource does not
	// exist at the moment.
	Store(gr meta.GroupResource) *registry.Store
	// Table returns the list of all resources.
	Table() *Table
	// Install adds the resources of a group on one server of the chain: all of them, or none if it
	// fails. See Resources.Install.
	Install(on *Server, g Group) error
	// Replace gives a resource a new declaration, under all its names. See Resources.Replace.
	Replace(res registry.Resource) error
	// Remove ends a resource under one of its names, or under all if gr is its first. gone is
	// closed when no request uses it. See Resources.Remove.
	Remove(gr meta.GroupResource) (gone <-chan struct{}, err error)
	// Go runs work in a goroutine. The context of the work ends when the server stops, and the
	// server waits for the work to return. After the server has stopped, Go does nothing.
	Go(work func(ctx context.Context))
	// Log returns the server's log.
	Log() *zap.Logger
}

var _ Host = (*Resources)(nil)

// Hook is work that a part of a server has to do after the server listens. The server is not ready
// before all hooks have returned. Each hook is the check poststarthook/NAME of /healthz, /livez and
// /readyz.
type Hook struct {
	// Name is unique among the hooks of the server.
	Name string
	// Run does the work. Its context ends when the server stops. If Run fails, the server stops.
	Run func(ctx context.Context) error
	// Completes, if it has a name, is a second check of the hook, for work that goes on after Run
	// has returned.
	Completes Check
}

// Check is a named condition of the server's health.
type Check struct {
	// Name is the rest of the check's own path, after the path of an endpoint, as in /readyz/NAME.
	Name string
	// Run makes the check. It returns nil if the condition holds, else the reason why it does not.
	// It may be called at once by many requests, and ends soon after its context.
	Run func(ctx context.Context) error
}

// RetryPause is the pause between a failure and the next try, in RetryUntilDone and in other work
// that reads a store.
const RetryPause = 200 * time.Millisecond

// CacheLoader returns the Run of a Hook that loads the caches of resources. It skips resources that
// are not served. It tries each resource until it is loaded or ctx ends, and logs the first failure
// of each.
func CacheLoader(host Host, list []meta.GroupResource) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, gr := range list {
			if store := host.Store(gr); store != nil {
				RetryUntilDone(ctx, host.Log(), "a resource cannot be loaded yet", func() error {
					return store.Objects().CatchUp(ctx)
				})
			}
		}
		return nil
	}
}

// RetryUntilDone calls f until it succeeds or ctx ends, with the pause RetryPause after each
// failure. It logs the first failure with the message failed, at the level of backing.Severity.
func RetryUntilDone(ctx context.Context, log *zap.Logger, failed string, f func() error) {
	for first := true; ; first = false {
		err := f()
		if err == nil || ctx.Err() != nil {
			return
		}
		if first {
			log.Log(backing.Severity(err), failed, zap.Error(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(RetryPause):
		}
	}
}
