package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// hookedStore is a sharedStore that can call a function after a write.
type hookedStore struct {
	sharedStore
	// charged, if set, is called once, when a budget has been written.
	charged atomic.Pointer[func()]
}

func (l *hookedStore) Put(ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID) (storage.Entry, error) {
	e, err := l.Store.Put(ctx, key, value, pre, lease)
	if err == nil && pre.Rev != 0 && strings.Contains(key, "/poddisruptionbudgets/") {
		if charged := l.charged.Swap(nil); charged != nil {
			(*charged)()
		}
	}
	return e, err
}

// evictor is a server that evicts the pods of the namespace default.
type evictor struct {
	t      *testing.T
	s      *servertest.Server
	client *client.Client
}

func newEvictor(t *testing.T, store storage.Store) *evictor {
	t.Helper()
	s := servertest.Start(t, server.Config{
		Storage: server.StorageConfig{Store: store}, Controllers: []string{},
		Admission: plugins.Config{Disable: []string{"ServiceAccount"}}, // no controller creates service accounts
		Serving:   server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
	})
	return &evictor{t, s, s.Server.Client()}
}

func (e *evictor) pods() client.Resource[*corev1.Pod] {
	return client.For[*corev1.Pod](e.client, corev1.GroupVersion.WithResource("pods")).In("default")
}

func (e *evictor) budgets() client.Resource[*policyv1.PodDisruptionBudget] {
	return client.For[*policyv1.PodDisruptionBudget](e.client, policyv1.GroupVersion.WithResource("poddisruptionbudgets")).In("default")
}

// run creates a pod that is running and ready.
func (e *evictor) run(name string) *corev1.Pod {
	e.t.Helper()
	pod, err := e.pods().Create(e.t.Context(), &corev1.Pod{
		ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"app": "a"}},
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, meta.CreateOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if pod, err = e.pods().UpdateStatus(e.t.Context(), pod, meta.UpdateOptions{}); err != nil {
		e.t.Fatal(err)
	}
	return pod
}

// allow creates a budget for all pods that allows this many disruptions.
func (e *evictor) allow(disruptions int32) {
	e.t.Helper()
	one := meta.FromInt32(1)
	b, err := e.budgets().Create(e.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: meta.ObjectMeta{Name: "b"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &meta.LabelSelector{}},
	}, meta.CreateOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, DisruptionsAllowed: disruptions, CurrentHealthy: 1000}
	if _, err := e.budgets().UpdateStatus(e.t.Context(), b, meta.UpdateOptions{}); err != nil {
		e.t.Fatal(err)
	}
}

func (e *evictor) evict(name string, opts *meta.DeleteOptions) error {
	return e.send(name, policyv1.Eviction{ObjectMeta: meta.ObjectMeta{Name: name}, DeleteOptions: opts})
}

// send sends the body of an eviction. An answer other than success is returned as an error.
func (e *evictor) send(name string, eviction any) error {
	e.t.Helper()
	body, err := json.Marshal(eviction)
	if err != nil {
		return err
	}
	resp, err := e.s.Client.Post(e.s.URL+"/api/v1/namespaces/default/pods/"+name+"/eviction", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var status meta.Status
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		return err
	}
	if status.Status != meta.StatusSuccess {
		return &meta.StatusError{Status: status}
	}
	return nil
}

// TestOldEviction: bodies of policy/v1beta1 are accepted, bodies of other versions are not.
func TestOldEviction(t *testing.T) {
	store := memory.New(memory.Config{})
	defer store.Close()
	e := newEvictor(t, &hookedStore{sharedStore: sharedStore{store}})
	e.run("p")
	body := func(apiVersion, kind string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "p"}}
	}
	for _, wrong := range []map[string]any{body("policy/v2", "Eviction"), body("policy/v1", "PodDisruptionBudget"), body("v1", "Binding")} {
		if err := e.send("p", wrong); !meta.IsBadRequest(err) {
			t.Errorf("%v: got %v, want that it is refused", wrong, err)
		}
	}
	if err := e.send("p", body("policy/v1beta1", "Eviction")); err != nil {
		t.Error(err)
	}
}

// TestEvictionDryRun: if the body of an eviction asks for a dry run, the pod stays and the budget
// is not charged.
func TestEvictionDryRun(t *testing.T) {
	store := memory.New(memory.Config{})
	defer store.Close()
	e := newEvictor(t, &hookedStore{sharedStore: sharedStore{store}})
	pod := e.run("p")
	e.allow(5)
	if err := e.evict("p", &meta.DeleteOptions{DryRun: []string{meta.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	after, err := e.pods().Get(t.Context(), "p", meta.GetOptions{})
	if err != nil || after.ResourceVersion != pod.ResourceVersion {
		t.Errorf("the pod changed: %v", err)
	}
	b, err := e.budgets().Get(t.Context(), "b", meta.GetOptions{})
	if err != nil || b.Status.DisruptionsAllowed != 5 || len(b.Status.DisruptedPods) > 0 {
		t.Errorf("the budget: got %+v, %v, want 5 disruptions allowed and no pod named", b, err)
	}
}

// TestTwoEvictors: two servers evict pods of one budget as fast as they can. The budget is charged
// for each evicted pod, and never beyond what it allows.
func TestTwoEvictors(t *testing.T) {
	const allowed, pods, workers = 100, 120, 4
	store := memory.New(memory.Config{})
	defer store.Close()
	servers := []*evictor{newEvictor(t, &hookedStore{sharedStore: sharedStore{store}}), newEvictor(t, &hookedStore{sharedStore: sharedStore{store}})}
	for i := range pods {
		servers[0].run(fmt.Sprintf("p%d", i))
	}
	servers[0].allow(allowed)
	var evicted, refused atomic.Int32
	var wg sync.WaitGroup
	for w := range 2 * workers {
		wg.Go(func() {
			for i := w; i < pods; i += 2 * workers {
				switch err := servers[w%2].evict(fmt.Sprintf("p%d", i), nil); {
				case err == nil:
					evicted.Add(1)
				case meta.IsTooManyRequests(err):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b, err := servers[1].budgets().Get(t.Context(), "b", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if evicted.Load() != allowed || refused.Load() != pods-allowed || b.Status.DisruptionsAllowed != 0 || len(b.Status.DisruptedPods) != allowed {
		t.Errorf("%d were evicted, %d refused; the budget allows %d more and names %d pods; want %d and %d, 0 and %d", evicted.Load(),
			refused.Load(), b.Status.DisruptionsAllowed, len(b.Status.DisruptedPods), allowed, pods-allowed, allowed)
	}
}

// TestChargeIsGivenBack: a pod changes after the budget was charged, so that its deletion is
// refused. The charge is refunded, unless the budget has changed since.
func TestChargeIsGivenBack(t *testing.T) {
	for _, touched := range []bool{false, true} {
		store := &hookedStore{sharedStore: sharedStore{memory.New(memory.Config{})}}
		e := newEvictor(t, store)
		pod := e.run("p")
		e.allow(5)
		charged := func() {
			if _, err := e.pods().Patch(t.Context(), "p", client.MergePatch, []byte(`{"metadata":{"labels":{"more":"x"}}}`), meta.PatchOptions{}); err != nil {
				t.Error(err)
			}
			if touched {
				if _, err := e.budgets().Patch(t.Context(), "b", client.MergePatch, []byte(`{"metadata":{"labels":{"more":"x"}}}`), meta.PatchOptions{}); err != nil {
					t.Error(err)
				}
			}
		}
		store.charged.Store(&charged)
		err := e.evict("p", &meta.DeleteOptions{Preconditions: &meta.Preconditions{ResourceVersion: &pod.ResourceVersion}})
		if !meta.IsConflict(err) {
			t.Fatalf("got %v, want a conflict", err)
		}
		b, err := e.budgets().Get(t.Context(), "b", meta.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		allowed, disrupted := int32(5), 0
		if touched {
			allowed, disrupted = 4, 1
		}
		if b.Status.DisruptionsAllowed != allowed || len(b.Status.DisruptedPods) != disrupted {
			t.Errorf("touched: %t: got %+v, want %d disruptions allowed and %d pods named", touched, b.Status, allowed, disrupted)
		}
		if _, err := e.pods().Get(t.Context(), "p", meta.GetOptions{}); err != nil {
			t.Error(err)
		}
		store.Store.Close()
	}
}
