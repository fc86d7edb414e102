package services_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/services"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// cidrs returns the client of ServiceCIDRs.
func (w *world) cidrs() client.Resource[*networkingv1.ServiceCIDR] {
	return client.For[*networkingv1.ServiceCIDR](w.S.Client(), networkingv1.GroupVersion.WithResource("servicecidrs"))
}

// untilCIDR waits until ok accepts the state of a ServiceCIDR, which is nil if there is none.
func (w *world) untilCIDR(what, name string, is func(cidr *networkingv1.ServiceCIDR) bool) {
	w.T.Helper()
	var cidr *networkingv1.ServiceCIDR
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var err error
		if cidr, err = w.cidrs().Get(w.T.Context(), name, meta.GetOptions{}); meta.IsNotFound(err) {
			cidr = nil
		} else if err != nil {
			w.T.Fatal(err)
		}
		if is(cidr) {
			return
		}
	}
	w.T.Fatalf("%s: ServiceCIDR %s is %+v", what, name, cidr)
}

func (w *world) createCIDR(name string, ranges ...string) {
	w.T.Helper()
	cidr := &networkingv1.ServiceCIDR{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: ranges}}
	if _, err := w.cidrs().Create(w.T.Context(), cidr, meta.CreateOptions{}); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) deleteCIDR(name string) {
	w.T.Helper()
	if err := w.cidrs().Delete(w.T.Context(), name, meta.DeleteOptions{}); err != nil {
		w.T.Fatal(err)
	}
}

func readyIs(status meta.ConditionStatus, text string) func(*networkingv1.ServiceCIDR) bool {
	return func(c *networkingv1.ServiceCIDR) bool {
		return c != nil && len(c.Status.Conditions) == 1 && c.Status.Conditions[0].Type == "Ready" &&
			c.Status.Conditions[0].Status == status && strings.Contains(c.Status.Conditions[0].Message, text)
	}
}

func noCIDR(c *networkingv1.ServiceCIDR) bool { return c == nil }

func TestServiceCIDRs(t *testing.T) {
	w := start(t, server.Config{Controllers: []string{}})
	w.CreateNamespace()
	w.Run((&services.ServiceCIDR{
		Client: w.S.Client(), AddressManager: core.AddressManager, Events: controller.NewRecorder(w.S.Client(), "test", zap.NewNop()), Log: zap.NewNop(),
	}).Run)
	held := func(c *networkingv1.ServiceCIDR) bool {
		return readyIs(meta.ConditionTrue, "Kubernetes Service CIDR is ready")(c) && slices.Equal(c.Finalizers, []string{"networking.k8s.io/service-cidr-finalizer"})
	}
	w.untilCIDR("the default", "kubernetes", held)
	for name, ranges := range map[string][]string{"free": {"10.7.0.0/24"}, "used": {"10.8.0.0/24", "fd00::/112"}, "within": {"10.8.0.0/28"}} {
		w.createCIDR(name, ranges...)
		w.untilCIDR("created", name, held)
	}
	looptest.Create(w, "services", &corev1.Service{ObjectMeta: meta.ObjectMeta{Name: "a"},
		Spec: corev1.ServiceSpec{ClusterIP: "10.8.0.7", Ports: []corev1.ServicePort{{Port: 80}}}})
	looptest.Create(w, "services", &corev1.Service{ObjectMeta: meta.ObjectMeta{Name: "b"},
		Spec: corev1.ServiceSpec{ClusterIP: "10.8.0.77", Ports: []corev1.ServicePort{{Port: 80}}}})

	for _, name := range []string{"free", "within"} {
		w.deleteCIDR(name)
		w.untilCIDR("not needed", name, noCIDR)
	}
	w.deleteCIDR("used")
	w.untilCIDR("in use", "used", readyIs(meta.ConditionFalse, "There are still IPAddresses referencing the ServiceCIDR"))
	w.createCIDR("half", "10.8.0.0/28") // has the address of a, not that of b
	w.untilCIDR("created", "half", held)
	if err := looptest.Of[*corev1.Service](w, "services").Delete(t.Context(), "b", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.untilCIDR("not in use any more", "used", noCIDR)
}

// TestServiceCIDRGrace checks that a ServiceCIDR without addresses in use stays for the grace
// period.
func TestServiceCIDRGrace(t *testing.T) {
	w := start(t, server.Config{Controllers: []string{}})
	w.Run((&services.ServiceCIDR{
		Client: w.S.Client(), AddressManager: core.AddressManager, Grace: time.Second, Events: controller.NewRecorder(w.S.Client(), "test", zap.NewNop()),
		Log: zap.NewNop(),
	}).Run)
	w.createCIDR("a", "10.7.0.0/24")
	w.untilCIDR("created", "a", func(c *networkingv1.ServiceCIDR) bool { return c != nil && len(c.Finalizers) == 1 })
	w.deleteCIDR("a")
	var deleted time.Time
	w.untilCIDR("deleted", "a", func(c *networkingv1.ServiceCIDR) bool {
		if c != nil {
			deleted = c.DeletionTimestamp.Time
		}
		return c == nil
	})
	if time.Since(deleted) < time.Second {
		t.Error("it was gone at once")
	}
}

// TestDefaultServiceCIDR checks that a second range is added to one range, that other ranges stay
// and are reported, and that a condition which exists is kept.
func TestDefaultServiceCIDR(t *testing.T) {
	w := start(t, server.Config{Controllers: []string{}})
	const name = "configured"
	keep := func(ranges ...string) *services.DefaultServiceCIDR {
		return &services.DefaultServiceCIDR{
			Client: w.S.Client(), Name: name, CIDRs: ranges, Log: zap.NewNop(), Events: controller.NewRecorder(w.S.Client(), "test", zap.NewNop()),
		}
	}
	keep("10.7.0.0/24").Ensure(t.Context())
	w.untilCIDR("one range", name, readyIs(meta.ConditionTrue, "Kubernetes default Service CIDR is ready"))
	keep("10.7.0.0/24", "fd00::/112").Ensure(t.Context())
	w.untilCIDR("two ranges", name, func(c *networkingv1.ServiceCIDR) bool {
		return slices.Equal(c.Spec.CIDRs, []string{"10.7.0.0/24", "fd00::/112"})
	})

	keep("10.9.0.0/24").Ensure(t.Context())
	w.untilCIDR("others", name, func(c *networkingv1.ServiceCIDR) bool { return c.Spec.CIDRs[0] == "10.7.0.0/24" })
	cidr, err := w.cidrs().Get(t.Context(), name, meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cidr.Status.Conditions[0].Status, cidr.Status.Conditions[0].Reason, cidr.Status.Conditions[0].Message = meta.ConditionFalse, "Closed", "closed by hand"
	if _, err := w.cidrs().UpdateStatus(t.Context(), cidr, meta.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	keep("10.7.0.0/24", "fd00::/112").Ensure(t.Context())
	w.untilCIDR("closed", name, readyIs(meta.ConditionFalse, "closed by hand"))
	want := map[string]string{
		"KubernetesDefaultServiceCIDRInconsistent": "The default ServiceCIDR [10.7.0.0/24 fd00::/112] does not match the controller flag configurations [10.9.0.0/24]",
		"Closed": "Configuration matches, but closed by hand",
	}
	for ev, err := range looptest.Of[*corev1.Event](w, "events").In("default").All(t.Context(), meta.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.InvolvedObject.Name == name && want[ev.Reason] == ev.Message {
			delete(want, ev.Reason)
		}
	}
	if len(want) > 0 {
		t.Errorf("no Event reports %v", want)
	}

	w.deleteCIDR(name)
	keeper := keep("10.7.0.0/24")
	keeper.Ensure(t.Context())
	w.Run(keeper.Run)
	w.untilCIDR("made anew", name, readyIs(meta.ConditionTrue, "ready"))
	w.deleteCIDR(name)
	w.untilCIDR("made again", name, readyIs(meta.ConditionTrue, "ready"))
}

// TestDefaultServiceCIDROutlivesFailures checks that a second range which cannot be added yet is
// added later.
func TestDefaultServiceCIDROutlivesFailures(t *testing.T) {
	w := start(t, server.Config{Controllers: []string{}, Authorization: access.Config{Modes: []string{access.AlwaysAllow}}})
	w.createCIDR("configured", "10.7.0.0/24")
	var failed atomic.Bool
	api, err := client.New(client.Config{Codecs: w.S.Codecs, Transport: client.HandlerTransport(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && !failed.Swap(true) {
			http.Error(rw, "", http.StatusServiceUnavailable)
			return
		}
		w.S.Handler().ServeHTTP(rw, r)
	}))})
	if err != nil {
		t.Fatal(err)
	}
	keeper := &services.DefaultServiceCIDR{
		Client: api, Name: "configured", CIDRs: []string{"10.7.0.0/24", "fd00::/112"}, Log: zap.NewNop(),
		Events: controller.NewRecorder(w.S.Client(), "test", zap.NewNop()),
	}
	keeper.Ensure(t.Context())
	w.untilCIDR("two ranges", "configured", func(c *networkingv1.ServiceCIDR) bool { return len(c.Spec.CIDRs) == 2 })
}

// TestDefaultServiceCIDRIsGoneBefore checks that a ServiceCIDR which is deleted before the watch
// begins is created again.
func TestDefaultServiceCIDRIsGoneBefore(t *testing.T) {
	w := start(t, server.Config{Controllers: []string{}})
	w.Run((&services.DefaultServiceCIDR{
		Client: w.S.Client(), Name: "configured", CIDRs: []string{"10.7.0.0/24"}, Log: zap.NewNop(),
		Events: controller.NewRecorder(w.S.Client(), "test", zap.NewNop()),
	}).Run)
	w.untilCIDR("made", "configured", readyIs(meta.ConditionTrue, "ready"))
}
