package podspec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

func TestWarnings(t *testing.T) {
	pod := decode(t, `{"metadata":{"annotations":{"seccomp.security.alpha.kubernetes.io/pod":"x"}},
		"spec":{"nodeSelector":{"beta.kubernetes.io/os":"linux"},"imagePullSecrets":[{"name":"s"},{"name":"s"}],
		"volumes":[{"name":"g","gitRepo":{"repository":"r"}}],"topologySpreadConstraints":[{"topologyKey":"k"}],
		"containers":[{"name":"c","image":"i","env":[{"name":"A"},{"name":"A"}],"ports":[{"containerPort":80},{"containerPort":80}],
		"resources":{"limits":{"memory":"0.5"}}}]}}`)
	*pod.Spec.TerminationGracePeriodSeconds = -1 // for a pod, defaulting sets 1; for a template, -1 stays
	want := []string{
		`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`,
		`spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod`,
		`spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+`,
		`spec.imagePullSecrets[1].name: duplicate name "s"`,
		`metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead`,
		`spec.containers[0].resources.limits[memory]: fractional byte value "500m" is invalid, must be an integer`,
		`spec.containers[0].resources.requests[memory]: fractional byte value "500m" is invalid, must be an integer`,
		`spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply`,
		`spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]`,
		`spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
	}
	got := Warnings(nil, &pod.Spec, &pod.ObjectMeta)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestMoreWarnings checks warnings that exclude each other in one pod.
func TestMoreWarnings(t *testing.T) {
	const zone, soft = "failure-domain.beta.kubernetes.io/zone", "preferredDuringSchedulingIgnoredDuringExecution"
	const oldZone = zone + ` is deprecated since v1.17; use "topology.kubernetes.io/zone" instead`
	for _, tt := range []struct{ metadata, spec, want string }{
		{``, `"terminationGracePeriodSeconds":0,"imagePullSecrets":[{"name":"s"},{"name":"t"}],"topologySpreadConstraints":[{"topologyKey":"topology.kubernetes.io/zone","labelSelector":{}}]`, ``},
		{``, `"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a"},{"key":"` + zone + `"}]}]},
			"` + soft + `":[{"preference":{"matchExpressions":[{"key":"` + zone + `"}]}}]}},"topologySpreadConstraints":[{"topologyKey":"` + zone + `","labelSelector":{}}]`, `
spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].key: ` + oldZone + `
spec.affinity.nodeAffinity.` + soft + `[0].preference.matchExpressions[0].key: ` + oldZone + `
spec.topologySpreadConstraints[0].topologyKey: ` + oldZone},
		{`"container.seccomp.security.alpha.kubernetes.io/c":"x","container.apparmor.security.beta.kubernetes.io/c":"x","security.alpha.kubernetes.io/sysctls":"x",
			"security.alpha.kubernetes.io/unsafe-sysctls":"x","other":"x","scheduler.alpha.kubernetes.io/critical-pod":"x","container.seccomp.security.alpha.kubernetes.io/none":"x"`, `"containers":[{"name":"c"}]`, `
metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead
metadata.annotations[security.alpha.kubernetes.io/sysctls]: non-functional in v1.11+; use the "sysctls" field instead
metadata.annotations[security.alpha.kubernetes.io/unsafe-sysctls]: non-functional in v1.11+; use the "sysctls" field instead
metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: non-functional in v1.27+; use the "seccompProfile" field instead`},
		{``, `"volumes":[{"name":"a","photonPersistentDisk":{"pdID":"p"}},{"name":"b","scaleIO":{}},{"name":"c","flocker":{}},{"name":"d","storageos":{}},{"name":"e","quobyte":{}},
			{"name":"f","glusterfs":{}},{"name":"g","cephfs":{}},{"name":"h","rbd":{}},{"name":"i","ephemeral":{"volumeClaimTemplate":{"spec":{"resources":{"limits":{"storage":"1"},
			"requests":{"storage":"1500m"}}}}}},{"name":"j","ephemeral":{}}]`, `
spec.volumes[0].photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+
spec.volumes[1].scaleIO: deprecated in v1.16, non-functional in v1.22+
spec.volumes[2].flocker: deprecated in v1.22, non-functional in v1.25+
spec.volumes[3].storageOS: deprecated in v1.22, non-functional in v1.25+
spec.volumes[4].quobyte: deprecated in v1.22, non-functional in v1.25+
spec.volumes[5].glusterfs: deprecated in v1.25, non-functional in v1.26+
spec.volumes[6].cephfs: deprecated in v1.28, non-functional in v1.31+
spec.volumes[7].rbd: deprecated in v1.28, non-functional in v1.31+
spec.volumes[8].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`},
		{``, `"hostAliases":[{"ip":"::1"},{"ip":"::2"},{"ip":"::1"}],"imagePullSecrets":[{},{}]`, `
spec.hostAliases[2].ip: duplicate ip "::1"
spec.imagePullSecrets[1].name: duplicate name ""
spec.imagePullSecrets[0].name: invalid empty name ""
spec.imagePullSecrets[1].name: invalid empty name ""`},
		{``, `"overhead":{"memory":"1m","cpu":"1m"},"resources":{"limits":{"memory":"1m"},"requests":{"ephemeral-storage":"1m"}}`, `
spec.overhead[memory]: fractional byte value "1m" is invalid, must be an integer`},
		{``, `"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k","labelSelector":{}},{"topologyKey":"k"}]},
			"podAntiAffinity":{"` + soft + `":[{"podAffinityTerm":{"topologyKey":"k"}}]}}`, `
spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].labelSelector: a null labelSelector results in matching no pod
spec.affinity.podAntiAffinity.` + soft + `[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod`},
		{``, `"containers":[{"name":"c","image":"i","env":[{"name":"A","value":"a"},{"name":"A","value":"$(A)b"},{"name":"A","value":"$(A)"},{"name":"A","value":"$(B)"},
			{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}]`, `
spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply
spec.containers[0].env[3]: hides previous definition of "A", which may be dropped when using apply
spec.containers[0].env[4]: hides previous definition of "A", which may be dropped when using apply`},
		{``, `"initContainers":[{"name":"c","image":"i","ports":[{"containerPort":1},{"containerPort":1,"protocol":"UDP"}],"env":[{"name":"A"},{"name":"B"}]}]`, ``},
	} {
		pod := new(corev1.Pod)
		if err := json.Unmarshal([]byte(`{"metadata":{"annotations":{`+tt.metadata+`}},"spec":{`+tt.spec+`}}`), pod); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Warnings(nil, &pod.Spec, &pod.ObjectMeta), "\n"); got != strings.TrimSpace(tt.want) {
			t.Errorf("warnings of %s:\ngot  %s\nwant %s", tt.spec, got, tt.want)
		}
	}
}

// TestManyWarnings checks that a pod with very many flaws does not get more warnings than a client
// is sent.
func TestManyWarnings(t *testing.T) {
	pod := decode(t, `{"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	const many = 40_000
	ctr := &pod.Spec.Containers[0]
	for range many {
		ctr.Env = append(ctr.Env, corev1.EnvVar{Name: "A", Value: "b"})
		ctr.Ports = append(ctr.Ports, corev1.ContainerPort{ContainerPort: 80})
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{})
	}
	var got []string
	allocs := testing.AllocsPerRun(1, func() { got = Warnings(nil, &pod.Spec, &pod.ObjectMeta) })
	if len(got) > maxWarnings || allocs > 50*maxWarnings {
		t.Errorf("got %d warnings with %v allocations", len(got), allocs)
	}
	// The kept warnings are already longer than the response headers may be: more would be cut off.
	if sum := len(strings.Join(got, "")); sum < 4<<10 {
		t.Errorf("got warnings of %d bytes", sum)
	}
}
