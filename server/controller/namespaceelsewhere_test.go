package controller_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

// elsewhere is what other servers have, as far as it is known.
type elsewhere struct {
	mu  sync.Mutex
	now controller.Elsewhere
	own chan struct{} // closed when that changes
}

func (e *elsewhere) get() controller.Elsewhere {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.own == nil {
		e.own = make(chan struct{})
	}
	e.now.Changed = e.own
	return e.now
}

func (e *elsewhere) set(unknown ...meta.GroupVersion) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now.Unknown = unknown
	if e.own != nil {
		close(e.own)
	}
	e.own = nil
}

// noRemovals is a store that nothing goes from.
type noRemovals struct{}

func (noRemovals) Next(ctx context.Context) ([]string, error) { <-ctx.Done(); return nil, ctx.Err() }
func (noRemovals) Close()                                     {}

// TestNamespaceWaitsForOthers: a namespace stays while nobody knows what other servers have in it, and goes as soon as that is known.
func TestNamespaceWaitsForOthers(t *testing.T) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		w.createNamespace("n")
		boats := meta.GroupVersion{Group: "boats.example.com", Version: "v1"}
		var others elsewhere
		others.set(boats, meta.GroupVersion{Group: "trains.example.com", Version: "v1"})
		c := &controller.Namespace{
			Client: w.s.Client(), Contents: func() []meta.GroupVersionResource { return nil }, Elsewhere: others.get,
			Holds:    func(context.Context, meta.GroupResource, string) (bool, error) { return false, nil },
			Hidden:   func(context.Context, string) ([]controller.Hidden, error) { return nil, nil },
			Removals: func(context.Context) (controller.Removals, error) { return noRemovals{}, nil },
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); c.Run(ctx) }()
		defer func() { cancel(); <-ended }()
		namespaces := objects[*corev1.Namespace](w, "namespaces").In("")
		if err := namespaces.Delete(t.Context(), "n", meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.sleep(10*time.Minute + 3*time.Second) // it is looked at once a minute by now
		others.set(boats)
		w.sleep(time.Second)
		ns, err := namespaces.Get(t.Context(), "n", meta.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := condition(ns, "NamespaceDeletionDiscoveryFailure"), "True DiscoveryFailed: Discovery failed for some groups, 1 failing: "+
			"unable to retrieve the complete list of server APIs: boats.example.com/v1: stale GroupVersion discovery: boats.example.com/v1"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		others.set()
		w.sleep(time.Second)
		if _, err := namespaces.Get(t.Context(), "n", meta.GetOptions{}); !meta.IsNotFound(err) {
			t.Errorf("got %v when it is known what others have, want it gone", err)
		}
	})
}
