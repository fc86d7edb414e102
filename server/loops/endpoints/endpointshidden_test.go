package endpoints_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest/looptest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// put writes the bytes of an object directly into the store.
func (w *world) put(store storage.Store, key, value string) {
	w.T.Helper()
	if _, err := store.Put(w.T.Context(), key, []byte(value), storage.Pre{}, 0); err != nil {
		w.T.Fatal(err)
	}
}

// untilRead waits until a GET of an object fails because the object cannot be read, or no longer
// does.
func (w *world) untilRead(resource, name string, unreadable bool) {
	w.T.Helper()
	r := client.For[*meta.PartialObjectMetadata](w.S.Client(), corev1.GroupVersion.WithResource(resource))
	if resource == "pods" {
		r = r.In("n")
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		_, err := r.Get(w.T.Context(), name, meta.GetOptions{})
		if meta.IsUnreadable(err) == unreadable {
			return
		}
		if time.Now().After(end) {
			w.T.Fatalf("%s %s: got %v, want one that can be read: %v", resource, name, err, !unreadable)
		}
	}
}

// TestEndpointsOfHiddenPods begins with pods and a node that cannot be read. Their endpoints stay
// while other pods change, until each pod can be read or is deleted.
func TestEndpointsOfHiddenPods(t *testing.T) {
	store := memory.New(memory.Config{})
	w := startWithNodes(t, server.Config{Storage: server.StorageConfig{Store: store}, Controllers: []string{}})
	controllers := func() (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { runEndpoints(ctx, w.S.Client()) })
		return func() {
			cancel()
			wg.Wait()
		}
	}
	stop := controllers()
	w.service("s", nil)
	for name, ip := range map[string]string{"deleted": "10.0.0.1", "mended": "10.0.0.2", "moved": "10.0.0.3", "seen": "10.0.0.4"} {
		pod := webPod(name)
		if name == "seen" {
			pod.Spec.NodeName = "b"
		}
		looptest.Create(w, "pods", pod)
		w.runs(name, name != "moved", ip)
	}
	const (
		deleted, mended, moved = "10.0.0.1 deleted@a/zone-a ready serving", "10.0.0.2 mended@a/zone-a ready serving", "10.0.0.3 moved@a/zone-a"
		seen                   = ", 10.0.0.4 seen@b/zone-b"
	)
	w.wantSlices("s", "IPv4 http:8080/TCP "+deleted+", "+mended+", "+moved+seen+" ready serving")
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 deleted ready 10.0.0.2 mended ready 10.0.0.4 seen ready 10.0.0.3 moved unready")
	stop()

	const pods = "/registry/pods/n/"
	good := map[string]string{}
	for _, key := range []string{pods + "deleted", pods + "mended", pods + "moved", "/registry/minions/b"} {
		e, err := store.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		good[key] = string(e.Value)
		w.put(store, key, `{"kind":"Strange","apiVersion":"v7"}`)
	}
	w.untilRead("pods", "moved", true)
	w.untilRead("nodes", "b", true)
	defer controllers()()
	w.runs("seen", false, "10.0.0.4")
	w.wantSlices("s", "IPv4 http:8080/TCP "+deleted+", "+mended+", "+moved+seen)
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 deleted ready 10.0.0.2 mended ready 10.0.0.3 moved unready 10.0.0.4 seen unready")

	if _, err := store.Delete(t.Context(), pods+"deleted", storage.Pre{}); err != nil {
		t.Fatal(err)
	}
	w.wantSlices("s", "IPv4 http:8080/TCP "+mended+", "+moved+seen)
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.2 mended ready 10.0.0.3 moved unready 10.0.0.4 seen unready")
	w.put(store, pods+"moved", strings.Replace(good[pods+"moved"], `"app":"web"`, `"app":"db"`, 1))
	w.wantSlices("s", "IPv4 http:8080/TCP "+mended+seen)
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.2 mended ready 10.0.0.4 seen unready")
	w.put(store, pods+"mended", good[pods+"mended"])
	w.untilRead("pods", "mended", false)
	w.runs("mended", false, "10.0.0.5")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.4 seen@b/zone-b, 10.0.0.5 mended@a/zone-a")
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.4 seen unready 10.0.0.5 mended unready")
}
