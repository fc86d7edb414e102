package controller

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// Yield runs work only while nobody holds a Lease. Another program that does the same work, such as
// kube-controller-manager, takes over by holding the Lease.
type Yield struct {
	// Client watches the Lease.
	Client *client.Client
	// Lease is the name of the other program's Lease, in the namespace kube-system.
	Lease string
	// Log is told of failures of the watch. It is required.
	Log *zap.Logger
}

// Run calls work when it sees that nobody holds the Lease, and ends the context of work when
// somebody holds the Lease again. Run returns when ctx has ended and work has returned.
func (y *Yield) Run(ctx context.Context, work func(ctx context.Context)) {
	states := make(chan *coordinationv1.Lease)
	go func() {
		defer close(states)
		y.follow(ctx, states)
	}()
	var end func() // ends the running work; nil if none was started
	stop := func() {
		if end != nil {
			end()
			end = nil
		}
	}
	defer stop()
	var seen sighting
	free := time.NewTimer(time.Hour) // fires when the Lease expires; runs only while the Lease is held
	defer free.Stop()
	free.Stop()
	for {
		select {
		case lease, ok := <-states:
			if !ok {
				return
			}
			if lease != nil && !seen.free(lease, "") {
				stop()
				free.Reset(seen.expires(lease))
				continue
			}
			free.Stop()
		case <-free.C:
		}
		if end == nil {
			end = Begin(ctx, work)
		}
	}
}

// Begin starts work in a goroutine. The function that it returns ends the context of work, and
// waits until work has returned.
func Begin(ctx context.Context, work func(ctx context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// follow sends each state of the Lease until ctx ends. It sends nil after a deletion, and at the
// start if there is no Lease. It sends nothing for a state that cannot be read.
func (y *Yield) follow(ctx context.Context, states chan<- *coordinationv1.Lease) {
	send := func(lease *coordinationv1.Lease) {
		select {
		case states <- lease:
		case <-ctx.Done():
		}
	}
	source := leasesOf(y.Client).Source(meta.ListOptions{FieldSelector: "metadata.name=" + y.Lease})
	failed := func(err error) { y.Log.Warn("watch failed", zap.String("lease", y.Lease), zap.Error(err)) }
	begun := false
	for b := range follow.Changes(ctx, source, follow.Options{Failed: failed}) {
		for _, ch := range b.Changes {
			if ch.Unread == nil { // an unreadable Lease exists, so it is not reported as free
				send(ch.New)
			}
		}
		if len(b.Changes) == 0 && b.InStep && !begun {
			send(nil)
		}
		begun = begun || b.InStep
	}
}
