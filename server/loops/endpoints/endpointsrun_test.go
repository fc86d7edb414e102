package endpoints_test

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

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/endpoints"
	"github.com/coracle-project/coracle/server/servertest/looptest"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestEndpointsLeftOut runs some of the controllers of endpoints.
func TestEndpointsLeftOut(t *testing.T) {
	t.Run("endpoints", func(t *testing.T) {
		w := startWithNodes(t, server.Config{Controllers: []string{"*", "-endpoint"}})
		w.service("s", nil)
		w.wantSlices("s", "IPv4 ")
		w.wantEndpoints("s", "none")
	})
	t.Run("slices", func(t *testing.T) {
		w := startWithNodes(t, server.Config{Controllers: []string{"*", "-endpointslice", "-endpointslice-mirroring-controller"}})
		w.service("s", nil)
		w.service("t", withoutSelector)
		w.byHand("t", meta.ObjectMeta{}, corev1.EndpointSubset{Addresses: addresses("10.0.0.1")})
		w.wantEndpoints("s")
		if n, err := w.slices().List(t.Context(), meta.ListOptions{}); err != nil || len(n.Items) > 0 {
			t.Errorf("got %d slices, %v, want none", len(n.Items), err)
		}
	})
}

// TestEndpointsYield checks that the controllers do nothing until kube-controller-manager has
// released its Lease.
func TestEndpointsYield(t *testing.T) {
	store := memory.New(memory.Config{})
	before := start(t, server.Config{Storage: server.StorageConfig{Store: store}, Controllers: []string{}})
	holder, seconds := "manager", int32(3600)
	renewed := meta.MicroTime{Time: meta.Now().Time}
	leases := client.For[*coordinationv1.Lease](before.S.Client(), coordinationv1.GroupVersion.WithResource("leases")).In("kube-system")
	lease, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: meta.ObjectMeta{Name: "kube-controller-manager"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
	}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := startWithNodes(t, server.Config{Storage: server.StorageConfig{Store: store}})
	w.service("s", nil)
	looptest.Create(w, "namespaces", &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: "m"}})
	if err := looptest.Of[*corev1.Namespace](w, "namespaces").Delete(t.Context(), "m", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	looptest.AwaitList(w, looptest.Of[*corev1.Namespace](w, "namespaces"), func(list []*corev1.Namespace) string { // shows that other controllers run
		for _, ns := range list {
			if ns.Name == "m" {
				return "the namespace is still there"
			}
		}
		return ""
	})
	free := ""
	lease.Spec.HolderIdentity = &free
	if lease, err = leases.Update(t.Context(), lease, meta.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.wantEndpoints("s")
	w.wantSlices("s", "IPv4 ")
	e, err := w.endpoints().Get(t.Context(), "s", meta.GetOptions{})
	if err != nil || revision(t, e.ResourceVersion) <= revision(t, lease.ResourceVersion) {
		t.Errorf("Endpoints were written while the Lease was held: %v, %v", e, err)
	}
}

func revision(t *testing.T, version string) (n uint64) {
	t.Helper()
	if _, err := fmt.Sscan(version, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEndpointsLeftovers: Endpoints whose service was deleted before the controller started are
// deleted. Endpoints whose service is created shortly after them stay, because a client may create
// both in this order.
func TestEndpointsLeftovers(t *testing.T) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		w.CreateNamespace("n")
		made := looptest.Of[*corev1.Endpoints](w, "endpoints")
		makes := func(name string, m meta.ObjectMeta) {
			t.Helper()
			m.Name = name
			looptest.Make(w, made, &corev1.Endpoints{ObjectMeta: m, Subsets: []corev1.EndpointSubset{{Addresses: addresses("10.1.0.1")}}}, nil)
		}
		serves := func(name string) {
			t.Helper()
			service := &corev1.Service{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
			looptest.Make(w, looptest.Of[*corev1.Service](w, "services"), service, nil)
		}
		makes("gone", meta.ObjectMeta{})
		makes("election", meta.ObjectMeta{Annotations: map[string]string{"control-plane.alpha.kubernetes.io/leader": "{}"}})
		makes("served", meta.ObjectMeta{})
		serves("served")
		makes("early", meta.ObjectMeta{})
		w.Run(func(ctx context.Context, in *controller.Informers) {
			endpoints.NewEndpoints(in, zap.NewNop()).Run(ctx)
		})
		w.Sleep(time.Second)
		serves("early")
		w.Sleep(time.Minute)
		if got, want := looptest.Names(w, made), "early election served"; got != want {
			t.Errorf("got the endpoints %q, want %q", got, want)
		}
	})
}

// TestEndpointsOfOthers checks that services without a selector and without Endpoints cost no
// requests.
func TestEndpointsOfOthers(t *testing.T) {
	w := startWithNodes(t, server.Config{Controllers: []string{}, Authorization: access.Config{Modes: []string{access.AlwaysAllow}}})
	var asked sync.Map // by path
	c, err := client.New(client.Config{Codecs: w.S.Codecs, Transport: client.HandlerTransport(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.Path, true)
		w.S.Handler().ServeHTTP(rw, r)
	}))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { runEndpoints(ctx, c) })
	w.service("quiet", withoutSelector)
	looptest.Patch(w, "services", "", "quiet", `{"metadata":{"labels":{"a":"b"}}}`)
	w.service("mirrored", withoutSelector)
	w.byHand("mirrored", meta.ObjectMeta{}, corev1.EndpointSubset{Addresses: addresses("10.0.0.1")})
	w.wantSlices("mirrored", "IPv4 10.0.0.1 ready")
	w.remove("services", "quiet")
	w.remove("services", "mirrored")
	w.wantSlices("mirrored")
	cancel()
	wg.Wait()
	asked.Range(func(path, _ any) bool {
		if strings.Contains(path.(string), "quiet") {
			t.Errorf("asked for %s", path)
		}
		return true
	})
}

// runEndpoints runs the controllers of endpoints until ctx ends.
func runEndpoints(ctx context.Context, c *client.Client) {
	in := controller.NewInformers(ctx, c, zap.NewNop())
	var wg sync.WaitGroup
	wg.Go(func() { endpoints.NewEndpoints(in, zap.NewNop()).Run(ctx) })
	wg.Go(func() { endpoints.NewEndpointSlices(in, zap.NewNop()).Run(ctx) })
	wg.Go(func() { endpoints.NewMirroring(in, zap.NewNop()).Run(ctx) })
	wg.Wait()
	in.Wait()
}

// TestEndpointsAtOnce runs each controller twice, and restarts one of the two, while pods and
// services change. In the end, each endpoint exists once.
func TestEndpointsAtOnce(t *testing.T) {
	w := startWithNodes(t, server.Config{Controllers: []string{}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { runEndpoints(ctx, w.S.Client()) })
	terms := make(chan context.Context)
	wg.Go(func() {
		for term := range terms {
			runEndpoints(term, w.S.Client())
		}
	})
	w.service("s", nil)
	w.service("m", withoutSelector)
	w.byHand("m", meta.ObjectMeta{}, corev1.EndpointSubset{Addresses: addresses("10.0.0.1")})
	const pods = 25
	rnd, end := rand.New(rand.NewPCG(1, 2)), func() {}
	for i := range pods {
		looptest.Create(w, "pods", webPod(podName(i)))
		w.runs(podName(i), true, fmt.Sprintf("10.0.0.%d", i+1))
		w.runs(podName(rnd.IntN(i+1)), false, "10.0.1.1")
		if i%10 == 0 {
			end()
			var term context.Context
			term, end = context.WithCancel(ctx)
			terms <- term
			w.remove("services", "s")
			w.service("s", nil)
		}
	}
	var want []string
	for i := range pods {
		ip := fmt.Sprintf("10.0.0.%d", i+1)
		w.runs(podName(i), true, ip)
		want = append(want, ip)
	}
	slices.Sort(want)
	looptest.AwaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
		var got []string
		for _, s := range list {
			if s.Labels[discoveryv1.LabelServiceName] != "s" {
				continue
			}
			for _, e := range s.Endpoints {
				if *e.Conditions.Ready {
					got = append(got, e.Addresses...)
				}
			}
		}
		if slices.Sort(got); slices.Equal(got, want) {
			return ""
		}
		return fmt.Sprintf("ready are %v, want each of %d once", got, pods)
	})
	looptest.AwaitList(w, w.endpoints(), func(list []*corev1.Endpoints) string {
		for _, e := range list {
			if e.Name == "s" && len(e.Subsets) == 1 && len(e.Subsets[0].Addresses) == pods && len(e.Subsets[0].NotReadyAddresses) == 0 {
				return ""
			}
		}
		return fmt.Sprint("the Endpoints do not have all pods: ", list)
	})
	w.wantSlices("m", "IPv4 10.0.0.1 ready")
	cancel()
	end()
	close(terms)
	wg.Wait()
}

func podName(i int) string { return fmt.Sprintf("p%02d", i) }
