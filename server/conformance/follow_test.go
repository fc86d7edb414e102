package conformance

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/follow/followtest"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
)

// TestFollow checks the laws of package follow on the first engine.
func TestFollow(t *testing.T) { follows(t, engines[:1]) }

// follows checks the laws of package follow for all ways to follow a resource: by a client over the
// network, by a client in the process, from the cache, and by pulling from the cache.
func follows(t *testing.T, engines []engine) {
	for _, engine := range engines {
		if engine.name == "file" {
			continue
		}
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			cfg := engine.config(t)
			cfg.Controllers = []string{}
			s := servertest.Start(t, cfg)
			network, err := client.New(client.Config{URL: s.URL, Transport: s.Client.Transport, Codecs: s.Server.Codecs})
			if err != nil {
				t.Fatal(err)
			}
			w := newWritten(t, s.Server)
			number := func(_ testing.TB, obj *appsv1.ControllerRevision) int { return int(obj.Revision) }
			clients := map[string]*client.Client{"Network": network}
			if engine.name == engines[0].name && len(engines) == 1 { // a client cannot tell the engines apart
				clients["Handler"] = s.Server.Client()
			}
			for name, c := range clients {
				t.Run(name, func(t *testing.T) {
					followtest.Run(t, followtest.Rig[*appsv1.ControllerRevision]{
						Source: client.For[*appsv1.ControllerRevision](c, revisionResource).In(w.namespace).Source(meta.ListOptions{}),
						Put:    w.put, Delete: w.delete, Forget: w.forget, Own: isOwn, Number: number,
					})
				})
			}
			store := s.Server.Store(revisionResource.GroupResource())
			encoded := func(t testing.TB, obj request.Encoded) int {
				decoded, err := store.Decode(context.Background(), obj)
				if err != nil {
					t.Error(err)
					return 0
				}
				return number(t, decoded.(*appsv1.ControllerRevision))
			}
			for name, source := range map[string]follow.Source[request.Encoded]{"Caches": store.Source(), "Pull": &pulled{store: store}} {
				t.Run(name, func(t *testing.T) {
					followtest.Run(t, followtest.Rig[request.Encoded]{
						Source: source, Put: w.put, Delete: w.delete, Forget: w.forget, Own: isOwn, Number: encoded,
					})
				})
			}
			t.Run("PullIsFresh", func(t *testing.T) { w.pullIsFresh(t, store) })
		})
	}
}

var revisionResource = appsv1.GroupVersion.WithResource("controllerrevisions")

// written creates, changes and deletes the objects that the laws need. Their resource is one of
// which the server creates no objects itself, and whose objects may be large.
type written struct {
	server    *server.Server
	namespace string
	objects   client.Resource[*appsv1.ControllerRevision]
	known     map[string]bool
}

func newWritten(t *testing.T, s *server.Server) *written {
	const namespace = "followed"
	namespaces := client.For[*corev1.Namespace](s.Client(), corev1.GroupVersion.WithResource("namespaces"))
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: namespace}}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return &written{s, namespace, client.For[*appsv1.ControllerRevision](s.Client(), revisionResource).In(namespace), map[string]bool{}}
}

// revisionOf returns a ControllerRevision with data, a JSON object.
func revisionOf(name string, n int, data []byte) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: meta.ObjectMeta{Name: name}, Revision: int64(n), Data: meta.RawExtension{Raw: data},
	}
}

func (w *written) put(t testing.TB, name string, n int) {
	var err error
	if obj := revisionOf(name, n, []byte("{}")); w.known[name] {
		_, err = w.objects.Update(context.Background(), obj, meta.UpdateOptions{})
	} else {
		_, err = w.objects.Create(context.Background(), obj, meta.CreateOptions{})
	}
	if err != nil {
		t.Error(err)
	}
	w.known[name] = true
}

func (w *written) delete(t testing.TB, name string) {
	if err := w.objects.Delete(context.Background(), name, meta.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	delete(w.known, name)
}

// isOwn reports whether an object belongs to the laws and not to forget.
func isOwn(name follow.Name) bool { return !strings.HasPrefix(name.Name, "large") }

// forget makes old changes unavailable: it fills the window of the cache, which holds 16 MiB, with
// other changes, and compacts the store.
func (w *written) forget(t testing.TB) {
	ctx := context.Background()
	data := []byte(`{"data":"` + strings.Repeat("x", 900<<10) + `"}`)
	for i := range 20 {
		name := fmt.Sprint("large", i)
		if _, err := w.objects.Create(ctx, revisionOf(name, 1, data), meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := w.objects.Delete(ctx, name, meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	store := w.server.Backends().BackendOf(revisionResource.GroupResource())
	now, err := store.Revision(ctx)
	if err == nil {
		err = store.Compact(ctx, now)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// pullIsFresh checks a law on which RBAC depends: after the response to a write, a
// registry.Position from before the write no longer holds, and Since returns the write, even if the
// caller asks for no revision.
func (w *written) pullIsFresh(t *testing.T, store *registry.Store) {
	_, _, place, err := store.ChangesSince(t.Context(), registry.Position{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.delete(t, "fresh")
	for n := range 50 {
		w.put(t, "fresh", n)
		if store.Holds(place) {
			t.Fatalf("the place before write %d holds after it", n)
		}
		changes, whole, next, err := store.ChangesSince(t.Context(), place, 0)
		if err != nil {
			t.Fatal(err)
		}
		last := len(changes) - 1
		if whole || last < 0 || changes[last].Name != "fresh" || changes[last].Encoded.Revision() != uint64(next.Revision()) && !store.Holds(next) {
			t.Fatalf("after write %d: got %v, whole %t", n, changes, whole)
		}
		place = next
	}
}

// pulled makes a follow.Source of registry.Store.ChangesSince, by calling ChangesSince again and
// again.
type pulled struct {
	store  *registry.Store
	places sync.Map // the registry.Position of each revision that was returned
}

type pulledStream struct {
	*pulled
	ctx   context.Context
	place registry.Position
	begun bool
	rest  []follow.Change[request.Encoded]
}

// Open implements follow.Source. It can only go on after a revision that this Source has returned,
// because a registry.Position cannot be made from a revision.
func (p *pulled) Open(ctx context.Context, after string) (follow.Stream[request.Encoded], error) {
	s := &pulledStream{pulled: p, ctx: ctx}
	if after != "" {
		place, ok := p.places.Load(after)
		if !ok {
			return nil, meta.NewResourceExpired("no such place")
		}
		s.place, s.begun = place.(registry.Position), true
	}
	return s, nil
}

// Next implements follow.Stream.
func (s *pulledStream) Next() (b follow.Batch[request.Encoded], err error) {
	for len(s.rest) == 0 {
		if s.begun && s.store.Holds(s.place) {
			if storage.Sleep(s.ctx, time.Millisecond) != nil {
				return b, io.EOF
			}
			continue
		}
		changes, whole, next, err := s.store.ChangesSince(s.ctx, s.place, 0)
		switch {
		case err != nil:
			return b, err
		case whole && s.begun:
			return b, meta.NewResourceExpired("the place is too far back")
		}
		for _, ch := range changes {
			to := follow.Change[request.Encoded]{Name: follow.Name{Namespace: ch.Namespace, Name: ch.Name}, New: ch.Encoded, Gone: ch.Encoded == nil}
			s.rest = append(s.rest, to)
		}
		s.place = next
		if s.begun = true; len(changes) == 0 {
			break
		}
	}
	n := min(len(s.rest), follow.MaxChanges)
	b.Changes, s.rest = s.rest[:n], s.rest[n:]
	if b.InStep = len(s.rest) == 0; b.InStep {
		b.ResourceVersion = fmt.Sprint(s.place.Revision())
		s.places.Store(b.ResourceVersion, s.place)
	}
	return b, nil
}

// Close implements follow.Stream.
func (s *pulledStream) Close() {}
