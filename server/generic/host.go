package generic

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
)

// Host is what a part of a server needs of the server around it: its resources, a way to run work
// until the server stops, and the log. Resources implements it. All methods may be called at once.
type Host interface {
	// Store returns the store of a resource by any of its names, or nil if there is no such
	// resource at the moment.
	Store(gr meta.GroupResource) *registry.Store
	// Table is the list of all resources.
	Table() *Table
	// Install, Replace and Remove change what is served: see Resources.
	Install(on *Server, g Group) error
	Replace(res registry.Resource) error
	Remove(gr meta.GroupResource) (gone <-chan struct{}, err error)
	// Go runs work that ends when its context does, which is when the server stops. The server
	// waits for it. A server that has stopped runs nothing any more.
	Go(work func(ctx context.Context))
	// Log is the server's log.
	Log() *zap.Logger
}

var _ Host = (*Resources)(nil)

// Hook is work that a part of a server has to do after the server listens. The server is ready
// when all hooks have returned. Its health page shows each as the check poststarthook/NAME.
type Hook struct {
	Name string
	// Run does the work. Its context ends with the server. An error ends the server.
	Run func(ctx context.Context) error
	// Completes, if it has a name, is a check of its own, beside that of the hook, for work that
	// goes on after Run has returned.
	Completes Check
}

// Check is a check of a health page. An error of Run says why the check fails.
type Check struct {
	Name string
	Run  func(ctx context.Context) error
}

// Again is how long work that follows the store waits after a failure, before it tries again.
const Again = 200 * time.Millisecond

// Loads returns the work of a hook that loads resources, those of them that are served. Each is
// tried until it is loaded or the server stops; the first failure is logged.
func Loads(host Host, list []meta.GroupResource) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, gr := range list {
			if store := host.Store(gr); store != nil {
				UntilDone(ctx, host.Log(), "a resource cannot be loaded yet", func() error { return store.Objects().CatchUp(ctx) })
			}
		}
		return nil
	}
}

// UntilDone calls f until it succeeds or ctx ends. It logs the first failure with the message
// failed.
func UntilDone(ctx context.Context, log *zap.Logger, failed string, f func() error) {
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
		case <-time.After(Again):
		}
	}
}
