package core

import (
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// TestEphemeralContainers: a client can add ephemeral containers to a pod, but not change them
// later. The door changes nothing else.
func TestEphemeralContainers(t *testing.T) {
	r := resource(t, "pods")
	const common = `"imagePullPolicy":"Always","terminationMessagePolicy":"File"`
	const one = `{"name":"e","image":"i",` + common + `}`
	pod := func(labels, list string) *corev1.Pod {
		return checktest.Decode[corev1.Pod](t, `{"metadata":{"name":"p","labels":{`+labels+`}},"spec":{"containers":[{"name":"c","image":"i"}],"ephemeralContainers":[`+list+`]}}`)
	}
	for _, tt := range []struct{ name, old, new, want string }{
		{"one more", one, one + `,{"name":"f","image":"i",` + common + `}`, ``},
		{"in another order", one + `,{"name":"f","image":"i",` + common + `}`, `{"name":"f","image":"i",` + common + `},` + one, ``},
		{"invalid", ``, `{"name":"c","image":"",` + common + `}`, `spec.ephemeralContainers[0].image: Required value
spec.ephemeralContainers[0].name: Duplicate value: "c"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := pod(`"a":"b"`, tt.new)
			now.Spec.NodeName = "other"
			checktest.Want(t, update(r, "ephemeralcontainers", now, pod("", tt.old)), tt.want)
			if now.Spec.NodeName != "" || len(now.Labels) > 0 {
				t.Errorf("the door lets other things change: %v, %v", now.Spec.NodeName, now.Labels)
			}
		})
	}
	errs := update(r, "ephemeralcontainers", pod("", `{"name":"e","image":"j",`+common+`}`), pod("", one))
	if len(errs) != 1 || errs[0].Field != "spec.ephemeralContainers" {
		t.Errorf("a changed image: got %v", errs)
	}
	if errs = update(r, "ephemeralcontainers", pod("", ""), pod("", one)); len(errs) != 1 || errs[0].Detail != "existing ephemeral containers \"e\" may not be removed\n" {
		t.Errorf("removed: got %v", errs)
	}
	mirror := pod("", one)
	mirror.Annotations = map[string]string{"kubernetes.io/config.mirror": "m"}
	checktest.Want(t, update(r, "ephemeralcontainers", mirror, mirror), `[]: Forbidden: static pods do not support ephemeral containers`)
}

func TestResize(t *testing.T) {
	r := resource(t, "pods")
	const half = `"requests":{"cpu":"1","memory":"1Gi","example.com/a":"1"},"limits":{"cpu":"2","example.com/a":"1"}`
	ctr := func(resources string) string {
		return `"containers":[{"name":"c","image":"i","resources":{` + resources + `}}]`
	}
	sidecar := func(policy, resources string) string {
		return `"initContainers":[{"name":"s","image":"i",` + policy + `"resources":{` + resources + `}}],` + ctr("")
	}
	const restart = `"resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"}],`
	for _, tt := range []struct{ name, old, new, want string }{
		{"more", ctr(half), ctr(`"requests":{"cpu":"2","memory":"2Gi","example.com/a":"1"},"limits":{"cpu":"3","memory":"3Gi","example.com/a":"1"}`), ``},
		{"a policy", ctr(half), `"containers":[{"name":"c","image":"other","resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}],"resources":{` + half + `}}]`,
			`spec: Forbidden: only cpu and memory resources are mutable`},
		{"another resource", ctr(half), ctr(`"requests":{"cpu":"1","memory":"1Gi","example.com/a":"2"},"limits":{"cpu":"2","example.com/a":"2"}`),
			`spec: Forbidden: only cpu and memory resources are mutable`},
		{"class", ctr(half), ctr(`"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}`),
			`spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing
spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed
spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed
spec: Forbidden: only cpu and memory resources are mutable`},
		{"other containers", ctr(half), `"containers":[{"name":"d","image":"i","resources":{` + half + `}}]`,
			`spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize`},
		{"fewer containers", sidecar("", `"requests":{"cpu":"1"}`), ctr(`"requests":{"cpu":"1"}`),
			`spec.initContainers: Forbidden: initContainers may not be added or removed on resize`},
		{"sidecar", sidecar(`"restartPolicy":"Always",`+restart, half), sidecar(`"restartPolicy":"Always",`+restart, `"requests":{"cpu":"2","memory":"1Gi","example.com/a":"1"},"limits":{"cpu":"2","example.com/a":"1"}`), ``},
		{"setup", sidecar(restart, `"requests":{"cpu":"1"}`), sidecar(restart, `"requests":{"cpu":"2"}`),
			`spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized`},
		{"setup otherwise", sidecar(``, `"requests":{"cpu":"1"}`), sidecar(``, `"requests":{"cpu":"1","ephemeral-storage":"1"}`),
			`spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable`},
		{"pod", `"resources":{` + `"requests":{"cpu":"1"}` + `},` + ctr(``), `"resources":{"requests":{"cpu":"2","memory":"1"}},` + ctr(``), ``},
		{"pod anew", ctr(`"requests":{"cpu":"1"}`), `"resources":{"requests":{"cpu":"2"}},` + ctr(`"requests":{"cpu":"1"}`), ``},
		{"pod no more", `"resources":{"requests":{"cpu":"1"}},` + ctr(`"requests":{"cpu":"1"}`), ctr(`"requests":{"cpu":"1"}`),
			`spec.resources: Forbidden: pod-level resources cannot be removed`},
		{"less of a pod", `"resources":{"requests":{"cpu":"1","memory":"1"},"limits":{"cpu":"2"}},` + ctr(``), `"resources":{"requests":{"memory":"1"}},` + ctr(``),
			`spec.resources.requests: Forbidden: pod-level resource requests cannot be removed
spec.resources.limits: Forbidden: pod-level resource limits cannot be removed`},
		{"pages of a pod", `"resources":{"requests":{"cpu":"1"}},` + ctr(``), `"resources":{"requests":{"cpu":"1","hugepages-2Mi":"2Mi"},"limits":{"hugepages-2Mi":"2Mi"}},` + ctr(``),
			`spec: Forbidden: only cpu and memory resources are mutable at pod-level`},
		{"Windows", `"os":{"name":"windows"},` + ctr(half), `"os":{"name":"windows"},` + ctr(half), `[]: Forbidden: windows pods cannot be resized`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old := checktest.Decode[corev1.Pod](t, `{"metadata":{"name":"p"},"spec":{`+tt.old+`},"status":{"qosClass":"Burstable"}}`)
			if tt.name == "Windows" {
				old.Status.QOSClass = ""
			}
			now := checktest.Decode[corev1.Pod](t, `{"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"nodeName":"n",`+tt.new+`},"status":{"qosClass":"Burstable"}}`)
			checktest.Want(t, update(r, "resize", now, old), tt.want)
		})
	}
}

// TestResizeNode: the node must support resizing, and no claim of the pod may take part in the
// resize.
func TestResizeNode(t *testing.T) {
	r := resource(t, "pods")
	pod := func(status string) *corev1.Pod {
		return checktest.Decode[corev1.Pod](t, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]},"status":{`+status+`}}`)
	}
	for _, tt := range []struct{ status, want string }{
		{``, ``},
		{`"containerStatuses":[{"name":"c","state":{"waiting":{}}},{"name":"d","state":{"running":{}},"resources":{}},{"name":"e","state":{"running":{}}}]`, ``},
		{`"containerStatuses":[{"name":"c","state":{"running":{}}}]`, `spec: Forbidden: Pod running on node without support for resize`},
		{`"nodeAllocatableResourceClaimStatuses":[{"resourceClaimName":"c"}]`, `spec: Forbidden: pods with node allocatable resource claims cannot be resized`},
	} {
		checktest.Want(t, update(r, "resize", pod(tt.status), pod(tt.status)), tt.want)
	}
	mirror := pod("")
	mirror.Annotations = map[string]string{"kubernetes.io/config.mirror": "m"}
	checktest.Want(t, update(r, "resize", mirror, mirror), `[]: Forbidden: static pods cannot be resized`)
}
