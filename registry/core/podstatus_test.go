package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// TestContainerTransitions: a container that has ended may run again if its restart rules, its
// restart policy or the policy of its pod allow it. A container that is not in the spec may not. As
// in Kubernetes, the index in the error is the index in the old status.
func TestContainerTransitions(t *testing.T) {
	const refused = `status.%s[1].state: Forbidden: may not be transitioned to non-terminated state`
	rules := func(rule string) string { return `"restartPolicy":"Never","restartPolicyRules":[` + rule + `]` }
	for _, tt := range []struct {
		name, policy, container string // fields of the container beside its name, which is c
		exit                    int
		again                   bool
	}{
		{"always", "Always", ``, 0, true},
		{"never", "Never", ``, 1, false},
		{"on failure, failed", "OnFailure", ``, 1, true},
		{"on failure, done", "OnFailure", ``, 0, false},
		{"own never", "Always", `"restartPolicy":"Never"`, 1, false},
		{"own on failure", "Never", `"restartPolicy":"OnFailure"`, 1, true},
		{"rule for it", "Never", rules(`{"action":"Restart","exitCodes":{"operator":"In","values":[3,4]}}`), 4, true},
		{"rule for others", "Never", rules(`{"action":"Restart","exitCodes":{"operator":"In","values":[3,4]}}`), 5, false},
		{"rule against it", "Never", rules(`{"action":"Restart","exitCodes":{"operator":"NotIn","values":[3]}}`), 3, false},
		{"rule against others", "Never", rules(`{"action":"Restart","exitCodes":{"operator":"NotIn","values":[3]}}`), 4, true},
		{"all of them", "Never", rules(`{"action":"RestartAllContainers","exitCodes":{"operator":"In","values":[9]}}`), 1, true},
		{"none of the pod's", "Always", `"name":"other"`, 1, false},
	} {
		for spec, status := range map[string]string{"containers": "containerStatuses", "initContainers": "initContainerStatuses"} {
			ctr := `{"name":"c","image":"i"`
			if tt.container != "" {
				ctr += "," + tt.container
			}
			base := fmt.Sprintf(`{"spec":{"restartPolicy":%q,%q:[%s}]},"status":{"qosClass":"BestEffort",%q:`, tt.policy, spec, ctr, status)
			old := fmt.Sprintf(`%s[{"name":"b","state":{"running":{}}},{"name":"c","state":{"terminated":{"exitCode":%d}}}]}}`, base, tt.exit)
			now := base + `[{"name":"c","state":{"running":{}}},{"name":"b","state":{"running":{}}}]}}`
			want := ""
			if !tt.again {
				want = fmt.Sprintf(refused, status)
			}
			t.Run(tt.name+" "+spec, func(t *testing.T) {
				checktest.Want(t, update(resource(t, "pods"), "status", checktest.Decode[corev1.Pod](t, now), checktest.Decode[corev1.Pod](t, old)), want)
			})
		}
	}
}

// TestStatusOfResources: the status is checked for users, allocated resources and claims.
func TestStatusOfResources(t *testing.T) {
	r := resource(t, "pods")
	spec := `"spec":{"resourceClaims":[{"name":"claim"}],"containers":[{"name":"c","image":"i","resources":{"requests":{"example.com/gpu":"1"},
		"claims":[{"name":"claim","request":"one"},{"name":"whole"}]}}]},"status":{"qosClass":"Burstable"`
	const format = `must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty`
	const unasked = `must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests`
	long := strings.Repeat("x", 1025)
	for _, tt := range []struct{ name, status, want string }{
		{"user", `"containerStatuses":[{"name":"c","user":{"linux":{"uid":-1,"gid":0,"supplementalGroups":[1,-2]}}}]`, `
status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive
status.containerStatuses[0].user.linux.supplementalGroups[1]: Invalid value: -2: must be between 0 and 2147483647, inclusive`},
		{"asked for", `"containerStatuses":[{"name":"c","allocatedResourcesStatus":[{"name":"example.com/gpu","resources":[{"resourceID":"a","health":"Healthy","message":"m"}]},
			{"name":"claim:claim/one"},{"name":"claim:whole"}]},{"name":"unknown","allocatedResourcesStatus":[{"name":"any"}]}]`, ``},
		{"not asked for", `"initContainerStatuses":[{"name":"c","allocatedResourcesStatus":[{"name":"any"}]}],"containerStatuses":[{"name":"c","allocatedResourcesStatus":[{"name":"cpu"},
			{"name":"claim:claim"},{"name":"claim:whole/one"}]}]`, `
status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "cpu": must match one of the container's resource requests
status.containerStatuses[0].allocatedResourcesStatus[1].name: Invalid value: "claim:claim": ` + format + `
status.containerStatuses[0].allocatedResourcesStatus[2].name: Invalid value: "claim:whole/one": ` + format},
		{"health", `"containerStatuses":[{"name":"u","allocatedResourcesStatus":[{"name":"r","resources":[{"resourceID":"a","health":"Ill","message":""},{"resourceID":"a","health":"Unknown","message":"` + long + `"}]}]}]`, `
status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported value: "Ill": supported values: "Healthy", "Unhealthy", "Unknown"
status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: Required value: must be non-empty if specified
status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].message: Too long: may not be more than 1024 bytes
status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID: Duplicate value: "a"`},
		{"ephemeral", `"ephemeralContainerStatuses":[{"name":"e","allocatedResourcesStatus":[{"name":"cpu"}]}]`,
			`status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status`},
		{"claims", `"resourceClaimStatuses":[{"name":"claim","resourceClaimName":"made"},{"name":"none"},{"name":"claim","resourceClaimName":"A"}]`, `
status.resourceClaimStatuses[1].name: Invalid value: "none": must match the name of an entry in ` + "`spec.resourceClaims`" + `
status.resourceClaimStatuses[2].name: Duplicate value: "claim"
status.resourceClaimStatuses[2].resourceClaimName: Invalid value: "A": ` + checktest.Subdomain},
		{"extended claim", `"extendedResourceClaimStatus":{"resourceClaimName":"made","requestMappings":[{"containerName":"c","resourceName":"example.com/gpu","requestName":"r"}]}`, ``},
		{"empty extended claim", `"extendedResourceClaimStatus":{}`, `
status.extendedResourceClaimStatus.requestMappings: Required value: at least one request mapping is required
status.extendedResourceClaimStatus.resourceClaimName: Required value`},
		{"wrong extended claim", `"extendedResourceClaimStatus":{"resourceClaimName":"A","requestMappings":[{"containerName":"d","resourceName":"r","requestName":"a.b"},
			{"containerName":"c","resourceName":"r","requestName":"r"},{"containerName":"c","resourceName":"r","requestName":"r"}]}`, `
status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: "d": must match the name of an entry in spec.initContainers.name or spec.containers.name
status.extendedResourceClaimStatus.requestName: Invalid value: "a.b": must not contain dots
status.extendedResourceClaimStatus.requestMappings[1].resourceName: Invalid value: "r": ` + unasked + `
status.extendedResourceClaimStatus.requestMappings[2].resourceName: Invalid value: "r": ` + unasked + `
status.extendedResourceClaimStatus.requestMappings[2].containerName: Duplicate value: "c"
status.extendedResourceClaimStatus.requestMappings[2].resourceName: Duplicate value: "r"
status.extendedResourceClaimStatus.requestMappings[2].requestName: Duplicate value: "r"
status.extendedResourceClaimStatus.resourceClaimName: Invalid value: "A": ` + checktest.Subdomain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old, now := checktest.Decode[corev1.Pod](t, `{`+spec+`}}`), checktest.Decode[corev1.Pod](t, `{`+spec+`,`+tt.status+`}}`)
			checktest.Want(t, update(r, "status", now, old), tt.want)
		})
	}
	windows := checktest.Decode[corev1.Pod](t, `{"spec":{"os":{"name":"windows"},"containers":[{"name":"c","image":"i"}]},"status":{"containerStatuses":[{"name":"c","user":{"linux":{"uid":1,"gid":1}}}]}}`)
	checktest.Want(t, update(r, "status", windows, checktest.Decode[corev1.Pod](t, `{"spec":{"os":{"name":"windows"},"containers":[{"name":"c","image":"i"}]}}`)),
		`status.containerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod`)
}

// TestStatusGenerations: if a status leaves out generations, the old ones stay. Those of conditions
// are found by type and order.
func TestStatusGenerations(t *testing.T) {
	const spec = `"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"qosClass":"BestEffort"`
	old := checktest.Decode[corev1.Pod](t, `{`+spec+`,"observedGeneration":4,"conditions":[{"type":"Ready","observedGeneration":1},{"type":"a/b","observedGeneration":2},{"type":"a/b","observedGeneration":3}]}}`)
	now := checktest.Decode[corev1.Pod](t, `{`+spec+`,"conditions":[{"type":"a/b"},{"type":"a/b","observedGeneration":9},{"type":"a/b"},{"type":"Ready"},{"type":"New"}]}}`)
	checktest.Want(t, update(resource(t, "pods"), "status", now, old), "")
	got := []int64{now.Status.ObservedGeneration}
	for _, c := range now.Status.Conditions {
		got = append(got, c.ObservedGeneration)
	}
	if want := "[4 2 9 0 1 0]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	now.Status.ObservedGeneration = 5
	update(resource(t, "pods"), "status", now, old)
	if now.Status.ObservedGeneration != 5 {
		t.Errorf("got generation %d, want the new one", now.Status.ObservedGeneration)
	}
}

// TestStatusAddresses: an old address that is not canonical may stay, with a warning. A new one is
// refused.
func TestStatusAddresses(t *testing.T) {
	r := resource(t, "pods")
	const spec = `"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"qosClass":"BestEffort"`
	odd := `{` + spec + `,"podIPs":[{"ip":"010.0.0.1"}],"hostIP":"FD00::1","hostIPs":[{"ip":"FD00::1"}]}}`
	checktest.Want(t, update(r, "status", checktest.Decode[corev1.Pod](t, odd), checktest.Decode[corev1.Pod](t, odd)), "")
	checktest.Want(t, update(r, "status", checktest.Decode[corev1.Pod](t, odd), checktest.Decode[corev1.Pod](t, `{`+spec+`}}`)),
		`status.podIPs[0]: Invalid value: "010.0.0.1": must not have leading 0s`)
	want := `status.podIPs[0].ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"
status.hostIPs[0].ip: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")`
	if got := strings.Join(r.Status.Warnings(checktest.Decode[corev1.Pod](t, odd), nil), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestPodNameWarning: a pod whose name cannot be a host name gets a warning.
func TestPodNameWarning(t *testing.T) {
	r := resource(t, "pods")
	pod := checktest.Decode[corev1.Pod](t, `{"metadata":{"name":"a.b"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	const want = "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]"
	if got := r.Strategy.Warnings(pod, nil); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := r.Strategy.Warnings(pod, pod); len(got) > 0 {
		t.Errorf("an update: got %q, want none", got)
	}
}

// TestNodeFeatures: the features of a node must be well-formed, sorted and unique. Pod ranges that
// are not canonical get a warning.
func TestNodeFeatures(t *testing.T) {
	r := resource(t, "nodes")
	const form = `must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), ` +
		`and contain only alphanumeric characters and slashes`
	good := checktest.Decode[corev1.Node](t, `{"status":{"declaredFeatures":["A","A/b","B2"],"nodeInfo":{"swap":{"capacity":1}}}}`)
	checktest.Want(t, r.Strategy.Validate(good, nil), "")
	bad := `{"status":{"declaredFeatures":["B","A","A","a/B"]}}`
	wrong := `
status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically
status.declaredFeatures[2]: Duplicate value: "A"
status.declaredFeatures[3]: Invalid value: "a/B": invalid feature name "a/B": ` + form
	checktest.Want(t, r.Strategy.Validate(checktest.Decode[corev1.Node](t, bad), nil), wrong)
	checktest.Want(t, update(r, "status", checktest.Decode[corev1.Node](t, bad), checktest.Decode[corev1.Node](t, `{}`)), wrong)
	checktest.Want(t, r.Strategy.Validate(checktest.Decode[corev1.Node](t, `{"status":{"nodeInfo":{"swap":{"capacity":0}}}}`), nil),
		`metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero`)
	long := "A" + strings.Repeat("b", 253)
	checktest.Want(t, r.Strategy.Validate(checktest.Decode[corev1.Node](t, `{"status":{"declaredFeatures":["`+long+`"]}}`), nil),
		fmt.Sprintf(`status.declaredFeatures[0]: Invalid value: %q: invalid feature name %q: must be no more than 253 characters`, long, long))
	got := r.Strategy.Warnings(checktest.Decode[corev1.Node](t, `{"spec":{"podCIDRs":["10.0.0.0/24","FD00::/64"]}}`), nil)
	if want := `spec.podCIDRs[1]: IPv6 CIDR value "FD00::/64" should be in RFC 5952 canonical format ("fd00::/64")`; len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
