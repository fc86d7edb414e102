package endpoints_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// byHand creates Endpoints that a client manages.
func (w *world) byHand(name string, m meta.ObjectMeta, subsets ...corev1.EndpointSubset) {
	w.T.Helper()
	m.Name = name
	looptest.Create(w, "endpoints", &corev1.Endpoints{ObjectMeta: m, Subsets: subsets})
}

func withoutSelector(spec *corev1.ServiceSpec) { spec.Selector = nil }

func addresses(ips ...string) (list []corev1.EndpointAddress) {
	for _, ip := range ips {
		list = append(list, corev1.EndpointAddress{IP: ip})
	}
	return list
}

// TestMirroring creates, changes and deletes Endpoints of a client, and checks their mirror slices.
func TestMirroring(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	node := "a"
	subset := corev1.EndpointSubset{
		Addresses: append(addresses("10.0.0.1", "fd00::1"), corev1.EndpointAddress{IP: "10.0.0.2", Hostname: "two", NodeName: &node}), NotReadyAddresses: addresses("10.0.0.3"),
		Ports: []corev1.EndpointPort{{Name: "http", Port: 80}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}},
	}
	w.byHand("s", meta.ObjectMeta{Labels: map[string]string{"l": "1"}, Annotations: map[string]string{
		"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}", "endpoints.kubernetes.io/last-change-trigger-time": "2020-01-01T00:00:00Z",
	}}, subset)
	w.service("s", withoutSelector)
	four := "IPv4 dns:53/UDP http:80/TCP 10.0.0.1 ready, 10.0.0.2@a host=two ready, 10.0.0.3"
	w.wantSlices("s", four, "IPv6 dns:53/UDP http:80/TCP fd00::1 ready")
	e, err := w.endpoints().Get(t.Context(), "s", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.slices().List(t.Context(), meta.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Items {
		labels := map[string]string{"l": "1", "kubernetes.io/service-name": "s", "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io"}
		if owner := s.OwnerReferences[0]; !maps.Equal(s.Labels, labels) || !maps.Equal(s.Annotations, map[string]string{"note": "x"}) ||
			owner.Kind != "Endpoints" || owner.UID != e.UID || !*owner.Controller {
			t.Errorf("a slice has labels %v, annotations %v, owners %v", s.Labels, s.Annotations, s.OwnerReferences)
		}
	}
	looptest.Patch(w, "endpoints", "", "s", `{"metadata":{"annotations":{"note":"y"}},"subsets":[{"addresses":[{"ip":"10.0.0.1"}]}]}`)
	w.wantSlices("s", "IPv4 10.0.0.1 ready")
	looptest.AwaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
		if maps.Equal(list[0].Annotations, map[string]string{"note": "y"}) {
			return ""
		}
		return fmt.Sprintf("annotations %v", list[0].Annotations)
	})
	looptest.Patch(w, "services", "", "s", `{"spec":{"selector":{"app":"web"}}}`) // the controllers of services with a selector manage it from here on
	w.wantSlices("s", "IPv4 ", "IPv6 ")
	w.wantEndpoints("s")
}

// TestMirroringEnds: mirror slices are deleted when the Endpoints or the service are deleted, or
// when the Endpoints have a label or an annotation that excludes them.
func TestMirroringEnds(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	subset := corev1.EndpointSubset{Addresses: addresses("10.0.0.1")}
	for _, name := range []string{"label", "endpoints", "service"} {
		w.service(name, withoutSelector)
		w.byHand(name, meta.ObjectMeta{}, subset)
		w.wantSlices(name, "IPv4 10.0.0.1 ready")
	}
	looptest.Patch(w, "endpoints", "", "label", `{"metadata":{"labels":{"endpointslice.kubernetes.io/skip-mirror":"true"}}}`)
	w.remove("endpoints", "endpoints")
	w.remove("services", "service")
	for _, name := range []string{"label", "endpoints", "service"} {
		w.wantSlices(name)
	}
	w.wantEndpoints("service", "none")
	w.byHand("service", meta.ObjectMeta{Annotations: map[string]string{"control-plane.alpha.kubernetes.io/leader": "{}"}}, subset)
	w.service("service", withoutSelector)
	looptest.Patch(w, "endpoints", "", "label", `{"metadata":{"labels":null}}`)
	w.wantSlices("label", "IPv4 10.0.0.1 ready")
	w.wantSlices("service")
}

// TestMirroringManyAddresses: addresses beyond the limit are left out, and an Event reports that.
func TestMirroringManyAddresses(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	var many []string
	for i := range 1003 {
		many = append(many, fmt.Sprintf("10.0.%d.%d", i/250, i%250+1))
	}
	w.byHand("s", meta.ObjectMeta{}, corev1.EndpointSubset{Addresses: addresses(many...)})
	w.service("s", withoutSelector)
	looptest.AwaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
		if len(list) == 1 && len(list[0].Endpoints) == 1000 {
			return ""
		}
		return "no slice of 1000 endpoints"
	})
	looptest.AwaitList(w, looptest.Of[*corev1.Event](w, "events"), func(list []*corev1.Event) string {
		for _, ev := range list {
			if ev.Reason == "TooManyAddressesToMirror" && ev.InvolvedObject.Kind == "Endpoints" &&
				ev.Message == "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 3 addresses were skipped" {
				return ""
			}
		}
		return fmt.Sprint("no event: ", list)
	})
}
