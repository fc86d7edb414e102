package ownership_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/loops/ownership"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// remoteResources is the source of the resources of servers behind, and of the versions whose
// resources are unknown.
type remoteResources struct {
	mu  sync.Mutex
	now ownership.RemoteResources
	own chan struct{} // closed when the resources change
}

func (e *remoteResources) get() ownership.RemoteResources {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.own == nil {
		e.own = make(chan struct{})
	}
	e.now.Changed = e.own
	return e.now
}

func (e *remoteResources) set(unknown ...meta.GroupVersion) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now.Unknown = unknown
	if e.own != nil {
		close(e.own)
	}
	e.own = nil
}

// noRemovals is a feed of removals that never has one.
type noRemovals struct{}

func (noRemovals) Next(ctx context.Context) ([]string, error) { <-ctx.Done(); return nil, ctx.Err() }
func (noRemovals) Close()                                     {}

// TestNamespaceWaitsForOthers: a namespace stays while the resources of a server behind are
// unknown, and is deleted as soon as they are known.
func TestNamespaceWaitsForOthers(t *testing.T) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		w.CreateNamespace("n")
		boats := meta.GroupVersion{Group: "boats.example.com", Version: "v1"}
		var others remoteResources
		others.set(boats, meta.GroupVersion{Group: "trains.example.com", Version: "v1"})
		c := &ownership.Namespace{
			Client: w.S.Client(), NamespacedResources: func() []meta.GroupVersionResource { return nil }, RemoteResources: others.get,
			Holds:           func(context.Context, meta.GroupResource, string) (bool, error) { return false, nil },
			UnservedObjects: func(context.Context, string) ([]ownership.UnservedObjects, error) { return nil, nil },
			Removals:        func(context.Context) (ownership.Removals, error) { return noRemovals{}, nil },
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); c.Run(ctx) }()
		defer func() { cancel(); <-ended }()
		namespaces := looptest.Of[*corev1.Namespace](w, "namespaces").In("")
		if err := namespaces.Delete(t.Context(), "n", meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.Sleep(10*time.Minute + 3*time.Second) // the back-off has grown to a minute
		others.set(boats)
		w.Sleep(time.Second)
		ns, err := namespaces.Get(t.Context(), "n", meta.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := condition(ns, "NamespaceDeletionDiscoveryFailure"), "True DiscoveryFailed: Discovery failed for some groups, 1 failing: "+
			"unable to retrieve the complete list of server APIs: boats.example.com/v1: stale GroupVersion discovery: boats.example.com/v1"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		others.set()
		w.Sleep(time.Second)
		if _, err := namespaces.Get(t.Context(), "n", meta.GetOptions{}); !meta.IsNotFound(err) {
			t.Errorf("got %v when the remote resources are known, want not found", err)
		}
	})
}

// TestStuckNamespacesRest: namespaces that cannot be deleted are handled as often as their back-off
// says, even while APIServices change all the time, and although each pass may write a status. When
// the resources are known, they are deleted at once.
func TestStuckNamespacesRest(t *testing.T) {
	const stuck = 5
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		var others remoteResources
		boats := meta.GroupVersion{Group: "boats.example.com", Version: "v1"}
		others.set(boats)
		var mu sync.Mutex
		looks := map[string]int{}
		c := &ownership.Namespace{
			Client: w.S.Client(), RemoteResources: others.get,
			NamespacedResources: func() []meta.GroupVersionResource {
				return []meta.GroupVersionResource{corev1.GroupVersion.WithResource("configmaps")}
			},
			Holds: func(_ context.Context, _ meta.GroupResource, namespace string) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				looks[namespace]++
				return false, nil
			},
			UnservedObjects: func(context.Context, string) ([]ownership.UnservedObjects, error) { return nil, nil },
			Removals:        func(context.Context) (ownership.Removals, error) { return noRemovals{}, nil },
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); c.Run(ctx) }()
		defer func() { cancel(); <-ended }()
		namespaces := looptest.Of[*corev1.Namespace](w, "namespaces").In("")
		for i := range stuck {
			name := fmt.Sprintf("n%d", i)
			w.CreateNamespace(name)
			if err := namespaces.Delete(t.Context(), name, meta.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		w.Sleep(10 * time.Minute) // the back-off has grown to a minute
		looked := func() (most int) {
			mu.Lock()
			defer mu.Unlock()
			for _, n := range looks {
				most = max(most, n)
			}
			clear(looks)
			return most
		}
		looked()
		for i := range 10 * 60 * 10 { // ten APIServices a second, none of which answers
			others.set(boats, meta.GroupVersion{Group: fmt.Sprintf("g%d.example.com", i), Version: "v1"})
			w.Sleep(100 * time.Millisecond)
		}
		// one pass a minute by the back-off, as many because of the changes, and some more when the
		// changes begin
		if n := looked(); n > 30 {
			t.Errorf("a namespace was looked at %d times in ten minutes, want at most 30", n)
		}
		others.set()
		w.Sleep(time.Minute + time.Second)
		list, err := namespaces.List(t.Context(), meta.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, ns := range list.Items {
			if ns.Status.Phase == corev1.NamespaceTerminating {
				t.Errorf("%s still exists when the remote resources are known", ns.Name)
			}
		}
	})
}

// TestStuckNamespacesSayLittle: a controller's log has a limited rate, as the log of requests has,
// although many namespaces fail again and again.
func TestStuckNamespacesSayLittle(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	w := start(t, server.Config{Log: zap.New(core), Controllers: []string{"namespace"}})
	port := int32(443)
	services := client.For[*apiregistrationv1.APIService](w.S.Client(), apiregistrationv1.GroupVersion.WithResource("apiservices"))
	_, err := services.Create(t.Context(), &apiregistrationv1.APIService{
		ObjectMeta: meta.ObjectMeta{Name: "v1.boats.example.com"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "boats.example.com", Version: "v1", GroupPriorityMinimum: 1, VersionPriority: 1, InsecureSkipTLSVerify: true,
			Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "nobody", Port: &port},
		},
	}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	boats := client.For[*meta.PartialObjectMetadata](w.S.Client(), meta.GroupVersion{Group: "boats.example.com", Version: "v1"}.WithResource("boats"))
	deadline := time.Now().Add(time.Minute)
	for { // until the server knows that a server behind has the version
		_, err := boats.Get(t.Context(), "b", meta.GetOptions{})
		if !meta.IsNotFound(err) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the version is not that of another server: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	const stuck = 30
	for i := range stuck {
		name := fmt.Sprintf("n%d", i)
		looptest.Create(w, "namespaces", &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}})
		if err := w.namespaces().Delete(t.Context(), name, meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < stuck; {
		ns, err := w.namespaces().Get(t.Context(), fmt.Sprintf("n%d", i), meta.GetOptions{})
		switch {
		case err == nil && strings.HasPrefix(condition(ns, "NamespaceDeletionDiscoveryFailure"), "True"):
			i++
		case time.Now().After(deadline):
			t.Fatalf("namespace %d does not say why it stays: %v", i, err)
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
	// Each namespace has failed. At most ten lines in ten seconds may say so, and the ten seconds
	// may have passed once.
	if n := logs.FilterMessage("reconcile failed").Len(); n == 0 || n > 20 {
		t.Errorf("%d namespaces that fail made %d lines, want 1 to 20", stuck, n)
	}
}
