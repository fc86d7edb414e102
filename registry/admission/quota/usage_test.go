package quota_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission/quota"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// used returns the usage of an object as text, without its count and without zeros.
func used(resource string, obj meta.Typed, s quota.Surroundings) string {
	var texts []string
	for _, x := range quota.Usage(groupResource(resource), obj, s) {
		if !strings.HasPrefix(string(x.Name), "count/") && !x.Quantity.IsZero() {
			texts = append(texts, fmt.Sprintf("%s=%s", x.Name, x.Quantity))
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

func TestPodUsage(t *testing.T) {
	const one = `{"name":"a","resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}}`
	for _, tt := range []struct{ name, pod, want string }{
		{"nothing said", `{"spec":{"containers":[{"name":"a"}]}}`, "pods=1"},
		{"an init container that needs more than the others", `{"spec":{"initContainers":[{"name":"i","resources":{"requests":{"cpu":"3"}}}],"containers":[` + one + `]}}`,
			"cpu=3 limits.cpu=2 pods=1 requests.cpu=3"},
		{"beside a sidecar that was started before", `{"spec":{"initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"500m"}}},
			{"name":"i","resources":{"requests":{"cpu":"3"}}}],"containers":[` + one + `]}}`, "cpu=3500m limits.cpu=2 pods=1 requests.cpu=3500m"},
		{"overhead", `{"spec":{"overhead":{"cpu":"250m","memory":"1Mi"},"containers":[` + one + `]}}`,
			"cpu=1250m limits.cpu=2250m memory=1Mi pods=1 requests.cpu=1250m requests.memory=1Mi"},
		{"the pod as a whole", `{"spec":{"resources":{"requests":{"cpu":"4"}},"containers":[` + one + `]}}`, "cpu=4 limits.cpu=2 pods=1 requests.cpu=4"},
		{"all sorts", `{"spec":{"containers":[{"name":"a","resources":{"requests":{"ephemeral-storage":"1Gi","hugepages-2Mi":"4Mi","example.com/gpu":"1","deviceclass.resource.kubernetes.io/c":"2"}}}]}}`,
			"ephemeral-storage=1Gi hugepages-2Mi=4Mi pods=1 requests.deviceclass.resource.kubernetes.io/c=2 requests.ephemeral-storage=1Gi requests.example.com/gpu=1 requests.hugepages-2Mi=4Mi"},
		{"a resize under way", `{"spec":{"containers":[` + one + `]},"status":{"containerStatuses":[{"name":"a","allocatedResources":{"cpu":"3"},"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}]}}`,
			"cpu=3 limits.cpu=2 pods=1 requests.cpu=3"},
		{"a resize that cannot be", `{"spec":{"containers":[` + one + `]},"status":{"conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"}],
			"containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"500m"},"limits":{"cpu":"1"}}}]}}`, "cpu=500m limits.cpu=1 pods=1 requests.cpu=500m"},
		{"ended", `{"spec":{"containers":[` + one + `]},"status":{"phase":"Failed"}}`, ""},
		{"should have ended", `{"metadata":{"deletionTimestamp":"2026-05-01T11:00:00Z","deletionGracePeriodSeconds":30},"spec":{"containers":[{"name":"a"}]}}`, ""},
		{"is ending", `{"metadata":{"deletionTimestamp":"2026-05-01T11:59:45Z","deletionGracePeriodSeconds":30},"spec":{"containers":[{"name":"a"}]}}`, "pods=1"},
	} {
		if got := used("pods", checktest.Decode[corev1.Pod](t, tt.pod), surroundings); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestServiceUsage(t *testing.T) {
	for _, tt := range []struct{ spec, want string }{
		{`"ports":[{"port":1}]`, "services=1"},
		{`"type":"NodePort","ports":[{"port":1},{"port":2}]`, "services.nodeports=2 services=1"},
		{`"type":"LoadBalancer","ports":[{"port":1}]`, "services.loadbalancers=1 services.nodeports=1 services=1"},
		{`"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,"ports":[{"port":1},{"port":2,"nodePort":30000}]`, "services.loadbalancers=1 services.nodeports=1 services=1"},
	} {
		if got := used("services", checktest.Decode[corev1.Service](t, `{"spec":{`+tt.spec+`}}`), surroundings); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.spec, got, tt.want)
		}
	}
}

func TestVolumeClaimUsage(t *testing.T) {
	for _, tt := range []struct{ claim, want string }{
		{`{}`, "persistentvolumeclaims=1"},
		{`{"spec":{"storageClassName":"gold","resources":{"requests":{"storage":"1500m"}}}}`,
			"gold.storageclass.storage.k8s.io/persistentvolumeclaims=1 gold.storageclass.storage.k8s.io/requests.storage=2 persistentvolumeclaims=1 requests.storage=2"},
		{`{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"old"}},"spec":{"storageClassName":"gold"}}`,
			"old.storageclass.storage.k8s.io/persistentvolumeclaims=1 persistentvolumeclaims=1"},
		{`{"spec":{"resources":{"requests":{"storage":"1Gi"}}},"status":{"allocatedResources":{"storage":"2Gi"}}}`, "persistentvolumeclaims=1 requests.storage=2Gi"},
	} {
		if got := used("persistentvolumeclaims", checktest.Decode[corev1.PersistentVolumeClaim](t, tt.claim), surroundings); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.claim, got, tt.want)
		}
	}
}

// TestDeviceUsage computes the usage of claims. One of them was made for the extended resources of
// a pod, which has been charged for one device.
func TestDeviceUsage(t *testing.T) {
	class := checktest.Decode[resourcev1.DeviceClass](t, `{"metadata":{"name":"gpu"},"spec":{"extendedResourceName":"example.com/gpu"}}`)
	user := checktest.Decode[corev1.Pod](t, `{"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"containers":[{"name":"a","resources":{"requests":{"example.com/gpu":"1"}}}]}}`)
	earlier := checktest.Decode[resourcev1.ResourceClaim](t, `{"metadata":{"name":"a","namespace":"ns","annotations":{"resource.kubernetes.io/extended-resource-claim":"true"},
		"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}]}}`)
	world := func(claims ...*resourcev1.ResourceClaim) quota.Surroundings {
		s := surroundings
		s.Classes = func() []*resourcev1.DeviceClass { return []*resourcev1.DeviceClass{class} }
		s.Pod = func(namespace, name string) *corev1.Pod {
			if namespace == "ns" && name == "p" {
				return user
			}
			return nil
		}
		s.Claims = func(string, meta.UID) ([]*resourcev1.ResourceClaim, bool) { return claims, true }
		return s
	}
	const made = `{"metadata":{"name":"b","namespace":"ns","annotations":{"resource.kubernetes.io/extended-resource-claim":"true"},
		"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}]},
		"spec":{"devices":{"requests":[{"exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":2}}]}}}`
	for _, tt := range []struct {
		name, claim string
		in          quota.Surroundings
		want        string
	}{
		{"all devices", `{"spec":{"devices":{"requests":[{"exactly":{"deviceClassName":"nic","allocationMode":"All"}}]}}}`, world(),
			"nic.deviceclass.resource.k8s.io/devices=32 requests.deviceclass.resource.kubernetes.io/nic=32"},
		{"the worst alternative", `{"spec":{"devices":{"requests":[{"firstAvailable":[{"deviceClassName":"nic","allocationMode":"ExactCount","count":1},{"deviceClassName":"nic","allocationMode":"ExactCount","count":2}]}]}}}`, world(),
			"nic.deviceclass.resource.k8s.io/devices=2 requests.deviceclass.resource.kubernetes.io/nic=2"},
		{"made for a pod, which has paid one of two", made, world(),
			"gpu.deviceclass.resource.k8s.io/devices=2 requests.deviceclass.resource.kubernetes.io/gpu=2 requests.example.com/gpu=1"},
		{"a second claim for the pod", made, world(earlier),
			"gpu.deviceclass.resource.k8s.io/devices=2 requests.deviceclass.resource.kubernetes.io/gpu=2 requests.example.com/gpu=2"},
		{"no surroundings", made, surroundings, "gpu.deviceclass.resource.k8s.io/devices=2 requests.deviceclass.resource.kubernetes.io/gpu=2"},
	} {
		if got := used("resourceclaims.resource.k8s.io", checktest.Decode[resourcev1.ResourceClaim](t, tt.claim), tt.in); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}
