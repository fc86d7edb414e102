package ownership_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/storagetest"
)

// Boats are a resource that is installed and removed during the test.
const boatVersion = "boats.example.com/v1"

var boatName = meta.GroupResource{Group: "boats.example.com", Resource: "boats"}

func boats(t testing.TB) server.Group {
	t.Helper()
	s, errs := schema.Parse(nil, []byte(`{"type":"object","properties":{"spec":{"type":"object"}}}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	k, err := kind.Dynamic{
		GroupKind: meta.GroupKind{Group: boatName.Group, Kind: modelBoat}, Hub: "v1", Versions: []kind.DynamicVersion{{Name: "v1", Schema: s}},
	}.New()
	if err != nil {
		t.Fatal(err)
	}
	return server.Group{Name: boatName.Group, Resources: []registry.Resource{registry.Typed(registry.ResourceOf[*scheme.Unstructured]{
		GroupResource: boatName, Kind: modelBoat, Namespaced: true, Type: k, StorageVersion: "v1", Custom: true, ReturnsDeleted: true,
	})}}
}

// reusedStore is a store whose Close does nothing, because several servers use it in turn.
type reusedStore struct{ storage.Store }

func (reusedStore) Close() error { return nil }

// modelRun has a store with random graphs. One server after the other works on it and is killed.
type modelRun struct {
	t        *testing.T
	r        *rand.Rand
	store    storage.Store
	prefixes map[string]string // prefixes of keys, by kind
	boats    server.Group
}

// modelResources are the resources of the kinds in random graphs.
var modelResources = map[string]meta.GroupVersionResource{
	"ConfigMap": corev1.GroupVersion.WithResource("configmaps"), "Secret": corev1.GroupVersion.WithResource("secrets"),
	modelNode: corev1.GroupVersion.WithResource("nodes"), modelBoat: {Group: boatName.Group, Version: "v1", Resource: boatName.Resource},
}

// life is one server, from its start until it is killed.
type life struct {
	*server.Server
	store *storagetest.Faulty
	end   func()
}

// leaseKey is the key of the Lease of the server that runs the controllers.
const leaseKey = "/registry/leases/kube-system/coracle-controllers"

// live starts a server, as after the Lease of the one before has expired.
func (m *modelRun) live(controllers ...string) *life {
	m.t.Helper()
	_, _ = m.store.Delete(m.t.Context(), leaseKey, storage.Pre{}) // there may be none
	l := &life{store: storagetest.NewFaulty(reusedStore{m.store})}
	s, err := servertest.New(m.t, server.Config{
		DataDir: m.t.TempDir(), Controllers: controllers, Storage: server.StorageConfig{Store: l.store},
		Serving:  server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Shutdown: server.ShutdownConfig{Timeout: time.Second},
	})
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Run(ctx) // a server that is killed ends with an error
	}()
	l.Server, l.end = s, func() { cancel(); <-ended }
	<-s.Ready()
	return l
}

// objects returns the client for objects of a kind in a namespace.
func (l *life) objects(kind, namespace string) client.Resource[*meta.PartialObjectMetadata] {
	return client.For[*meta.PartialObjectMetadata](l.Client(), modelResources[kind]).In(namespace)
}

// fill stores the objects of a graph before the first server starts.
func (m *modelRun) fill(g modelGraph) {
	m.t.Helper()
	for _, o := range g {
		md := map[string]any{"name": o.name, "namespace": o.namespace, "uid": o.uid, "creationTimestamp": "2020-01-01T00:00:00Z", "ownerReferences": o.refs}
		var finalizers []string
		switch o.policy {
		case meta.DeletePropagationForeground:
			finalizers = append(finalizers, meta.FinalizerDeleteDependents)
		case meta.DeletePropagationOrphan:
			finalizers = append(finalizers, meta.FinalizerOrphanDependents)
		}
		if o.held {
			finalizers = append(finalizers, "example.com/held")
		}
		if md["finalizers"] = finalizers; o.policy != "" {
			md["deletionTimestamp"], md["deletionGracePeriodSeconds"] = "2020-01-01T00:00:01Z", 0
		}
		if o.namespace == "" {
			delete(md, "namespace")
		}
		obj := map[string]any{"kind": o.kind, "apiVersion": modelVersion(o.kind), "metadata": md}
		if o.kind == "Secret" {
			obj["type"] = "Opaque"
		}
		value, err := json.Marshal(obj)
		if err != nil {
			m.t.Fatal(err)
		}
		key := m.prefixes[o.kind] + strings.TrimPrefix(o.namespace+"/"+o.name, "/")
		if _, err := m.store.Put(m.t.Context(), key, value, storage.Pre{Absent: true}, 0); err != nil {
			m.t.Fatal(err)
		}
	}
}

// release removes the finalizer that holds an object.
func (l *life) release(ctx context.Context, o *modelObject) error {
	live, err := l.objects(o.kind, o.namespace).Get(ctx, o.name, meta.GetOptions{})
	if err != nil {
		return err
	}
	kept := []string{}
	for _, f := range live.Finalizers {
		if f != "example.com/held" {
			kept = append(kept, f)
		}
	}
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": kept, "resourceVersion": live.ResourceVersion}})
	_, err = l.objects(o.kind, o.namespace).Patch(ctx, o.name, client.MergePatch, patch, meta.PatchOptions{})
	return err
}

// kill runs a server until a random operation on the store. That operation may be applied or not;
// all later ones fail. Meanwhile boats are installed and removed, and finalizers are removed.
func (m *modelRun) kill(g modelGraph) {
	m.t.Helper()
	l := m.live("garbage-collector-controller")
	defer l.end()
	dead := make(chan struct{})
	var once sync.Once
	last, fault := m.r.IntN(300), []storagetest.Fault{storagetest.Refuse, storagetest.Lose, storagetest.Pretend}[m.r.IntN(3)]
	l.store.Plan(func(n int, _ string) storagetest.Fault {
		switch {
		case n < last:
			return storagetest.None
		case n > last:
			return storagetest.Refuse
		}
		once.Do(func() { close(dead) })
		return fault
	})
	ctx, cancel := context.WithTimeout(m.t.Context(), 2*time.Second)
	defer cancel()
	there := false
	for _, o := range g {
		select {
		case <-dead:
			return
		case <-ctx.Done():
			return
		default:
		}
		switch m.r.IntN(12) {
		case 0:
			if there {
				_, _ = l.Remove(boatName)
			} else if err := l.Install(l.Core, m.boats); err != nil {
				m.t.Error(err)
			}
			there = !there
		case 1:
			if o.held {
				_ = l.release(ctx, o)
			}
		}
	}
	select {
	case <-dead:
	case <-time.After(50 * time.Millisecond): // it had nothing left to do
	}
}

// finish runs a server until it has completed the work, and compares the objects with the model, as
// far as the model gives the same result in every order of steps.
func (m *modelRun) finish(g modelGraph) {
	m.t.Helper()
	l := m.live("garbage-collector-controller")
	defer l.end()
	if err := l.Install(l.Core, m.boats); err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), 20*time.Second)
	defer cancel()
	for _, o := range g {
		for o.held {
			if err := l.release(ctx, o); err == nil || meta.IsNotFound(err) {
				break
			} else if !meta.IsConflict(err) {
				m.t.Fatal(err)
			}
		}
	}
	first, last := g.clone(), g.clone()
	first.settle(true)
	last.settle(false)
	var wrong []string
	for ctx.Err() == nil {
		if wrong = m.compare(l, g, first, last); len(wrong) == 0 {
			m.barrier(ctx, l)
			wrong = m.compare(l, g, first, last)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, text := range wrong {
		m.t.Error(text)
	}
	if len(wrong) > 0 && os.Getenv("DUMP") != "" {
		for _, o := range g {
			fmt.Printf("%s %s/%s policy=%s held=%v", o.kind, o.namespace, o.name, o.policy, o.held)
			for _, r := range o.refs {
				fmt.Printf(" [%s %s %s block=%v]", r.Kind, r.Name, r.UID, r.BlockOwnerDeletion != nil)
			}
			fmt.Println()
		}
	}
}

// compare returns the differences between the store and the model.
func (m *modelRun) compare(l *life, g, first, last modelGraph) (wrong []string) {
	m.t.Helper()
	found := map[meta.UID]*modelObject{}
	for kind := range modelResources {
		for obj, err := range l.objects(kind, "").All(m.t.Context(), meta.ListOptions{}) {
			if err != nil {
				m.t.Fatal(err)
			}
			found[obj.UID] = &modelObject{refs: obj.OwnerReferences}
		}
	}
	for uid, o := range g {
		if want := first[uid].String(); want == last[uid].String() && found[uid].String() != want {
			wrong = append(wrong, fmt.Sprintf("%s %s/%s: got %v, want %s", o.kind, o.namespace, o.name, found[uid], want))
		}
	}
	return wrong
}

// barrier returns when the collector has handled everything that was queued when barrier was
// called.
func (m *modelRun) barrier(ctx context.Context, l *life) {
	m.t.Helper()
	maps := l.objects("ConfigMap", "n")
	typed := client.For[*corev1.ConfigMap](l.Client(), modelResources["ConfigMap"]).In("n")
	owner, err := typed.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "barrier"}}, meta.CreateOptions{})
	if err == nil {
		owner.Kind, owner.APIVersion = "ConfigMap", "v1"
		_, err = typed.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "behind", OwnerReferences: []meta.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "barrier", UID: owner.UID},
		}}}, meta.CreateOptions{})
	}
	if err == nil {
		err = maps.Delete(ctx, "barrier", meta.DeleteOptions{})
	}
	for err == nil {
		_, err = maps.Get(ctx, "behind", meta.GetOptions{})
	}
	if !meta.IsNotFound(err) {
		m.t.Fatal(err)
	}
}

// TestRandomGraphs lets the collector work on random graphs, kills servers at random moments, and
// expects the final objects that a slow plain model gives. GRAPHS is the number of graphs, SEED the
// seed of their generator.
func TestRandomGraphs(t *testing.T) {
	graphs, seed := 20, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("GRAPHS")); err == nil {
		graphs, seed = n, rand.Uint64()
	}
	if n, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = n
	}
	const together = 10
	for seed := seed; graphs > 0; graphs, seed = graphs-together, seed+1 {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			m := &modelRun{t: t, r: rand.New(rand.NewPCG(seed, 0)), boats: boats(t), prefixes: map[string]string{}}
			m.store = memory.New(memory.Config{})
			defer m.store.Close()
			m.prepare()
			all := modelGraph{}
			for i := range together {
				for uid, o := range randomGraph(m.r, fmt.Sprintf("g%d", i)) {
					all[uid] = o
				}
			}
			m.fill(all)
			for range 3 + m.r.IntN(3) {
				m.kill(all)
			}
			m.finish(all)
		})
	}
}

// prepare finds out where objects are stored, and makes their namespaces.
func (m *modelRun) prepare() {
	m.t.Helper()
	l := m.live()
	defer l.end()
	if err := l.Install(l.Core, m.boats); err != nil {
		m.t.Fatal(err)
	}
	for kind, gvr := range modelResources {
		m.prefixes[kind] = l.Store(gvr.GroupResource()).Objects().Prefix()
	}
	for _, name := range []string{"n", "m"} {
		namespaces := client.For[*corev1.Namespace](l.Client(), corev1.GroupVersion.WithResource("namespaces"))
		if _, err := namespaces.Create(m.t.Context(), &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}}, meta.CreateOptions{}); err != nil {
			m.t.Fatal(err)
		}
	}
}
