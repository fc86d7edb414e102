package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

var configMaps = corev1.GroupVersion.WithResource("configmaps")

// view is the view of a config map that the tests keep.
type view struct{ Value string }

// informed has informers of a server. A test can end their watches, and have the next watch
// answered with 410.
type informed struct {
	*controller.Informers
	maps    client.Resource[*corev1.ConfigMap]
	stop    context.CancelFunc
	expired atomic.Bool
	cut     atomic.Pointer[context.CancelFunc] // ends the last watch
}

// informers returns informers that end with the test.
func (w *fakeWorld) informers() *informed {
	i := &informed{maps: client.For[*corev1.ConfigMap](w.S.Client(), configMaps).In("kube-system")}
	c, err := client.New(client.Config{Codecs: w.S.Codecs, Transport: client.HandlerTransport(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			if i.expired.Swap(false) {
				http.Error(rw, "", http.StatusGone)
				return
			}
			ctx, cut := context.WithCancel(r.Context())
			i.cut.Store(&cut)
			r = r.WithContext(ctx)
		}
		w.S.Handler().ServeHTTP(rw, r)
	}))})
	if err != nil {
		w.T.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.T.Context())
	i.Informers, i.stop = controller.NewInformers(ctx, c, zap.NewNop()), stop
	w.T.Cleanup(func() { stop(); i.Wait() })
	return i
}

// of returns the Informer of config maps. Those without a value have no view.
func (i *informed) of() *controller.Informer[view] {
	return controller.InformerOf(i.Informers, configMaps, func(m *corev1.ConfigMap) *view {
		if m.Data["v"] == "" {
			return nil
		}
		return &view{m.Data["v"]}
	})
}

// put creates or updates a config map.
func (w *fakeWorld) put(i *informed, name, value, ignored string) {
	w.T.Helper()
	m := &corev1.ConfigMap{
		ObjectMeta: meta.ObjectMeta{Namespace: "kube-system", Name: name}, Data: map[string]string{"v": value, "ignored": ignored},
	}
	if _, err := i.maps.Update(w.T.Context(), m, meta.UpdateOptions{}); meta.IsNotFound(err) {
		_, err = i.maps.Create(w.T.Context(), m, meta.CreateOptions{})
		if err != nil {
			w.T.Fatal(err)
		}
	}
}

func (w *fakeWorld) remove(i *informed, name string) {
	w.T.Helper()
	if err := i.maps.Delete(w.T.Context(), name, meta.DeleteOptions{}); err != nil {
		w.T.Fatal(err)
	}
}

// told records the calls that a Source gets, as "name:before>now".
type told struct {
	mu   sync.Mutex
	list []string
}

// join subscribes a Source of the Informer that records its calls until the test ends.
func (w *fakeWorld) join(i *controller.Informer[view]) *told {
	tl := &told{}
	ctx, stop := context.WithCancel(w.T.Context())
	ended := make(chan struct{})
	src := i.Source(func(name controller.Name, before, now *view) []controller.Name {
		tl.mu.Lock()
		defer tl.mu.Unlock()
		tl.list = append(tl.list, name.Name+":"+before.String()+">"+now.String())
		return []controller.Name{name}
	})
	go func() { defer close(ended); src(ctx, func(controller.Name) {}, nil) }()
	w.T.Cleanup(func() { stop(); <-ended })
	return tl
}

func (v *view) String() string {
	if v == nil {
		return ""
	}
	return v.Value
}

// is compares the calls since the last is. The calls for one change may come in any order.
func (tl *told) is(w *fakeWorld, text string) {
	w.T.Helper()
	w.Sleep(2 * time.Second) // a watch begins again only after a pause
	tl.mu.Lock()
	defer tl.mu.Unlock()
	slices.Sort(tl.list)
	if got := strings.Join(tl.list, " "); got != text {
		w.T.Errorf("told %q, want %q", got, text)
	}
	tl.list = nil
}

func TestInformer(t *testing.T) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		i := w.informers()
		w.put(i, "a", "1", "")
		w.put(i, "b", "2", "")
		w.put(i, "none", "", "")
		maps := i.of()
		if i.of() != maps {
			t.Error("another informer for who asks again")
		}
		first := w.join(maps)
		first.is(w, "a:>1 b:>2")
		if err := maps.Synced(t.Context()); err != nil {
			t.Error(err)
		}
		w.put(i, "a", "3", "")
		w.put(i, "b", "2", "is not looked at")
		w.put(i, "c", "4", "")
		first.is(w, "a:1>3 c:>4")
		second := w.join(maps) // a later Source gets all objects
		second.is(w, "a:>3 b:>2 c:>4")
		w.remove(i, "c")
		w.put(i, "b", "", "")
		for _, tl := range []*told{first, second} {
			tl.is(w, "b:2> c:4>")
		}
		(*i.cut.Load())() // the watch ends, and the next one gets 410
		i.expired.Store(true)
		w.remove(i, "a")
		w.put(i, "d", "5", "")
		w.put(i, "b", "6", "")
		first.is(w, "a:3> b:>6 d:>5")
		if got := maps.Get(controller.Name{Namespace: "kube-system", Name: "d"}); got.String() != "5" {
			t.Errorf("got %v", got)
		}
		if got := maps.Get(controller.Name{Name: "d"}); got != nil {
			t.Errorf("elsewhere: got %v", got)
		}
		n := 0
		maps.Each("kube-system", func(controller.Name, *view) { n++ })
		maps.Each("", func(controller.Name, *view) { n += 10 })
		maps.All(func(controller.Name, *view) { n += 100 })
		if n != 202 {
			t.Errorf("got %d, want two objects in the namespace, none outside, two of all", n)
		}
	})
}

// TestInformerIsNotComplete: Synced waits until the Informer has read all objects, or fails with
// its context.
func TestInformerIsNotComplete(t *testing.T) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		i := w.informers()
		i.stop()
		i.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := i.of().Synced(ctx); err == nil {
			t.Error("complete, although the run had ended before")
		}
	})
}

// kept is a view with strings in each sort of field.
type kept struct {
	Text   string
	List   []string
	Map    map[string]string
	Owner  *meta.OwnerReference
	Within struct{ Text string }
	inner
}

type inner struct{ Inside string }

// TestInformerKeepsNothingElse: a view does not keep the text of its object in memory.
func TestInformerKeepsNothingElse(t *testing.T) {
	const count, size = 50, 100 << 10
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		i := w.informers()
		for n := range count {
			_, err := i.maps.Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: meta.ObjectMeta{Name: fmt.Sprint("m", n), Labels: map[string]string{"a": "b"}, OwnerReferences: []meta.OwnerReference{
					{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u"},
				}},
				Data: map[string]string{"v": strings.Repeat("a", size)},
			}, meta.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := i.maps.List(t.Context(), meta.ListOptions{}); err != nil { // loads the server's cache, so that it does not count
			t.Fatal(err)
		}
		heap := func() int {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc)
		}
		before := heap()
		maps := controller.InformerOf(i.Informers, configMaps, func(m *corev1.ConfigMap) *kept {
			k := &kept{Text: m.Name, List: []string{m.Name}, Map: m.Labels, Owner: &m.OwnerReferences[0], inner: inner{m.Name}}
			k.Within.Text = m.Name
			return k
		})
		if err := maps.Synced(t.Context()); err != nil {
			t.Fatal(err)
		}
		if grown := heap() - before; grown > count*size/2 {
			t.Errorf("the heap has grown by %d bytes, and the objects have %d", grown, count*size)
		}
		k := maps.Get(controller.Name{Namespace: "kube-system", Name: "m7"})
		if k == nil || k.Text+k.List[0]+k.Within.Text+k.Inside != "m7m7m7m7" || k.Map["a"] != "b" || k.Owner.Name != "p" {
			t.Errorf("got %+v", k)
		}
	})
}
