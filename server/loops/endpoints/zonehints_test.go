package endpoints_test

import (
	"fmt"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

func (w *world) patchNode(name, sub, patch string) {
	w.T.Helper()
	r := client.For[*meta.PartialObjectMetadata](w.S.Client(), corev1.GroupVersion.WithResource("nodes"))
	if sub != "" {
		r = r.Sub(sub)
	}
	if _, err := r.Patch(w.T.Context(), name, client.MergePatch, []byte(patch), meta.PatchOptions{}); err != nil {
		w.T.Fatal(err)
	}
}

// nodeRuns makes a node ready, with an amount of allocatable CPU.
func (w *world) nodeRuns(name, cpu string) {
	w.T.Helper()
	w.patchNode(name, "status", fmt.Sprintf(`{"status":{"allocatable":{"cpu":%q},"conditions":[{"type":"Ready","status":"True"}]}}`, cpu))
}

// wantHintEvent waits for an Event about the hints of the service s.
func (w *world) wantHintEvent(typ, reason, message string) {
	w.T.Helper()
	looptest.AwaitList(w, looptest.Of[*corev1.Event](w, "events"), func(list []*corev1.Event) string {
		for _, ev := range list {
			about := ev.InvolvedObject
			if ev.Type == typ && ev.Reason == reason && ev.Message == message && about.Kind == "Service" && about.Name == "s" &&
				ev.Source.Component == "endpoint-slice-controller" {
				return ""
			}
		}
		return fmt.Sprintf("no event %s %s %q: %v", typ, reason, message, list)
	})
}

const askForZones = `{"metadata":{"annotations":{"service.kubernetes.io/topology-mode":"Auto"}}}`

// TestZoneHints changes the CPU, roles and conditions of the nodes of a service that asks for hints
// by the CPU of each zone. At first the nodes report no CPU. In the end the service does not ask
// for hints.
func TestZoneHints(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	sameZone := "PreferSameZone"
	w.service("s", func(spec *corev1.ServiceSpec) { spec.TrafficDistribution = &sameZone })
	for i, node := range []string{"a", "a", "b", "b"} {
		pod := webPod(fmt.Sprint("p", i))
		pod.Spec.NodeName = node
		looptest.Create(w, "pods", pod)
		w.runs(pod.Name, true, fmt.Sprint("10.0.0.", i))
	}
	slice := func(hints ...string) string {
		text := "IPv4 http:8080/TCP "
		for i, node := range []string{"a", "a", "b", "b"} {
			if i > 0 {
				text += ", "
			}
			text += fmt.Sprintf("10.0.0.%d p%d@%s/zone-%s ready serving", i, i, node, node)
			if hints != nil {
				text += fmt.Sprintf(" hints=[{zone-%s}][]", hints[i])
			}
		}
		return text
	}
	w.wantSlices("s", slice("a", "a", "b", "b"))

	looptest.Patch(w, "services", "", "s", askForZones) // the annotation overrides the field
	w.wantSlices("s", slice())
	w.wantHintEvent("Warning", "TopologyAwareHintsDisabled",
		"Insufficient Node information: allocatable CPU or zone not specified on one or more nodes, addressType: IPv4")

	w.nodeRuns("b", "12")
	w.nodeRuns("a", "4") // a quarter of the CPU
	w.wantSlices("s", slice("b", "a", "b", "b"))
	w.wantHintEvent("Normal", "TopologyAwareHintsEnabled", "Topology Aware Hints has been enabled, addressType: IPv4")

	w.nodeRuns("a", "12") // one of four endpoints is too few for half of the CPU
	w.wantSlices("s", slice("a", "a", "b", "b"))
	w.patchNode("a", "", `{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}`)
	w.wantSlices("s", slice())
	w.patchNode("a", "", `{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":null}}}`)
	w.wantSlices("s", slice("a", "a", "b", "b"))
	w.patchNode("a", "status", `{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`)
	w.wantSlices("s", slice())
	w.nodeRuns("a", "12")
	w.wantSlices("s", slice("a", "a", "b", "b"))

	looptest.Patch(w, "services", "", "s",
		`{"metadata":{"annotations":{"service.kubernetes.io/topology-mode":null}},"spec":{"trafficDistribution":null}}`)
	w.wantSlices("s", slice())
	w.wantHintEvent("Warning", "TopologyAwareHintsDisabled", "Topology Aware Hints has been disabled, addressType: IPv4")
	looptest.Patch(w, "services", "", "s", `{"metadata":{"annotations":{"service.kubernetes.io/topology-aware-hints":"auto"}}}`)
	w.wantSlices("s", slice("a", "a", "b", "b"))
}

// TestZoneHintsStay: valid hints are not replaced by equally good ones. The hints of the two
// families are chosen independently.
func TestZoneHintsStay(t *testing.T) {
	w := startWithNodes(t, server.Config{})
	w.nodeRuns("a", "4")
	w.nodeRuns("b", "4")
	dual := corev1.IPFamilyPolicyRequireDualStack
	w.service("s", func(spec *corev1.ServiceSpec) { spec.IPFamilyPolicy = &dual })
	looptest.Patch(w, "services", "", "s", askForZones)
	looptest.Create(w, "pods", webPod("p0"))
	looptest.Create(w, "pods", webPod("p1"))
	w.runs("p0", true, "10.0.0.1")
	w.runs("p1", true, "10.0.0.2", "fd00::2")
	w.wantHintEvent("Normal", "TopologyAwareHintsEnabled", "Topology Aware Hints has been enabled, addressType: IPv4")
	w.wantHintEvent("Warning", "TopologyAwareHintsDisabled", "Insufficient number of endpoints (1 endpoints, 2 zones), addressType: IPv6")
	w.wantSlices("s",
		"IPv4 http:8080/TCP 10.0.0.1 p0@a/zone-a ready serving hints=[{zone-b}][], 10.0.0.2 p1@a/zone-a ready serving hints=[{zone-a}][]",
		"IPv6 http:8080/TCP fd00::2 p1@a/zone-a ready serving")

	list, err := w.slices().List(t.Context(), meta.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Items {
		if s.AddressType != "IPv4" {
			continue
		}
		for i := range s.Endpoints { // swap the hints
			zone := map[string]string{"p0": "zone-a", "p1": "zone-b"}[s.Endpoints[i].TargetRef.Name]
			s.Endpoints[i].Hints.ForZones[0].Name = zone
		}
		if _, err := w.slices().Update(t.Context(), s, meta.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	looptest.Create(w, "pods", webPod("p2"))
	w.runs("p2", true, "fd00::3") // shows that the controller has worked since then
	w.wantSlices("s",
		"IPv4 http:8080/TCP 10.0.0.1 p0@a/zone-a ready serving hints=[{zone-a}][], 10.0.0.2 p1@a/zone-a ready serving hints=[{zone-b}][]",
		"IPv6 http:8080/TCP fd00::2 p1@a/zone-a ready serving hints=[{zone-b}][], fd00::3 p2@a/zone-a ready serving hints=[{zone-a}][]")
}
