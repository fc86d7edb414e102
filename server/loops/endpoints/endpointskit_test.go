package endpoints_test

import (
	"fmt"
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
	"github.com/coracle-project/coracle/server/servertest/looptest"
	"github.com/coracle-project/coracle/storage"
)

// startWithNodes runs a dual-stack server with the namespace "n" and two nodes.
func startWithNodes(t *testing.T, cfg server.Config) *world {
	t.Helper()
	cfg.API.Services.ClusterIPRanges = []string{"10.0.0.0/16", "fd00::/108"}
	w := start(t, cfg)
	w.CreateNamespace()
	for _, name := range []string{"a", "b"} {
		_, err := client.For[*corev1.Node](w.S.Client(), corev1.GroupVersion.WithResource("nodes")).Create(t.Context(),
			&corev1.Node{ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"topology.kubernetes.io/zone": "zone-" + name}}}, meta.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// service creates a service with the selector app=web. change changes its spec.
func (w *world) service(name string, change func(spec *corev1.ServiceSpec)) {
	w.T.Helper()
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
	looptest.Create(w, "services", s)
}

// webPod returns a pod with the label app=web on node a.
func webPod(name string, ports ...corev1.ContainerPort) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "a", Containers: []corev1.Container{{Name: "c", Image: "i", Ports: ports}}},
	}
}

// runs sets the addresses of a pod, and whether it is ready.
func (w *world) runs(pod string, ready bool, ips ...string) {
	w.T.Helper()
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
	looptest.Patch(w, "pods", "status", pod, patch)
}

func (w *world) remove(resource, name string) {
	w.T.Helper()
	if err := looptest.Of[*meta.PartialObjectMetadata](w, resource).Delete(w.T.Context(), name, meta.DeleteOptions{}); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) slices() client.Resource[*discoveryv1.EndpointSlice] {
	return client.For[*discoveryv1.EndpointSlice](w.S.Client(), discoveryv1.GroupVersion.WithResource("endpointslices")).In("n")
}

func (w *world) endpoints() client.Resource[*corev1.Endpoints] {
	return looptest.Of[*corev1.Endpoints](w, "endpoints")
}

// wantSlices waits until the slices of a service are those that are described, in any order.
func (w *world) wantSlices(service string, want ...string) {
	w.T.Helper()
	slices.Sort(want)
	looptest.AwaitList(w, w.slices(), func(list []*discoveryv1.EndpointSlice) string {
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

// describeSlice returns the content of a slice as text: "IPv4 http:8080/TCP 10.0.0.1 pod@a/zone-a
// ready serving".
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

// wantEndpoints waits until the Endpoints of a service are as described; "none" means that there
// are no Endpoints.
func (w *world) wantEndpoints(service string, want ...string) {
	w.T.Helper()
	looptest.AwaitList(w, w.endpoints(), func(list []*corev1.Endpoints) string {
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

// putPods writes pods of the service into a store, as an earlier server would have.
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
