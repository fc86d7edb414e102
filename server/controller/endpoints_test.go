package controller_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// startWithNodes runs a server with the namespace "n" and two nodes.
func startWithNodes(t *testing.T, cfg server.Config) *world {
	t.Helper()
	w := start(t, cfg)
	w.createNamespace()
	for _, name := range []string{"a", "b"} {
		_, err := client.For[*corev1.Node](w.s.Client(), corev1.GroupVersion.WithResource("nodes")).Create(t.Context(),
			&corev1.Node{ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"topology.kubernetes.io/zone": "zone-" + name}}}, meta.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// service makes a service with the selector app=web, whose spec is otherwise what change makes it.
func (w *world) service(name string, change func(spec *corev1.ServiceSpec)) {
	w.t.Helper()
	s := &corev1.Service{
		ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"of": name}},
		Spec: corev1.ServiceSpec{
			ClusterIP: "None", Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: meta.FromInt32(8080)}},
		},
	}
	if change != nil {
		change(&s.Spec)
	}
	create(w, "services", s)
}

// webPod is a pod with the label app=web on node a.
func webPod(name string, ports ...corev1.ContainerPort) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "a", Containers: []corev1.Container{{Name: "c", Image: "i", Ports: ports}}},
	}
}

// runs gives a pod its addresses, and makes it ready, or not.
func (w *world) runs(pod string, ready bool, ips ...string) {
	w.t.Helper()
	var list []string
	for _, ip := range ips {
		list = append(list, fmt.Sprintf(`{"ip":%q}`, ip))
	}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	patch := fmt.Sprintf(`{"status":{"phase":"Running","podIP":%q,"podIPs":[%s],"conditions":[{"type":"Ready","status":%q,"lastTransitionTime":%q}]}}`,
		ips[0], strings.Join(list, ","), status, time.Now().UTC().Format(time.RFC3339))
	w.patch("pods", "status", pod, patch)
}

func (w *world) patch(resource, sub, name, patch string) {
	w.t.Helper()
	r := resourceOf[*meta.PartialObjectMetadata](w, resource)
	if sub != "" {
		r = r.Sub(sub)
	}
	if _, err := r.Patch(w.t.Context(), name, client.MergePatch, []byte(patch), meta.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(resource, name string) {
	w.t.Helper()
	if err := resourceOf[*meta.PartialObjectMetadata](w, resource).Delete(w.t.Context(), name, meta.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) slices() client.Resource[*discoveryv1.EndpointSlice] {
	return client.For[*discoveryv1.EndpointSlice](w.s.Client(), discoveryv1.GroupVersion.WithResource("endpointslices")).In("n")
}

func (w *world) endpoints() client.Resource[*corev1.Endpoints] {
	return resourceOf[*corev1.Endpoints](w, "endpoints")
}

// awaitList lists a resource, and again after each change, until ok.
func awaitList[T meta.Object](w *world, r client.Resource[T], ok func(list []T) (problem string)) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	problem := "nothing was listed"
	for {
		list, err := r.List(ctx, meta.ListOptions{})
		if err != nil {
			w.t.Fatalf("%v; %s", err, problem)
		}
		if problem = ok(list.Items); problem == "" {
			return
		}
		watch, err := r.Watch(ctx, meta.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			w.t.Fatalf("%v; %s", err, problem)
		}
		_, err = watch.Next()
		watch.Close()
		if err != nil {
			w.t.Fatalf("%v; %s", err, problem)
		}
	}
}

// wantSlices waits until the slices of a service are those that are described, in any order.
func (w *world) wantSlices(service string, want ...string) {
	w.t.Helper()
	slices.Sort(want)
	awaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
		var got []string
		for _, s := range list {
			if s.Labels[discoveryv1.LabelServiceName] == service {
				got = append(got, describeSlice(s))
			}
		}
		slices.Sort(got)
		if slices.Equal(got, want) {
			return ""
		}
		return fmt.Sprintf("slices of %s:\ngot  %s\nwant %s", service, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	})
}

// describeSlice says what a slice holds: "IPv4 http:8080/TCP 10.0.0.1 pod@a/zone-a ready serving".
func describeSlice(s *discoveryv1.EndpointSlice) string {
	parts := []string{string(s.AddressType)}
	for _, p := range s.Ports {
		parts = append(parts, fmt.Sprintf("%s:%d/%s", *p.Name, *p.Port, *p.Protocol))
	}
	var endpoints []string
	for _, e := range s.Endpoints {
		text := strings.Join(e.Addresses, "+")
		if e.TargetRef != nil {
			text += " " + e.TargetRef.Name
		}
		if e.NodeName != nil {
			text += "@" + *e.NodeName
		}
		if e.Zone != nil {
			text += "/" + *e.Zone
		}
		if e.Hostname != nil {
			text += " host=" + *e.Hostname
		}
		for _, c := range []struct {
			name string
			is   *bool
		}{{"ready", e.Conditions.Ready}, {"serving", e.Conditions.Serving}, {"terminating", e.Conditions.Terminating}} {
			if c.is != nil && *c.is {
				text += " " + c.name
			}
		}
		if e.Hints != nil {
			text += fmt.Sprintf(" hints=%v%v", e.Hints.ForZones, e.Hints.ForNodes)
		}
		endpoints = append(endpoints, text)
	}
	slices.Sort(endpoints)
	return strings.Join(append(parts, strings.Join(endpoints, ", ")), " ")
}

// wantEndpoints waits until the Endpoints of a service are those that are described; "none": there are no Endpoints.
func (w *world) wantEndpoints(service string, want ...string) {
	w.t.Helper()
	awaitList(w, w.endpoints(), func(list []*corev1.Endpoints) string {
		got := []string{"none"}
		for _, e := range list {
			if e.Name == service {
				got = describeEndpoints(e)
			}
		}
		if slices.Equal(got, want) {
			return ""
		}
		return fmt.Sprintf("endpoints of %s:\ngot  %s\nwant %s", service, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	})
}

func describeEndpoints(e *corev1.Endpoints) []string {
	var list []string
	for _, s := range e.Subsets {
		var parts []string
		for _, p := range s.Ports {
			parts = append(parts, fmt.Sprintf("%s:%d/%s", p.Name, p.Port, p.Protocol))
		}
		add := func(addresses []corev1.EndpointAddress, state string) {
			for _, a := range addresses {
				text := a.IP + " "
				if a.TargetRef != nil {
					text += a.TargetRef.Name + " "
				}
				if a.Hostname != "" {
					text += "host=" + a.Hostname + " "
				}
				parts = append(parts, text+state)
			}
		}
		add(s.Addresses, "ready")
		add(s.NotReadyAddresses, "unready")
		list = append(list, strings.Join(parts, " "))
	}
	return list
}

// TestEndpointsFollowPods takes a pod from its creation to its end.
func TestEndpointsFollowPods(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("s", nil)
	w.service("early", func(spec *corev1.ServiceSpec) { spec.PublishNotReadyAddresses = true })
	w.wantEndpoints("s")
	w.wantSlices("s", "IPv4 ")
	create(w, "pods", webPod("p"))
	create(w, "pods", &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: "other"}, Spec: webPod("").Spec})
	w.runs("other", true, "10.0.0.9")
	w.runs("p", false, "10.0.0.1")
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 p unready")
	w.wantEndpoints("early", "http:8080/TCP 10.0.0.1 p ready")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a")
	w.wantSlices("early", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready")
	w.runs("p", true, "10.0.0.1")
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 p ready")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving")
	w.remove("pods", "p") // it has its time to end
	w.wantEndpoints("s")
	w.wantEndpoints("early", "http:8080/TCP 10.0.0.1 p ready")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a serving terminating")
	w.wantSlices("early", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving terminating")
	w.patch("pods", "status", "p", `{"status":{"phase":"Succeeded"}}`)
	w.wantSlices("s", "IPv4 ")
	w.wantSlices("early", "IPv4 ")
	w.wantEndpoints("early")
}

// TestEndpointsFollowLabels moves a pod from one service to another.
func TestEndpointsFollowLabels(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("s", nil)
	w.service("db", func(spec *corev1.ServiceSpec) { spec.Selector["app"] = "db" })
	create(w, "pods", webPod("p"))
	w.runs("p", true, "10.0.0.1")
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 p ready")
	w.patch("pods", "", "p", `{"metadata":{"labels":{"app":"db"}}}`)
	w.wantEndpoints("s")
	w.wantSlices("s", "IPv4 ")
	w.wantEndpoints("db", "http:8080/TCP 10.0.0.1 p ready")
	w.wantSlices("db", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving")
	w.patch("services", "", "s", `{"spec":{"selector":{"app":"db"}}}`)
	w.wantEndpoints("s", "http:8080/TCP 10.0.0.1 p ready")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving")
}

// TestEndpointsMeta looks at what endpoints say beside addresses.
func TestEndpointsMeta(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("s", nil)
	service, err := resourceOf[*corev1.Service](w, "services").Get(t.Context(), "s", meta.GetOptions{})
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
	awaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
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
	w.patch("services", "", "s", `{"metadata":{"labels":{"of":"t"}}}`)
	awaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
		if len(list) == 1 && maps.Equal(list[0].Labels, sliceLabels("t")) && list[0].Name == slice.Name {
			return ""
		}
		return fmt.Sprintf("the labels of the service have changed, slices are %v", list)
	})
	create(w, "pods", webPod("p"))
	w.runs("p", true, "10.0.0.1")
	pod, err := resourceOf[*corev1.Pod](w, "pods").Get(t.Context(), "p", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	turned := pod.Status.Conditions[0].LastTransitionTime.UTC().Format(time.RFC3339)
	awaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
		if got := list[0].Annotations[trigger]; len(list) != 1 || got != turned {
			return fmt.Sprintf("got the trigger time %q, want %s, when the pod became ready", got, turned)
		}
		return ""
	})
}

// deref is an owner reference without pointers, to be shown.
func deref(ref meta.OwnerReference) any {
	return []any{ref.APIVersion, ref.Kind, ref.Name, ref.UID, *ref.Controller, *ref.BlockOwnerDeletion}
}

// TestNamedPorts finds ports by their names, also those of containers that run beside the others.
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
	create(w, "pods", one)
	create(w, "pods", webPod("two", corev1.ContainerPort{Name: "web", ContainerPort: 8081}))
	create(w, "pods", webPod("three", corev1.ContainerPort{Name: "web", ContainerPort: 8081, Protocol: corev1.ProtocolUDP}))
	create(w, "pods", webPod("none"))
	for i, name := range []string{"one", "two", "three", "none"} {
		w.runs(name, true, fmt.Sprintf("10.0.0.%d", i+1))
	}
	w.wantEndpoints("s", "dns:8081/UDP 10.0.0.3 three ready", "http:8080/TCP side:9000/TCP 10.0.0.1 one ready", "http:8081/TCP 10.0.0.2 two ready")
	w.wantSlices("s", "IPv4 dns:8081/UDP 10.0.0.3 three@a/zone-a ready serving", "IPv4 http:8080/TCP side:9000/TCP 10.0.0.1 one@a/zone-a ready serving",
		"IPv4 http:8081/TCP 10.0.0.2 two@a/zone-a ready serving", "IPv4 10.0.0.4 none@a/zone-a ready serving")
}

// TestHeadless gives pods their names within a service, which need not have ports.
func TestHeadless(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("s", func(spec *corev1.ServiceSpec) { spec.Ports = nil })
	pod := webPod("p")
	pod.Spec.Hostname, pod.Spec.Subdomain = "zero", "s"
	create(w, "pods", pod)
	pod = webPod("q")
	pod.Spec.Hostname, pod.Spec.Subdomain = "one", "elsewhere"
	create(w, "pods", pod)
	w.runs("p", true, "10.0.0.1")
	w.runs("q", true, "10.0.0.2")
	w.wantEndpoints("s", "10.0.0.1 p host=zero ready 10.0.0.2 q ready")
	w.wantSlices("s", "IPv4 10.0.0.1 p@a/zone-a host=zero ready serving, 10.0.0.2 q@a/zone-a ready serving")
}

// TestDualStack has slices for each family that the service has.
func TestDualStack(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	dual := corev1.IPFamilyPolicyRequireDualStack
	w.service("s", func(spec *corev1.ServiceSpec) {
		spec.IPFamilies, spec.IPFamilyPolicy = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}, &dual
	})
	create(w, "pods", webPod("p"))
	create(w, "pods", webPod("q"))
	w.runs("p", true, "10.0.0.1", "fd00::1")
	w.runs("q", true, "10.0.0.2")
	w.wantEndpoints("s", "http:8080/TCP fd00::1 p ready")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving, 10.0.0.2 q@a/zone-a ready serving", "IPv6 http:8080/TCP fd00::1 p@a/zone-a ready serving")
	w.patch("services", "", "s", `{"spec":{"ipFamilies":["IPv6"],"ipFamilyPolicy":"SingleStack"}}`)
	w.wantSlices("s", "IPv6 http:8080/TCP fd00::1 p@a/zone-a ready serving")
}

// TestTrafficDistribution hints at where traffic should stay.
func TestTrafficDistribution(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	wish := "PreferSameNode"
	w.service("s", func(spec *corev1.ServiceSpec) { spec.TrafficDistribution = &wish })
	create(w, "pods", webPod("p"))
	create(w, "pods", webPod("q"))
	w.runs("p", true, "10.0.0.1")
	w.runs("q", false, "10.0.0.2")
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving hints=[{zone-a}][{a}], 10.0.0.2 q@a/zone-a")
	w.patch("services", "", "s", `{"spec":{"trafficDistribution":"PreferSameZone"}}`)
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving hints=[{zone-a}][], 10.0.0.2 q@a/zone-a")
	w.patch("services", "", "s", `{"spec":{"trafficDistribution":null}}`)
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@a/zone-a ready serving, 10.0.0.2 q@a/zone-a")
}

// TestNodeThatComesLate leaves a pod out until its node is there, and says so.
func TestNodeThatComesLate(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("s", nil)
	pod := webPod("p")
	pod.Spec.NodeName = "late"
	create(w, "pods", pod)
	w.runs("p", true, "10.0.0.1")
	awaitList(w, resourceOf[*corev1.Event](w, "events"), func(list []*corev1.Event) string {
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
	if _, err := client.For[*corev1.Node](w.s.Client(), corev1.GroupVersion.WithResource("nodes")).Create(t.Context(),
		&corev1.Node{ObjectMeta: meta.ObjectMeta{Name: "late"}}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.wantSlices("s", "IPv4 http:8080/TCP 10.0.0.1 p@late ready serving")
}

// TestEndpointsMended puts right what others do to endpoints, and leaves alone what is not the controllers'.
func TestEndpointsMended(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.service("name", func(spec *corev1.ServiceSpec) {
		*spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com", Selector: spec.Selector}
	})
	w.service("s", nil)
	create(w, "pods", webPod("p"))
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
	awaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
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

// putPods writes pods of the service into a store, as a server before would have.
func putPods(t *testing.T, store storage.Store, first, n int) {
	t.Helper()
	for i := first; i < first+n; i++ {
		p := webPod(fmt.Sprintf("p%04d", i))
		p.Kind, p.APIVersion, p.Namespace, p.UID = "Pod", "v1", "n", meta.UID(fmt.Sprintf("uid-%d", i))
		ip := fmt.Sprintf("10.0.%d.%d", i/250, i%250+1)
		p.Status = corev1.PodStatus{
			PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}
		data, err := codec.AppendJSON(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Put(t.Context(), "/registry/pods/n/"+p.Name, data, storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyEndpoints keeps slices and Endpoints within their bounds, and changes no slice without need.
func TestManyEndpoints(t *testing.T) {
	store := memory.New(memory.Config{})
	putPods(t, store, 0, 1002)
	w := startWithNodes(t, server.Config{Storage: server.StorageConfig{Store: store}})
	w.service("s", nil)
	sizes := func(want ...int) map[string]string {
		t.Helper()
		versions := map[string]string{}
		awaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
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
	awaitList(w, w.endpoints(), func(list []*corev1.Endpoints) string {
		if len(list) == 1 && len(list[0].Subsets) == 1 && len(list[0].Subsets[0].Addresses) == 1000 &&
			list[0].Annotations["endpoints.kubernetes.io/over-capacity"] == "truncated" {
			return ""
		}
		return "the Endpoints are not those that fit, with the annotation about the others"
	})
	zero := int64(0)
	if err := resourceOf[*corev1.Pod](w, "pods").Delete(t.Context(), "p0500", meta.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
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
