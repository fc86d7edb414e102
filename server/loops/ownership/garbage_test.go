package ownership_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
)

// ref is a reference to an object. Flags: "block" sets blockOwnerDeletion.
func ref(owner *meta.PartialObjectMetadata, flags ...string) meta.OwnerReference {
	r := meta.OwnerReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
	if slices.Contains(flags, "block") {
		yes := true
		r.BlockOwnerDeletion = &yes
	}
	return r
}

// thing creates an object of the core group in a namespace; "" stands for that of w. It returns the
// fields that a reference to it needs.
func (w *world) thing(resource, namespace, name string, owners []meta.OwnerReference, finalizers ...string) *meta.PartialObjectMetadata {
	w.T.Helper()
	m := meta.ObjectMeta{Name: name, Namespace: namespace, OwnerReferences: owners, Finalizers: finalizers}
	var obj meta.Object
	switch resource {
	case "configmaps":
		obj = &corev1.ConfigMap{ObjectMeta: m}
	case "secrets":
		obj = &corev1.Secret{ObjectMeta: m}
	case "namespaces":
		obj = &corev1.Namespace{ObjectMeta: m}
	case "nodes":
		obj = &corev1.Node{ObjectMeta: m}
	}
	r := client.For[meta.Object](w.S.Client(), corev1.GroupVersion.WithResource(resource))
	if obj, err := r.In(namespace).Create(w.T.Context(), obj, meta.CreateOptions{}); err != nil {
		w.T.Fatal(err)
		return nil
	} else {
		return &meta.PartialObjectMetadata{TypeMeta: *obj.GetTypeMeta(), ObjectMeta: *obj.GetObjectMeta()}
	}
}

func (w *world) partial(resource, namespace string) client.Resource[*meta.PartialObjectMetadata] {
	return client.For[*meta.PartialObjectMetadata](w.S.Client(), corev1.GroupVersion.WithResource(resource)).In(namespace)
}

func (w *world) delete(resource, namespace, name string, policy meta.DeletionPropagation) {
	w.T.Helper()
	if err := w.partial(resource, namespace).Delete(w.T.Context(), name, meta.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		w.T.Fatal(err)
	}
}

// until waits until ok accepts the objects of a resource, which it gets by name.
func (w *world) until(what, resource, namespace string, ok func(map[string]*meta.PartialObjectMetadata) bool) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), 30*time.Second)
	defer cancel()
	objects := map[string]*meta.PartialObjectMetadata{}
	list, err := w.partial(resource, namespace).List(ctx, meta.ListOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, obj := range list.Items {
		objects[obj.Name] = obj
	}
	watch, err := w.partial(resource, namespace).Watch(ctx, meta.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		w.T.Fatal(err)
	}
	defer watch.Close()
	for !ok(objects) {
		ev, err := watch.Next()
		if err != nil {
			text, _ := json.Marshal(objects)
			w.T.Fatalf("waiting until %s: %v; there are %s", what, err, text)
		}
		if ev.Type == client.Deleted {
			delete(objects, ev.Object.Name)
		} else {
			objects[ev.Object.Name] = ev.Object
		}
	}
}

// untilOnly waits until the config maps in n are those with these names.
func (w *world) untilOnly(names ...string) {
	w.T.Helper()
	w.until(fmt.Sprintf("there are only %v", names), "configmaps", "n", func(objects map[string]*meta.PartialObjectMetadata) bool {
		for name := range objects {
			if !slices.Contains(names, name) && name != "kube-root-ca.crt" {
				return false
			}
		}
		for _, name := range names {
			if objects[name] == nil {
				return false
			}
		}
		return true
	})
}

// onEngines runs a test with a namespace n on several engines, with JSON and protobuf.
func onEngines(t *testing.T, test func(t *testing.T, w *world)) {
	for _, storage := range []server.StorageConfig{
		{Engine: server.StorageMemory}, {Engine: server.StorageEmbedded, Protobuf: true}, {Engine: server.StorageFile},
	} {
		t.Run(storage.Engine, func(t *testing.T) {
			w := start(t, server.Config{Storage: storage})
			w.CreateNamespace()
			test(t, w)
		})
	}
}

func TestBackground(t *testing.T) {
	onEngines(t, func(t *testing.T, w *world) {
		a := w.thing("configmaps", "n", "a", nil)
		b := w.thing("configmaps", "n", "b", []meta.OwnerReference{ref(a)})
		other := w.thing("secrets", "n", "other", nil)
		w.thing("configmaps", "n", "c", []meta.OwnerReference{ref(b)})
		w.thing("configmaps", "n", "two", []meta.OwnerReference{ref(a), ref(other)})
		w.thing("configmaps", "n", "free", nil)
		w.delete("configmaps", "n", "a", meta.DeletePropagationBackground)
		w.untilOnly("two", "free")
		w.until("two forgets its first owner", "configmaps", "n", func(objects map[string]*meta.PartialObjectMetadata) bool {
			two := objects["two"]
			return two != nil && len(two.OwnerReferences) == 1 && two.OwnerReferences[0].UID == other.UID
		})
		w.delete("secrets", "n", "other", meta.DeletePropagationBackground)
		w.untilOnly("free")
	})
}

func TestForeground(t *testing.T) {
	onEngines(t, func(t *testing.T, w *world) {
		a := w.thing("configmaps", "n", "a", nil)
		b := w.thing("configmaps", "n", "b", []meta.OwnerReference{ref(a, "block")})
		w.thing("configmaps", "n", "c", []meta.OwnerReference{ref(b, "block")}, "example.com/held")
		w.thing("configmaps", "n", "loose", []meta.OwnerReference{ref(a)}, "example.com/held")
		w.delete("configmaps", "n", "a", meta.DeletePropagationForeground)
		w.until("all are going", "configmaps", "n", func(objects map[string]*meta.PartialObjectMetadata) bool {
			for _, name := range []string{"a", "b", "c", "loose"} {
				if objects[name] == nil || objects[name].DeletionTimestamp == nil {
					return false
				}
			}
			return true
		})
		w.release("configmaps", "c")
		w.untilOnly("loose") // its reference does not block the deletion
		w.release("configmaps", "loose")
		w.untilOnly()
	})
}

func TestOrphan(t *testing.T) {
	onEngines(t, func(t *testing.T, w *world) {
		a := w.thing("configmaps", "n", "a", nil)
		other := w.thing("configmaps", "n", "other", nil)
		for i := range 50 {
			w.thing("configmaps", "n", fmt.Sprint("d", i), []meta.OwnerReference{ref(a, "block"), ref(other)})
		}
		w.thing("configmaps", "n", "going", []meta.OwnerReference{ref(a)}, "example.com/held")
		w.delete("configmaps", "n", "going", meta.DeletePropagationBackground)
		w.delete("configmaps", "n", "a", meta.DeletePropagationOrphan)
		w.until("all have forgotten a", "configmaps", "n", func(objects map[string]*meta.PartialObjectMetadata) bool {
			for _, obj := range objects {
				if slices.ContainsFunc(obj.OwnerReferences, func(r meta.OwnerReference) bool { return r.UID == a.UID }) {
					return false
				}
			}
			return objects["a"] == nil && len(objects) >= 52
		})
	})
}

func TestCycle(t *testing.T) {
	onEngines(t, func(t *testing.T, w *world) {
		// Each object owns the next one, and the last one owns the first.
		const size = 4
		link := func(name string, owner *meta.PartialObjectMetadata) {
			patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []meta.OwnerReference{ref(owner, "block")}}})
			if _, err := w.partial("configmaps", "n").Patch(t.Context(), name, client.MergePatch, patch, meta.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, policy := range []meta.DeletionPropagation{meta.DeletePropagationForeground, meta.DeletePropagationBackground} {
			first := w.thing("configmaps", "n", "c0", nil)
			last := first
			for i := 1; i < size; i++ {
				last = w.thing("configmaps", "n", fmt.Sprint("c", i), []meta.OwnerReference{ref(last, "block")})
			}
			link("c0", last)
			w.delete("configmaps", "n", "c1", policy)
			w.untilOnly()
		}
		self := w.thing("configmaps", "n", "self", nil)
		link("self", self)
		w.delete("configmaps", "n", "self", meta.DeletePropagationForeground)
		w.untilOnly()
	})
}

// TestAbsentOwners has references to owners that do not exist, that exist in another namespace, and
// whose name another object has.
func TestAbsentOwners(t *testing.T) {
	onEngines(t, func(t *testing.T, w *world) {
		w.thing("namespaces", "", "m", nil)
		node := w.thing("nodes", "", "node", nil)
		a := w.thing("configmaps", "n", "a", nil)
		elsewhere := w.thing("configmaps", "m", "elsewhere", nil)
		wrong := func(change func(r *meta.OwnerReference)) []meta.OwnerReference {
			r := ref(a)
			change(&r)
			return []meta.OwnerReference{r}
		}
		w.thing("configmaps", "n", "never", wrong(func(r *meta.OwnerReference) { r.Name = "never-there" }))
		w.thing("configmaps", "n", "uid", wrong(func(r *meta.OwnerReference) { r.UID = "another" }))
		w.thing("configmaps", "n", "kind", wrong(func(r *meta.OwnerReference) { r.Kind = "Secret" }))
		w.thing("configmaps", "n", "namespace", []meta.OwnerReference{ref(elsewhere)})
		w.thing("configmaps", "n", "nokind", wrong(func(r *meta.OwnerReference) { r.Kind = "Unheard" }))
		w.thing("configmaps", "n", "noversion", wrong(func(r *meta.OwnerReference) { r.APIVersion = "v7" }))
		w.thing("configmaps", "n", "noname", wrong(func(r *meta.OwnerReference) { r.Name = "a/b" }))
		w.thing("configmaps", "n", "cluster", []meta.OwnerReference{ref(node)})
		w.thing("nodes", "", "misplaced", []meta.OwnerReference{ref(a)})
		w.untilOnly("a", "nokind", "noversion", "noname", "cluster")
		w.until("events say what is in the wrong place", "events", "n", func(events map[string]*meta.PartialObjectMetadata) bool {
			return w.hasEvent("n", fmt.Sprintf(`ConfigMap namespace: ownerRef [v1/ConfigMap, namespace: n, name: elsewhere, uid: %s] does not exist in namespace "n"`, elsewhere.UID))
		})
		w.until("events say what is in no place", "events", "default", func(events map[string]*meta.PartialObjectMetadata) bool {
			return w.hasEvent("default", fmt.Sprintf(`Node misplaced: ownerRef [v1/ConfigMap, namespace: , name: a, uid: %s] does not exist in namespace ""`, a.UID))
		})
		w.delete("configmaps", "n", "a", meta.DeletePropagationBackground)
		w.delete("nodes", "", "node", meta.DeletePropagationBackground)
		w.untilOnly("nokind", "noversion", "noname")
		if _, err := w.partial("nodes", "").Get(t.Context(), "misplaced", meta.GetOptions{}); err != nil {
			t.Errorf("a node is collected for a config map: %v", err)
		}
	})
}

// hasEvent reports whether there is an event OwnerRefInvalidNamespace. want is the kind and name of
// its object, and its message.
func (w *world) hasEvent(namespace, want string) bool {
	w.T.Helper()
	events, err := client.For[*corev1.Event](w.S.Client(), corev1.GroupVersion.WithResource("events")).In(namespace).List(w.T.Context(), meta.ListOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	return slices.ContainsFunc(events.Items, func(e *corev1.Event) bool {
		return e.Reason == "OwnerRefInvalidNamespace" && e.Type == corev1.EventTypeWarning && e.Source.Component == "garbage-collector-controller" &&
			e.InvolvedObject.Kind+" "+e.InvolvedObject.Name+": "+e.Message == want
	})
}

// TestOwnerComesAnew creates an object with the name of a deleted owner: its UID differs, so it is
// not the owner.
func TestOwnerComesAnew(t *testing.T) {
	onEngines(t, func(t *testing.T, w *world) {
		a := w.thing("configmaps", "n", "a", nil)
		for range 5 {
			w.thing("configmaps", "n", "d", []meta.OwnerReference{ref(a)})
			w.delete("configmaps", "n", "a", meta.DeletePropagationBackground)
			a = w.thing("configmaps", "n", "a", nil)
			w.untilOnly("a")
		}
	})
}

// TestCollectorLeftOut: without the collector, dependents of deleted owners stay.
func TestCollectorLeftOut(t *testing.T) {
	for _, list := range [][]string{{}, {"*", "-garbage-collector-controller"}, {"-garbagecollector", "*"}} {
		w := start(t, server.Config{Storage: server.StorageConfig{Engine: server.StorageMemory}, Controllers: list})
		w.CreateNamespace()
		a := w.thing("configmaps", "n", "a", nil)
		w.thing("configmaps", "n", "d", []meta.OwnerReference{ref(a)})
		w.delete("configmaps", "n", "a", meta.DeletePropagationForeground)
		obj, err := w.partial("configmaps", "n").Get(t.Context(), "a", meta.GetOptions{})
		if err != nil || !slices.Contains(obj.Finalizers, "foregroundDeletion") {
			t.Errorf("controllers %q: got %v, %v, want a still waiting", list, obj, err)
		}
	}
}
