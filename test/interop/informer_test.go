package interop

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// journal records the calls to the handlers of an informer of ConfigMaps, by name.
type journal struct {
	mu      sync.Mutex
	states  map[string][]string // "n" of the data, or "gone"
	resyncs int
	wrong   []string
}

func (j *journal) handler() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { cm := o.(*corev1.ConfigMap); j.add(cm.Name, cm.Data["n"]) },
		UpdateFunc: func(before, o any) {
			old, cm := before.(*corev1.ConfigMap), o.(*corev1.ConfigMap)
			if old.ResourceVersion == cm.ResourceVersion {
				j.mu.Lock()
				j.resyncs++
				j.mu.Unlock()
				return
			}
			j.add(cm.Name, cm.Data["n"])
		},
		DeleteFunc: func(o any) {
			if tomb, ok := o.(cache.DeletedFinalStateUnknown); ok {
				j.mu.Lock()
				j.wrong = append(j.wrong, "missed the deletion of "+tomb.Key)
				j.mu.Unlock()
				return
			}
			j.add(o.(*corev1.ConfigMap).Name, "gone")
		},
	}
}

func (j *journal) add(name, state string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.states == nil {
		j.states = map[string][]string{}
	}
	j.states[name] = append(j.states[name], state)
}

// is returns an error if the recorded states of an object differ from want.
func (j *journal) is(name string, want ...string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if got := strings.Join(j.states[name], " "); got != strings.Join(want, " ") {
		return fmt.Errorf("%s: got %q, want %q", name, got, want)
	}
	return nil
}

// startInformer runs an informer of ConfigMaps until the test ends, as a factory of informers does.
func startInformer(t *testing.T, c kubernetes.Interface, ns string, resync time.Duration, j *journal) cache.SharedIndexInformer {
	t.Helper()
	informer := informers.NewConfigMapInformer(c, ns, resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if _, err := informer.AddEventHandler(j.handler()); err != nil {
		t.Fatal(err)
	}
	background(t, informer.RunWithContext)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer has not synced")
	}
	return informer
}

func TestInformer(t *testing.T) {
	t.Parallel()
	config := shared.config(t)
	seen := watchRequests(config)
	c := clientset(t, config)
	ns := namespace(t, c)
	maps := c.CoreV1().ConfigMaps(ns)
	ctx := t.Context()
	for i := range 5 {
		if _, err := maps.Create(ctx, configMap(fmt.Sprintf("c%d", i), "n", "0"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	seen.take()
	var j journal
	informer := startInformer(t, c, ns, time.Second, &j)
	for _, x := range seen.take() {
		if !strings.Contains(x.query, "sendInitialEvents=true") || x.status != 200 {
			t.Errorf("the informer did not stream its list: %v", x)
		}
	}
	lister := listers.NewConfigMapLister(informer.GetIndexer()).ConfigMaps(ns)
	if all, err := lister.List(labels.Everything()); err != nil || len(all) != 5 {
		t.Errorf("the informer lists %d, %v; want 5", len(all), err)
	}
	for i := 1; i <= 3; i++ {
		cm, err := maps.Get(ctx, "c1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cm.Data["n"] = strconv.Itoa(i)
		if _, err := maps.Update(ctx, cm, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := maps.Delete(ctx, "c1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func() error { return j.is("c1", "0", "1", "2", "3", "gone") })
	eventually(t, 10*time.Second, func() error {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.resyncs == 0 {
			return fmt.Errorf("no resync")
		}
		return nil
	})
}

// TestInformerOfList is TestInformer for clients that list first, in pages.
func TestInformerOfList(t *testing.T) {
	t.Parallel()
	c := shared.client(t)
	ns := namespace(t, c)
	maps := c.CoreV1().ConfigMaps(ns)
	for i := range 12 {
		if _, err := maps.Create(t.Context(), configMap(fmt.Sprintf("c%02d", i), "n", "0"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var j journal
	lw := cache.NewFilteredListWatchFromClient(c.CoreV1().RESTClient(), "configmaps", ns, func(o *metav1.ListOptions) {
		if !o.Watch && o.ResourceVersion != "0" {
			o.Limit = 5
		}
	})
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: lw, ObjectType: &corev1.ConfigMap{}, Handler: j.handler(),
	})
	background(t, controller.RunWithContext)
	eventually(t, 10*time.Second, func() error {
		if n := len(store.ListKeys()); n != 12 {
			return fmt.Errorf("got %d objects, want 12", n)
		}
		return nil
	})
	if err := maps.Delete(t.Context(), "c05", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func() error { return j.is("c05", "0", "gone") })
}

// TestInformerSurvivesRestarts kills the server under an informer. The informer resumes its watch:
// it misses no change and does not list again.
func TestInformerSurvivesRestarts(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	config := s.config(t)
	seen := watchRequests(config)
	c := s.client(t)
	ns := namespace(t, c)
	maps := c.CoreV1().ConfigMaps(ns)
	ctx := t.Context()
	var j journal
	startInformer(t, clientset(t, config), ns, 0, &j)
	cm, err := maps.Create(ctx, configMap("a", "n", "0"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"0"}
	eventually(t, 10*time.Second, func() error { return j.is("a", want...) })
	seen.take()
	const rounds = 2
	for round := range rounds {
		s.kill()
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		// These changes are made before the informer watches again, because it waits a second after
		// the watch broke.
		for i := range 5 {
			n := fmt.Sprintf("%d.%d", round, i)
			cm.Data["n"] = n
			if cm, err = maps.Update(ctx, cm, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			want = append(want, n)
		}
		name := fmt.Sprintf("short-%d", round)
		if _, err := maps.Create(ctx, configMap(name, "n", "1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, 20*time.Second, func() error { return j.is("a", want...) })
		eventually(t, 20*time.Second, func() error { return j.is(name, "1", "gone") })
	}
	if len(j.wrong) > 0 {
		t.Error(j.wrong)
	}
	for _, x := range seen.take() {
		if !x.watches() || strings.Contains(x.query, "sendInitialEvents") {
			t.Errorf("the informer listed again: %v", x)
		}
	}
}
