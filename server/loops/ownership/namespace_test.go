package ownership_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest/looptest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

func (w *world) configMap(name string, finalizers ...string) {
	w.T.Helper()
	looptest.Create(w, "configmaps", &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: name, Finalizers: finalizers}})
}

func (w *world) pod(name, node string, finalizers ...string) {
	w.T.Helper()
	looptest.Create(w, "pods", &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: name, Finalizers: finalizers},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}}})
}

func (w *world) namespaces() client.Resource[*corev1.Namespace] {
	return looptest.Of[*corev1.Namespace](w, "namespaces")
}

// release removes the finalizers of an object in n.
func (w *world) release(resource, name string) {
	w.T.Helper()
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := looptest.Of[*meta.PartialObjectMetadata](w, resource).Patch(w.T.Context(), name, client.MergePatch, patch, meta.PatchOptions{}); err != nil {
		w.T.Fatal(err)
	}
}

// await watches the namespace until ok accepts it; nil stands for a deleted namespace.
func (w *world) await(what string, ok func(ns *corev1.Namespace) bool) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), 30*time.Second)
	defer cancel()
	watch, err := w.namespaces().Watch(ctx, meta.ListOptions{FieldSelector: "metadata.name=n"})
	if err != nil {
		w.T.Fatal(err)
	}
	defer watch.Close()
	if _, err := w.namespaces().Get(ctx, "n", meta.GetOptions{}); meta.IsNotFound(err) && ok(nil) {
		return
	}
	for {
		ev, err := watch.Next()
		if err != nil {
			w.T.Fatalf("waiting for %s: %v", what, err)
		}
		if ev.Type == client.Deleted {
			ev.Object = nil
		}
		if ok(ev.Object) {
			return
		}
	}
}

func gone(ns *corev1.Namespace) bool { return ns == nil }

func (w *world) count(resource string) int {
	w.T.Helper()
	list, err := looptest.Of[*meta.PartialObjectMetadata](w, resource).List(w.T.Context(), meta.ListOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	return len(list.Items)
}

// condition returns "status reason: message" of a condition.
func condition(ns *corev1.Namespace, typ string) string {
	if ns == nil {
		return "gone"
	}
	for _, c := range ns.Status.Conditions {
		if string(c.Type) == typ {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

func TestEmptyNamespace(t *testing.T) {
	w := start(t, server.Config{})
	w.CreateNamespace()
	w.DeleteNamespace()
	w.await("the end", gone)
}

func TestFullNamespace(t *testing.T) {
	w := start(t, server.Config{})
	w.CreateNamespace()
	for i := range 20 {
		w.configMap(fmt.Sprintf("c%d", i))
		w.pod(fmt.Sprintf("p%d", i), "")
		looptest.Create(w, "secrets", &corev1.Secret{ObjectMeta: meta.ObjectMeta{Name: fmt.Sprintf("s%d", i)}})
	}
	w.DeleteNamespace()
	w.await("the end", gone)
	for _, r := range []string{"configmaps", "pods", "secrets"} {
		if n := w.count(r); n != 0 {
			t.Errorf("%d %s are left", n, r)
		}
	}
	w.CreateNamespace()
	w.configMap("again")
}

// TestFinalizersHold checks the conditions while an object has a finalizer, and that the namespace
// is gone when none has.
func TestFinalizersHold(t *testing.T) {
	w := start(t, server.Config{Controllers: []string{"namespace"}})
	w.CreateNamespace()
	w.configMap("plain")
	w.configMap("held", "example.com/a")
	w.DeleteNamespace()
	w.await("the conditions", func(ns *corev1.Namespace) bool {
		if ns == nil {
			t.Fatal("the namespace is gone, and the object in it is not")
		}
		return strings.HasPrefix(condition(ns, "NamespaceFinalizersRemaining"), "True")
	})
	w.await("the state", func(ns *corev1.Namespace) bool {
		for typ, want := range map[string]string{
			"NamespaceDeletionDiscoveryFailure":           "False ResourcesDiscovered: All resources successfully discovered",
			"NamespaceDeletionGroupVersionParsingFailure": "False ParsedGroupVersions: All legacy kube types successfully parsed",
			"NamespaceDeletionContentFailure":             "False ContentDeleted: All content successfully deleted, may be waiting on finalization",
			"NamespaceContentRemaining":                   "True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
			"NamespaceFinalizersRemaining":                "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/a in 1 resource instances",
		} {
			if got := condition(ns, typ); got != want {
				t.Errorf("%s: got %q, want %q", typ, got, want)
			}
		}
		return true
	})
	if n := w.count("configmaps"); n != 1 {
		t.Errorf("%d config maps are left, want the one with a finalizer", n)
	}
	w.release("configmaps", "held")
	w.await("the end", gone)
}

// TestUnreadableHolds: an object that cannot be read keeps its namespace, whose condition names it,
// until the object is deleted with the option to ignore read errors.
func TestUnreadableHolds(t *testing.T) {
	store := memory.New(memory.Config{})
	w := start(t, server.Config{Storage: server.StorageConfig{Store: store}})
	w.CreateNamespace()
	w.configMap("good")
	for i := range 12 {
		if _, err := store.Put(t.Context(), fmt.Sprintf("/registry/configmaps/n/bad%02d", i), []byte("}{"), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	looptest.Create(w, "secrets", &corev1.Secret{ObjectMeta: meta.ObjectMeta{Name: "good"}})
	w.DeleteNamespace()
	w.await("the condition", func(ns *corev1.Namespace) bool {
		failure := condition(ns, "NamespaceDeletionContentFailure")
		return strings.HasPrefix(failure, "True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: "+
			"failed to read one or more configmaps from the storage: configmaps n/bad00: ") &&
			strings.Contains(failure, "configmaps n/bad09: ") && strings.HasSuffix(failure, ", ...")
	})
	if n := w.count("secrets"); n != 0 {
		t.Errorf("%d secrets are left, want only config maps to be held", n)
	}
	yes := true
	for i := range 12 {
		err := looptest.Of[*corev1.ConfigMap](w, "configmaps").Delete(t.Context(), fmt.Sprintf("bad%02d", i),
			meta.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: &yes})
		if err != nil {
			t.Error(err)
		}
	}
	w.await("the end", gone)
}

// TestPodsGoFirst: while a pod terminates, no other object is deleted.
func TestPodsGoFirst(t *testing.T) {
	w := start(t, server.Config{Controllers: []string{"namespace"}})
	w.CreateNamespace()
	w.configMap("needed")
	w.pod("slow", "node", "example.com/slow")
	w.DeleteNamespace()
	w.await("the conditions", func(ns *corev1.Namespace) bool {
		return strings.Contains(condition(ns, "NamespaceContentRemaining"), "pods. has 1")
	})
	if n := w.count("configmaps"); n != 1 {
		t.Errorf("%d config maps are left while a pod ends, want 1", n)
	}
	zero := int64(0)
	if err := looptest.Of[*corev1.Pod](w, "pods").Delete(t.Context(), "slow", meta.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	w.release("pods", "slow")
	w.await("the end", gone)
}

// refusingPlugin is a plugin that rejects the deletion of config maps while on is set.
type refusingPlugin struct{ on atomic.Bool }

func (*refusingPlugin) Name() string                        { return "Stubborn" }
func (*refusingPlugin) Handles(op admission.Operation) bool { return op == admission.Delete }

func (s *refusingPlugin) Validate(_ context.Context, a *admission.Attributes) error {
	if s.on.Load() && a.Resource.Resource == "configmaps" {
		return a.Forbidden("not now")
	}
	return nil
}

// TestFailureShows: the status of a namespace shows the failure that keeps it, and the controller
// tries again.
func TestFailureShows(t *testing.T) {
	p := &refusingPlugin{}
	p.on.Store(true)
	w := start(t, server.Config{Admission: plugins.Config{
		Plugins: []plugins.Plugin{{Name: p.Name(), Make: func(registry.Stores, []byte) (admission.Plugin, error) { return p, nil }}},
	}})
	w.CreateNamespace()
	w.configMap("c")
	w.DeleteNamespace()
	w.await("the conditions", func(ns *corev1.Namespace) bool {
		c := condition(ns, "NamespaceDeletionContentFailure")
		return strings.HasPrefix(c, "True ContentDeletionFailed: ") && strings.Contains(c, "not now")
	})
	p.on.Store(false)
	w.await("the end", gone)
}

// blockingPlugin is a plugin that blocks deletions of config maps until one has begun in each of
// several namespaces.
type blockingPlugin struct {
	mu      sync.Mutex
	missing map[string]bool // namespaces
	all     chan struct{}   // closed when none is missing
}

func (*blockingPlugin) Name() string                        { return "Together" }
func (*blockingPlugin) Handles(op admission.Operation) bool { return op == admission.Delete }

func (p *blockingPlugin) Validate(ctx context.Context, a *admission.Attributes) error {
	if a.Resource.Resource != "configmaps" {
		return nil
	}
	p.mu.Lock()
	if p.missing[a.Namespace] {
		if delete(p.missing, a.Namespace); len(p.missing) == 0 {
			close(p.all)
		}
	}
	p.mu.Unlock()
	select {
	case <-p.all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestNamespacesGoTogether: several namespaces are emptied in parallel.
func TestNamespacesGoTogether(t *testing.T) {
	names := []string{"n", "m", "o"}
	p := &blockingPlugin{missing: map[string]bool{"n": true, "m": true, "o": true}, all: make(chan struct{})}
	w := start(t, server.Config{Admission: plugins.Config{
		Plugins: []plugins.Plugin{{Name: p.Name(), Make: func(registry.Stores, []byte) (admission.Plugin, error) { return p, nil }}},
	}})
	for _, name := range names {
		looptest.Create(w, "namespaces", &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}})
		looptest.Create(w, "configmaps", &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Namespace: name, Name: "c"}})
	}
	for _, name := range names {
		if err := w.namespaces().Delete(t.Context(), name, meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.await("the end", gone)
}

// TestNoNewContent: no object can be created in a namespace that is being deleted.
func TestNoNewContent(t *testing.T) {
	w := start(t, server.Config{})
	w.CreateNamespace()
	w.configMap("held", "example.com/a")
	w.DeleteNamespace()
	_, err := looptest.Of[*corev1.ConfigMap](w, "configmaps").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "late"}}, meta.CreateOptions{})
	if !meta.IsForbidden(err) {
		t.Errorf("got %v, want 403", err)
	}
	w.release("configmaps", "held")
	w.await("the end", gone)
}

// TestControllerLeftOut: without the controller, a deleted namespace stays.
func TestControllerLeftOut(t *testing.T) {
	for _, list := range [][]string{{}, {"-namespace"}, {"*", "-namespace-controller"}, {"-namespace", "*"}} {
		w := start(t, server.Config{Controllers: list})
		w.CreateNamespace()
		w.DeleteNamespace()
		ns, err := w.namespaces().Get(t.Context(), "n", meta.GetOptions{})
		if err != nil || ns.Status.Phase != corev1.NamespaceTerminating || len(ns.Status.Conditions) > 0 {
			t.Errorf("controllers %q: got %v, %v, want it as it was", list, ns, err)
		}
	}
}

// TestWokenByWhatGoes: a namespace that waits is deleted as soon as its last object is, long before
// its next pass, and also while other namespaces wait.
func TestWokenByWhatGoes(t *testing.T) {
	w := start(t, server.Config{})
	names := []string{"n", "m", "o"}
	for _, name := range names {
		looptest.Create(w, "namespaces", &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}})
		for _, held := range []string{"first", "last"} {
			looptest.Create(w, "configmaps", &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Namespace: name, Name: held, Finalizers: []string{"example.com/a"}}})
		}
		if err := w.namespaces().Delete(t.Context(), name, meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	message := "True SomeResourcesRemain: Some resources are remaining: configmaps. has %d resource instances"
	w.await("two remain", func(ns *corev1.Namespace) bool {
		return condition(ns, "NamespaceContentRemaining") == fmt.Sprintf(message, 2)
	})
	begun := time.Now()
	w.release("configmaps", "first")
	w.await("one remains", func(ns *corev1.Namespace) bool {
		return condition(ns, "NamespaceContentRemaining") == fmt.Sprintf(message, 1)
	})
	w.release("configmaps", "last")
	w.await("the end", gone)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	list, err := w.namespaces().List(t.Context(), meta.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, ns := range list.Items {
		if ns.Status.Phase == corev1.NamespaceTerminating {
			left++
		}
	}
	if left != 2 {
		t.Errorf("%d namespaces wait, want 2", left)
	}
}

// TestUnexpectedItems: if an object stays although nothing is known to hold it, the condition has
// an error about it.
func TestUnexpectedItems(t *testing.T) {
	w := start(t, server.Config{})
	w.CreateNamespace()
	w.pod("bound", "node") // the pod has a grace period, and no kubelet ends it
	w.DeleteNamespace()
	w.await("the pod is waited for", func(ns *corev1.Namespace) bool {
		return condition(ns, "NamespaceContentRemaining") == "True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances" &&
			strings.HasPrefix(condition(ns, "NamespaceDeletionContentFailure"), "False")
	})
	one := int64(1)
	if err := looptest.Of[*corev1.Pod](w, "pods").Delete(t.Context(), "bound", meta.DeleteOptions{GracePeriodSeconds: &one}); err != nil {
		t.Fatal(err)
	}
	w.await("it should be gone", func(ns *corev1.Namespace) bool {
		if condition(ns, "NamespaceDeletionContentFailure") == "True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: "+
			"failed to delete pods for namespace: n, err: unexpected items still remain in namespace: n for gvr: /v1, Resource=pods" {
			return true
		}
		_, err := looptest.Of[*meta.PartialObjectMetadata](w, "namespaces").Patch(t.Context(), "n", client.MergePatch,
			fmt.Appendf(nil, `{"metadata":{"labels":{"touch":"%d"}}}`, time.Now().UnixNano()), meta.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return false
	})
	zero := int64(0)
	if err := looptest.Of[*corev1.Pod](w, "pods").Delete(t.Context(), "bound", meta.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	w.await("the end", gone)
}
