package differential

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"

	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// tendedRounds is the number of graphs of owners that are made and cut. Each round waits until the
// controllers change nothing.
const tendedRounds = 10

// TestTendedSessions plays sessions while controllers run: Kubernetes' garbage collector and
// namespace controller beside kube-apiserver, and Coracle's beside Coracle. A client creates
// objects with owners and finalizers in two namespaces, deletes them in every way, and deletes a
// namespace with its contents. When the controllers are done, both servers must have the same
// objects in the same state. No deletion begins before that: a client that deletes an owner in the
// foreground while a collector deletes it in the background decides by a race what becomes of its
// dependents, with Kubernetes too.
func TestTendedSessions(t *testing.T) {
	kube := startKubernetes(t, etcdproc.Start(t))
	coracle := startSessionServer(t, []string{"garbage-collector-controller", "namespace-controller"})
	c := &sessionCourt{theirs: newParty(t, kube.url, kubeToken), ours: newParty(t, coracle.URL, coracle.Token)}
	for _, s := range []*party{c.theirs, c.ours} {
		s.prepare(t)
	}
	tend(t, kube.url)
	rnd := random("tended sessions")
	for round := range times(tendedRounds) {
		for _, s := range []*party{c.theirs, c.ours} {
			s.forget()
		}
		steps := makeTended(rnd, round)
		for i, st := range steps {
			if st.Method != http.MethodPost {
				c.sameState(t, round, steps[:i], 2)
			}
			their, our := c.theirs.send(t, st), c.ours.send(t, st)
			if their.Code != our.Code && !(tooLate(their) && tooLate(our)) {
				t.Fatalf("SEED=%d, round %d, step %d, %s: Kubernetes %d %s, Coracle %d %s", seed, round, i, encode(st),
					their.Code, encode(their.Body), our.Code, encode(our.Body))
			}
		}
		c.sameState(t, round, steps, 4)
		for _, s := range []*party{c.theirs, c.ours} {
			s.await(t)
			s.clean(t)
		}
	}
}

// tooLate reports whether an answer may depend on whether a controller was faster than the client.
func tooLate(r reply) bool {
	return r.Code < 300 || r.Code == http.StatusNotFound || r.Code == http.StatusConflict || r.Code == http.StatusForbidden
}

// tend runs Kubernetes' garbage collector and namespace controller until the end of the test.
func tend(t *testing.T, url string) {
	t.Helper()
	config := &rest.Config{Host: url, BearerToken: kubeToken, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	client, meta := must1(kubernetes.NewForConfig(config)), must1(metadata.NewForConfig(config))
	ctx, cancel := context.WithCancel(context.Background())
	typed, untyped := informers.NewSharedInformerFactory(client, 0), metadatainformer.NewSharedInformerFactory(meta, 0)
	spaces := namespace.NewNamespaceController(ctx, client, meta, client.Discovery().ServerPreferredNamespacedResources,
		typed.Core().V1().Namespaces(), 0, "kubernetes")
	started := make(chan struct{})
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	gc := must1(garbagecollector.NewGarbageCollector(ctx, client, meta, mapper, map[schema.GroupResource]struct{}{{Resource: "events"}: {}},
		informerfactory.NewInformerFactory(typed, untyped), started))
	typed.Start(ctx.Done())
	untyped.Start(ctx.Done())
	close(started)
	var wg sync.WaitGroup
	wg.Go(func() { spaces.Run(ctx, 2) })
	wg.Go(func() { gc.Run(ctx, 2, 30*time.Second) })
	wg.Go(func() { gc.Sync(ctx, client.Discovery(), 5*time.Second) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		typed.Shutdown()
		untyped.Shutdown()
	})
}

// tendedKinds are the kinds of owners and of owned objects.
func tendedKinds() []*sessionKind {
	return slices.DeleteFunc(slices.Clone(sessionKinds), func(k *sessionKind) bool {
		return k.shared || k.kind == "Pod" || strings.HasSuffix(k.root, "beta1")
	})
}

// makeTended makes a graph of owners and cuts it.
func makeTended(rnd *rand.Rand, round int) []step {
	g := &sessionMaker{rnd: rnd, kinds: tendedKinds()}
	type node struct {
		k               *sessionKind
		namespace, name string
	}
	var nodes []node
	for i := range 8 + rnd.IntN(8) {
		n := node{g.kinds[rnd.IntN(len(g.kinds))], g.namespace(), fmt.Sprintf("o%d-%d", round, i)}
		meta := map[string]any{"name": n.name}
		var owners []any
		for _, owner := range nodes {
			if (owner.k.cluster || !n.k.cluster && owner.namespace == n.namespace) && g.chance(35) {
				ref := map[string]any{"apiVersion": owner.k.apiVersion(), "kind": owner.k.kind, "name": owner.name,
					"uid": "@{uid " + key(owner.k, owner.namespace, owner.name) + " 0}"}
				if g.chance(60) {
					ref["blockOwnerDeletion"] = true
				}
				owners = append(owners, ref)
			}
		}
		if len(owners) > 0 {
			meta["ownerReferences"] = owners
		}
		if g.chance(10) {
			meta["finalizers"] = []any{"example.com/f"}
		}
		obj := map[string]any{"apiVersion": n.k.apiVersion(), "kind": n.k.kind, "metadata": meta}
		for name, v := range n.k.body(&sessionMaker{rnd: rand.New(rand.NewPCG(1, 1))}) {
			obj[name] = v
		}
		g.add(step{Method: "POST", Path: n.k.collection(n.namespace), Form: "application/json", Accept: "application/json", Body: obj})
		nodes = append(nodes, n)
	}
	for range 1 + rnd.IntN(3) {
		n := nodes[rnd.IntN(len(nodes))]
		path := n.k.collection(n.namespace) + "/" + n.name
		if g.chance(20) {
			g.add(step{Method: "PATCH", Path: path, Form: mergeForm, Accept: "application/json", Body: map[string]any{"metadata": map[string]any{"ownerReferences": nil}}})
			continue
		}
		g.add(step{Method: "DELETE", Path: path, Form: "application/json", Accept: "application/json",
			Body: map[string]any{"propagationPolicy": g.pick("Background", "Foreground", "Orphan")}})
	}
	if round%3 == 2 { // delete a namespace with its contents
		g.add(step{Method: "DELETE", Path: "/api/v1/namespaces/two", Accept: "application/json"})
	}
	return g.steps
}

// sameState waits until both servers have had the same state at so many looks in a row, half a
// second apart. Four looks are longer than any step of the controllers.
func (c *sessionCourt) sameState(t *testing.T, round int, steps []step, looks int) {
	t.Helper()
	var theirs, ours []byte
	same := 0
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && same < looks; time.Sleep(500 * time.Millisecond) {
		a, b := encode(c.theirs.state(t)), encode(c.ours.state(t))
		if string(a) == string(b) && string(a) == string(theirs) {
			same++
		} else {
			same = 0
		}
		theirs, ours = a, b
	}
	if same < looks {
		t.Fatalf("SEED=%d, round %d: after %s\nKubernetes has %s\nCoracle has %s", seed, round, encode(steps), theirs, ours)
	}
}

// state describes each object by the fields that controllers change, and the namespace that a round
// deletes.
func (s *party) state(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, k := range tendedKinds() {
		for _, item := range s.items(t, k) {
			if name := textAt(item, "metadata.name"); strings.HasPrefix(name, "o") {
				owners := []string{}
				refs, _ := item.(map[string]any)["metadata"].(map[string]any)["ownerReferences"].([]any)
				for _, ref := range refs {
					owners = append(owners, textAt(ref, "name")+" "+textAt(ref, "blockOwnerDeletion"))
				}
				out[k.resource+"/"+textAt(item, "metadata.namespace")+"/"+name] = map[string]any{
					"owners": owners, "finalizers": textAt(item, "metadata.finalizers"), "going": textAt(item, "metadata.deletionTimestamp") != "",
				}
			}
		}
	}
	_, data := s.exchange(t, step{Method: http.MethodGet, Path: "/api/v1/namespaces/two"})
	var two any
	if err := decode(data, &two); err != nil {
		t.Fatal(err)
	}
	conditions := map[string]string{}
	status, _ := two.(map[string]any)["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		conditions[textAt(c, "type")] = textAt(c, "status") + " " + textAt(c, "reason") + " " + textAt(c, "message")
	}
	out["the namespace"] = map[string]any{"phase": textAt(two, "status.phase"), "reason": textAt(two, "reason"), "conditions": conditions}
	return out
}

// await removes the finalizers of the remaining objects, and waits until the namespace is no longer
// terminating.
func (s *party) await(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		for _, k := range tendedKinds() {
			for _, item := range s.items(t, k) {
				if textAt(item, "metadata.finalizers") != "" {
					s.exchange(t, step{Method: http.MethodPatch, Path: k.collection(textAt(item, "metadata.namespace")) + "/" + textAt(item, "metadata.name"),
						Form: mergeForm, Body: `{"metadata":{"finalizers":null}}`})
				}
			}
		}
		_, data := s.exchange(t, step{Method: http.MethodGet, Path: "/api/v1/namespaces/two"})
		var two any
		if err := decode(data, &two); err != nil {
			t.Fatal(err)
		}
		if textAt(two, "metadata.deletionTimestamp") == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the namespace is still terminating: %s", data)
		}
	}
}
