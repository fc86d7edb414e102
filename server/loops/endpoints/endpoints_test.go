package endpoints_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest/looptest"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestEndpointsFollowPods creates a pod, changes its state and deletes it.
func TestEndpointsFollowPods(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("s", nil)
	w.service("early", func(spec *corev1.ServiceSpec) { spec.PublishNotReadyAddresses = true })
	w.wantEndpoints("s")
	w.wantSlices("s", "IPv4 ")
	looptest.Create(w, "pods", webPod("p"))
	looptest.Create(w, "pods", &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: "other"}, Spec: webPod("").Spec})
	w.runs("other", true, "10.0.0.9")
	w.runs("p", false, "10.0.0.1")
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 p unready")
	w.wantEndpoints("early", "http:8080/TCP 10.0.0.1 p ready")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a")
	w.wantSlices("early", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready")
	w.runs("p", true, "10.0.0.1")
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 p ready")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving")
	w.remove("pods", "p") // the pod has a grace period
	w.wantEndpoints("s")
	w.wantEndpoints("early", "http:8080/TCP 10.0.0.1 p ready")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a serving terminating")
	w.wantSlices("early", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving terminating")
	looptest.Patch(w, "pods", "status", "p", `{"status":{"phase":"Succeeded"}}`)
	w.wantSlices("s", "IPv4 ")
	w.wantSlices("early", "IPv4 ")
	w.wantEndpoints("early")
}

// TestEndpointsFollowLabels changes the labels of a pod, so that another service selects it.
func TestEndpointsFollowLabels(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("s", nil)
	w.service("db", func(spec *corev1.ServiceSpec) { spec.Selector["app"] = "db" })
	looptest.Create(w, "pods", webPod("p"))
	w.runs("p", true, "10.0.0.1")
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 p ready")
	looptest.Patch(w, "pods", "", "p", `{"metadata":{"labels":{"app":"db"}}}`)
	w.wantEndpoints("s")
	w.wantSlices("s", "IPv4 ")
	w.wantEndpoints("db", "http:8080/TCP 10.0.0.1 p ready")
	w.wantSlices("db", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving")
	looptest.Patch(w, "services", "", "s", `{"spec":{"selector":{"app":"db"}}}`)
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 p ready")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving")
}

// TestEndpointsMeta checks the metadata of Endpoints and slices, and the ports.
func TestEndpointsMeta(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("s", nil)
	service, err := looptest.Of[*corev1.Service](w, "services").Get(t.Context(), "s", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	created := service.CreationTimestamp.UTC().Format(time.RFC3339)
	const trigger = "endpoints.kubernetes.io/last-change-trigger-time"
	check := func(about string, m *meta.ObjectMeta, labels, annotations map[string]string) {
		t.Helper()
		if !maps.Equal(m.Labels, labels) || !maps.Equal(m.Annotations, annotations) {
			t.Errorf("%s: got labels %v, annotations %v; want %v, %v", about, m.Labels, m.Annotations, labels, annotations)
		}
	}
	w.wantEndpoints("s")
	e, err := w.endpoints().Get(t.Context(), "s", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check("endpoints", &e.ObjectMeta, map[string]string{"of": "s", "service.kubernetes.io/headless": "", "endpoints.kubernetes.io/managed-by": "endpoint-controller"},
		map[string]string{trigger: created})
	sliceLabels := func(of string) map[string]string {
		return map[string]string{"of": of, "service.kubernetes.io/headless": "", "kubernetes.io/service-name": "s",
			"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}
	}
	var slice *discoveryv1.EndpointSlice
	looptest.AwaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
		if len(list) == 0 {
			return "no slice"
		}
		slice = list[0]
		return ""
	})
	check("slice", &slice.ObjectMeta, sliceLabels("s"), map[string]string{trigger: created})
	yes := true
	owner := meta.OwnerReference{APIVersion: "v1", Kind: "Service", Name: "s", UID: service.UID, Controller: &yes, BlockOwnerDeletion: &yes}
	if len(slice.OwnerReferences) != 1 || fmt.Sprint(deref(slice.OwnerReferences[0])) != fmt.Sprint(deref(owner)) || !strings.HasPrefix(slice.Name, "s-") {
		t.Errorf("slice %s has the owners %v, want %v", slice.Name, slice.OwnerReferences, owner)
	}
	looptest.Patch(w, "services", "", "s", `{"metadata":{"labels":{"of":"t"}}}`)
	looptest.AwaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
		if len(list) == 1 && maps.Equal(list[0].Labels, sliceLabels("t")) && list[0].Name == slice.Name {
			return ""
		}
		return fmt.Sprintf("the labels of the service have changed, slices are %v", list)
	})
	looptest.Create(w, "pods", webPod("p"))
	w.runs("p", true, "10.0.0.1")
	pod, err := looptest.Of[*corev1.Pod](w, "pods").Get(t.Context(), "p", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	turned := pod.Status.Conditions[0].LastTransitionTime.UTC().Format(time.RFC3339)
	looptest.AwaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
		if got := list[0].Annotations[trigger]; len(list) != 1 || got != turned {
			return fmt.Sprintf("got the trigger time %q, want %s, when the pod became ready", got, turned)
		}
		return ""
	})
}

// deref returns the fields of an owner reference without pointers, for messages.
func deref(ref meta.OwnerReference) any {
	return []any{ref.APIVersion, ref.Kind, ref.Name, ref.UID, *ref.Controller, *ref.BlockOwnerDeletion}
}

// TestNamedPorts resolves named ports, also those of sidecar containers.
func TestNamedPorts(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("s", func(spec *corev1.ServiceSpec) {
		spec.Ports = []corev1.ServicePort{
			{Name: "http", Port: 80, TargetPort: meta.FromString("web")},
			{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: meta.FromString("web")},
			{Name: "side", Port: 90, TargetPort: meta.FromString("side")},
			{Name: "init", Port: 91, TargetPort: meta.FromString("init")},
		}
	})
	always := corev1.ContainerRestartPolicyAlways
	one := webPod("one", corev1.ContainerPort{Name: "web", ContainerPort: 8080})
	one.Spec.InitContainers = []corev1.Container{
		{Name: "side", Image: "i", RestartPolicy: &always, Ports: []corev1.ContainerPort{{Name: "side", ContainerPort: 9000}}},
		{Name: "init", Image: "i", Ports: []corev1.ContainerPort{{Name: "init", ContainerPort: 9001}}},
	}
	looptest.Create(w, "pods", one)
	looptest.Create(w, "pods", webPod("two", corev1.ContainerPort{Name: "web", ContainerPort: 8081}))
	looptest.Create(w, "pods", webPod("three", corev1.ContainerPort{Name: "web", ContainerPort: 8081, Protocol: corev1.ProtocolUDP}))
	looptest.Create(w, "pods", webPod("none"))
	for i, name := range []string{"one", "two", "three", "none"} {
		w.runs(name, true, fmt.Sprintf("10.0.0.%d", i+1))
	}
	w.wantEndpoints("s", "dns:8081/UDP 10.0.0.3 three ready", "http:8080/TCP side:9000/TCP 10.0.0.1 one ready", "http:8081/TCP 10.0.0.2 two ready")
	w.wantSlices("s", "IPv4 dns:8081/UDP 10.0.0.3 three@a/zone-a ready serving", "IPv4 http:8080/TCP side:9000/TCP 10.0.0.1 one@a/zone-a ready serving",
		"IPv4 http:8081/TCP 10.0.0.2 two@a/zone-a ready serving", "IPv4 10.0.0.4 none@a/zone-a ready serving")
}

// TestHeadless: a headless service, which need not have ports, has the host names of its pods.
func TestHeadless(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("s", func(spec *corev1.ServiceSpec) { spec.Ports = nil })
	pod := webPod("p")
	pod.Spec.Hostname, pod.Spec.Subdomain = "zero", "s"
	looptest.Create(w, "pods", pod)
	pod = webPod("q")
	pod.Spec.Hostname, pod.Spec.Subdomain = "one", "elsewhere"
	looptest.Create(w, "pods", pod)
	w.runs("p", true, "10.0.0.1")
	w.runs("q", true, "10.0.0.2")
	w.wantEndpoints("s", "10.0.0.1 p host=zero ready 10.0.0.2 q ready")
	w.wantSlices("s", "IPv4 10.0.0.1 p@a/zone-a host=zero ready serving, 10.0.0.2 q@a/zone-a ready serving")
}

// TestDualStack: a service has slices for each of its families.
func TestDualStack(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	dual := corev1.IPFamilyPolicyRequireDualStack
	w.service("s", func(spec *corev1.ServiceSpec) {
		spec.IPFamilies, spec.IPFamilyPolicy = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}, &dual
	})
	looptest.Create(w, "pods", webPod("p"))
	looptest.Create(w, "pods", webPod("q"))
	w.runs("p", true, "10.0.0.1", "fd00::1")
	w.runs("q", true, "10.0.0.2")
	w.wantEndpoints("s", "http:8080/TCP fd00::1 p ready")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving, 10.0.0.2 q@a/zone-a ready serving", "IPv6 http:8080/TCP fd00::1 p@a/zone-a ready serving")
	looptest.Patch(w, "services", "", "s", `{"spec":{"ipFamilies":["IPv6"],"ipFamilyPolicy":"SingleStack"}}`)
	w.wantSlices("s", "IPv6 http:8080/TCP fd00::1 p@a/zone-a ready serving")
}

// TestTrafficDistribution checks the hints for spec.trafficDistribution.
func TestTrafficDistribution(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	wish := "PreferSameNode"
	w.service("s", func(spec *corev1.ServiceSpec) { spec.TrafficDistribution = &wish })
	looptest.Create(w, "pods", webPod("p"))
	looptest.Create(w, "pods", webPod("q"))
	w.runs("p", true, "10.0.0.1")
	w.runs("q", false, "10.0.0.2")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving hints=[{zone-a}][{a}], 10.0.0.2 q@a/zone-a")
	looptest.Patch(w, "services", "", "s", `{"spec":{"trafficDistribution":"PreferSameZone"}}`)
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving hints=[{zone-a}][], 10.0.0.2 q@a/zone-a")
	looptest.Patch(w, "services", "", "s", `{"spec":{"trafficDistribution":null}}`)
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving, 10.0.0.2 q@a/zone-a")
}

// TestNodeThatComesLate: a pod has no endpoint before its node exists. An Event reports that.
func TestNodeThatComesLate(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("s", nil)
	pod := webPod("p")
	pod.Spec.NodeName = "late"
	looptest.Create(w, "pods", pod)
	w.runs("p", true, "10.0.0.1")
	looptest.AwaitList(w, looptest.Of[*corev1.Event](w, "events"), func(list []*corev1.Event) string {
		for _, ev := range list {
			if ev.Reason == "FailedToUpdateEndpointSlices" && ev.InvolvedObject.Name == "s" &&
				ev.Message == "Error updating Endpoint Slices for Service n/s: skipping Pod p for Service n/s: Node late Not Found" {
				return ""
			}
		}
		return fmt.Sprint("no event about the node: ", list)
	})
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 p ready")
	w.wantSlices("s", "IPv4 ")
	if _, err := client.For[*corev1.Node](w.S.Client(), corev1.GroupVersion.WithResource("nodes")).Create(t.Context(),
		&corev1.Node{ObjectMeta: meta.ObjectMeta{Name: "late"}}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@late ready serving")
}

// TestEndpointsMended checks that changes by other clients are undone, and that services which are
// not managed are left alone.
func TestEndpointsMended(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("name", func(spec *corev1.ServiceSpec) {
		*spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com", Selector: spec.Selector}
	})
	w.service("s", nil)
	looptest.Create(w, "pods", webPod("p"))
	w.runs("p", true, "10.0.0.1")
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 p ready")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving")
	w.remove("endpoints", "s")
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 p ready")
	list, err := w.slices().List(t.Context(), meta.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatal(list, err)
	}
	broken := list.Items[0]
	broken.Endpoints = nil
	if _, err := w.slices().Update(t.Context(), broken, meta.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving")
	if err := w.slices().Delete(t.Context(), broken.Name, meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving")
	foreign := &discoveryv1.EndpointSlice{ObjectMeta: meta.ObjectMeta{Name: "old", Labels: broken.Labels}, AddressType: discoveryv1.AddressTypeIPv4}
	if _, err := w.slices().Create(t.Context(), foreign, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	looptest.AwaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
		for _, s := range list {
			if s.Name == "old" {
				return "a slice of a service that is gone is still there"
			}
		}
		return ""
	})
	w.remove("services", "s")
	w.wantEndpoints("s", "none")
	w.wantEndpoints("name", "none")
}

// TestManyEndpoints checks the limits of slices and Endpoints, and that one changed pod changes one
// slice.
func TestManyEndpoints(t *testing.T) {
	store := memory.New(memory.Config{})
	putPods(t, store, 0, 1002)
	w := startWithNodes(t, server.Config{Storage: server.StorageConfig{Store: store}})
	w.service("s", nil)
	sizes := func(want ...int) map[string]string {
		t.Helper()
		versions := map[string]string{}
		looptest.AwaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
			var got []int
			for _, s := range list {
				got = append(got, len(s.Endpoints))
				versions[s.Name] = s.ResourceVersion
			}
			if slices.Sort(got); slices.Equal(got, want) {
				return ""
			}
			return fmt.Sprintf("slices hold %v endpoints, want %v", got, want)
		})
		return versions
	}
	full := slices.Repeat([]int{100}, 10)
	before := sizes(append([]int{2}, full...)...)
	looptest.AwaitList(w, w.endpoints(), func(list []*corev1.Endpoints) string {
		if len(list) == 1 && len(list[0].Subsets) == 1 && len(list[0].Subsets[0].Addresses) == 1000 &&
			list[0].Annotations["endpoints.kubernetes.io/over-capacity"] == "truncated" {
			return ""
		}
		return "the Endpoints are not those that fit, with the annotation about the others"
	})
	zero := int64(0)
	if err := looptest.Of[*corev1.Pod](w, "pods").Delete(t.Context(), "p0500", meta.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	after := sizes(append([]int{2, 99}, full[1:]...)...)
	changed := func(before, after map[string]string) (n int) {
		for name, version := range after {
			if before[name] != version {
				n++
			}
		}
		return n
	}
	if n := changed(before, after); n != 1 {
		t.Errorf("%d slices changed for one pod that is gone, want 1", n)
	}
	putPods(t, store, 1002, 1)
	last := sizes(append([]int{2}, full...)...)
	if n := changed(after, last); n != 1 {
		t.Errorf("%d slices changed for one pod that is new, want 1", n)
	}
}
