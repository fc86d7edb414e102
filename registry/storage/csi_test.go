package storage

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
)

func driver(t *testing.T, spec string) *storagev1.CSIDriver {
	t.Helper()
	return checktest.Decode[storagev1.CSIDriver](t, `{"spec":{`+spec+`}}`)
}

func TestCSIDriver(t *testing.T) {
	for _, tt := range []struct{ spec, want string }{
		{``, ``},
		{`"fsGroupPolicy":"None","tokenRequests":[{"audience":"","expirationSeconds":600},{"audience":"a","expirationSeconds":4294967296},{"audience":"b"}],
			"volumeLifecycleModes":["Ephemeral","Persistent"],"nodeAllocatableUpdatePeriodSeconds":10,"serviceAccountTokenInSecrets":false`, ``},
		{`"fsGroupPolicy":"Odd","tokenRequests":[{"audience":"a","expirationSeconds":599},{"audience":"a","expirationSeconds":1},{"audience":"b","expirationSeconds":4294967297}],
			"volumeLifecycleModes":["Odd"],"nodeAllocatableUpdatePeriodSeconds":9`, `
spec.fsGroupPolicy: Unsupported value: "Odd": supported values: "File", "None", "ReadWriteOnceWithFSType"
spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes
spec.tokenRequests[1].audience: Duplicate value: "a"
spec.tokenRequests[2].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds
spec.volumeLifecycleModes: Unsupported value: "Odd": supported values: "Persistent", "Ephemeral"
spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds`},
		{`"serviceAccountTokenInSecrets":true`,
			`spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no tokenRequests are specified`},
	} {
		checktest.Want(t, write(t, "csidrivers", driver(t, tt.spec), nil), tt.want)
	}
}

func TestCSIDriverUpdate(t *testing.T) {
	for _, tt := range []struct {
		spec       string
		generation int64
		want       string
	}{
		{``, 0, ``},
		{`"preventPodSchedulingIfMissing":true`, 0, ``}, // the field is dropped
		{`"podInfoOnMount":true,"storageCapacity":true,"fsGroupPolicy":"File","requiresRepublish":true,"seLinuxMount":true`, 1, ``},
		{`"attachRequired":false,"volumeLifecycleModes":["Ephemeral"]`, 1, `
spec.attachedRequired: Invalid value: false: field is immutable
spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable`},
	} {
		d := driver(t, tt.spec)
		checktest.Want(t, write(t, "csidrivers", d, driver(t, ``)), tt.want)
		if d.Generation != tt.generation {
			t.Errorf("%s: got generation %d, want %d", tt.spec, d.Generation, tt.generation)
		}
	}
	d := driver(t, `"preventPodSchedulingIfMissing":true`)
	if write(t, "csidrivers", d, nil); d.Spec.PreventPodSchedulingIfMissing != nil || d.Generation != 0 {
		t.Errorf("a new driver: got %+v, want no field that is not served, and no generation", d)
	}
	d = driver(t, `"preventPodSchedulingIfMissing":false`)
	if write(t, "csidrivers", d, driver(t, `"preventPodSchedulingIfMissing":true`)); d.Spec.PreventPodSchedulingIfMissing == nil {
		t.Error("an old driver with a field that is not served may not change it")
	}
}

func TestCSIDriverWarnings(t *testing.T) {
	const advice = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"
	const tokens = `"tokenRequests":[{"audience":"a"}]`
	wantWarnings(t, driverWarnings(driver(t, tokens), nil), advice)
	wantWarnings(t, driverWarnings(driver(t, tokens+`,"serviceAccountTokenInSecrets":false`), nil), "")
	wantWarnings(t, driverWarnings(driver(t, ``), nil), "")
	wantWarnings(t, driverWarnings(driver(t, tokens), driver(t, tokens)), "")
	wantWarnings(t, driverWarnings(driver(t, tokens), driver(t, ``)), advice)
}

func TestCSINode(t *testing.T) {
	node := func(drivers string) *storagev1.CSINode {
		return checktest.Decode[storagev1.CSINode](t, `{"spec":{"drivers":[`+drivers+`]}}`)
	}
	id := strings.Repeat("i", 257)
	for _, tt := range []struct{ old, drivers, want string }{
		{``, `{"name":"A.example.com","nodeID":"` + id[1:] + `","topologyKeys":["a","example.com/b"],"allocatable":{"count":0}},{"name":"b","nodeID":"i","topologyKeys":null,"allocatable":{}}`, ``},
		{``, `{"name":"","nodeID":"","topologyKeys":["","a","a"],"allocatable":{"count":-1}},{"name":"","nodeID":"` + id + `"}`, `
spec.drivers[0].name: Required value
spec.drivers[0].nodeID: Required value
spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0
spec.drivers[0]: Required value
spec.drivers[0]: Invalid value: "": name part must be non-empty
spec.drivers[0]: Invalid value: "": ` + qualified + `
spec.drivers[0]: Duplicate value: "a"
spec.drivers[1].name: Required value
spec.drivers[1].nodeID: Invalid value: "` + id + `": must be 256 characters or less
spec.drivers[1].name: Duplicate value: ""`},

		{`{"name":"a","nodeID":"i"},{"name":"b","nodeID":"i"}`, `{"name":"a","nodeID":"i","allocatable":{"count":1}},{"name":"c","nodeID":"j"}`, ``},
		{`{"name":"a","nodeID":"i","topologyKeys":["k"],"allocatable":{"count":1}}`, `{"name":"a","nodeID":"j","allocatable":{"count":2}}`,
			`spec.drivers: Invalid value: {"Name":"a","NodeID":"j","TopologyKeys":null,"Allocatable":null}: field is immutable`},
		{`{"name":"a","nodeID":"i"}`, `{"name":"a","nodeID":"j"},{"name":"a","nodeID":"i"},{"name":"a","nodeID":"k"}`, `
spec.drivers[1].name: Duplicate value: "a"
spec.drivers[2].name: Duplicate value: "a"
spec.drivers: Invalid value: {"Name":"a","NodeID":"j","TopologyKeys":null,"Allocatable":null}: field is immutable
spec.drivers: Invalid value: {"Name":"a","NodeID":"k","TopologyKeys":null,"Allocatable":null}: field is immutable`},
	} {
		var old *storagev1.CSINode
		if tt.old != "" {
			old = node(tt.old)
		}
		checktest.Want(t, write(t, "csinodes", node(tt.drivers), old), tt.want)
	}
	old, now := node(`{"name":"a","nodeID":"i","allocatable":{"count":1}}`), node(`{"name":"a","nodeID":"i","allocatable":{"count":2}}`)
	if write(t, "csinodes", now, old); *now.Spec.Drivers[0].Allocatable.Count != 2 || *old.Spec.Drivers[0].Allocatable.Count != 1 {
		t.Error("the check of a change changes the objects")
	}
}

func TestCSIStorageCapacity(t *testing.T) {
	const old = `{"metadata":{"namespace":"n","resourceVersion":"1"},"storageClassName":"c","nodeTopology":{"matchLabels":{"a":"b"}}}`
	for _, tt := range []struct{ old, in, want string }{
		{``, `{"storageClassName":"c","capacity":"0","maximumVolumeSize":"-1","nodeTopology":{}}`, ``},
		{``, `{"storageClassName":"C","capacity":"-1","nodeTopology":{"matchLabels":{"a b":""}}}`, `
nodeTopology.matchLabels: Invalid value: "a b": ` + qualified + `
storageClassName: Invalid value: "C": ` + checktest.Subdomain + `
capacity: Invalid value: "-1": must be greater than or equal to 0`},
		{old, strings.Replace(old, `"storageClassName"`, `"capacity":"1Gi","maximumVolumeSize":"1Gi","storageClassName"`, 1), ``},
		{old, `{"metadata":{"namespace":"n","resourceVersion":"1","finalizers":["plain"]},"storageClassName":"d","nodeTopology":{}}`, `
metadata.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified
nodeTopology: Invalid value: {}: field is immutable
storageClassName: Invalid value: "d": field is immutable`},
		{old, `{"metadata":{"namespace":"n","resourceVersion":"1"},"storageClassName":"c"}`, `nodeTopology: Invalid value: null: field is immutable`},
	} {
		var was *storagev1.CSIStorageCapacity
		if tt.old != "" {
			was = checktest.Decode[storagev1.CSIStorageCapacity](t, tt.old)
		}
		checktest.Want(t, write(t, "csistoragecapacities", checktest.Decode[storagev1.CSIStorageCapacity](t, tt.in), was), tt.want)
	}
	c := checktest.Decode[storagev1.CSIStorageCapacity](t, `{"nodeTopology":{"matchLabels":{"a":"","beta.kubernetes.io/os":"","beta.kubernetes.io/arch":""},
		"matchExpressions":[{"key":"a"},{"key":"node-role.kubernetes.io/master"}]}}`)
	wantWarnings(t, storageCapacityWarnings(c, nil), `nodeTopology.matchExpressions[1].key: node-role.kubernetes.io/master is use "node-role.kubernetes.io/control-plane" instead
nodeTopology.matchLabels.beta.kubernetes.io/arch: deprecated since v1.14; use "kubernetes.io/arch" instead
nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead`)
	wantWarnings(t, storageCapacityWarnings(&storagev1.CSIStorageCapacity{}, nil), "")
}
