package podspec

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

func TestWarnings(t *testing.T) {
	pod := decode(t, `{"metadata":{"annotations":{"seccomp.security.alpha.kubernetes.io/pod":"x"}},
		"spec":{"nodeSelector":{"beta.kubernetes.io/os":"linux"},"terminationGracePeriodSeconds":-1,"imagePullSecrets":[{"name":"s"},{"name":"s"}],
		"volumes":[{"name":"g","gitRepo":{"repository":"r"}}],"topologySpreadConstraints":[{"topologyKey":"k"}],
		"containers":[{"name":"c","image":"i","env":[{"name":"A"},{"name":"A"}],"ports":[{"containerPort":80},{"containerPort":80}],
		"resources":{"limits":{"memory":"0.5"}}}]}}`)
	want := []string{
		`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`,
		`metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead`,
		`spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+`,
		`spec.imagePullSecrets[1]: duplicate name "s"`,
		`spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply`,
		`spec.containers[0].resources.limits[memory]: fractional byte value "500m" is invalid, must be an integer`,
		`spec.containers[0].resources.requests[memory]: fractional byte value "500m" is invalid, must be an integer`,
		`spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]`,
		`spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
		`spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod`,
	}
	got := Warnings(nil, &pod.Spec, &pod.ObjectMeta)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestManyWarnings: of a variable that is set without end, as much is told as a client is sent.
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
	// What is left out would not be sent: warnings of this length fill more than the headers.
	if sum := len(strings.Join(got, "")); sum < 4<<10 {
		t.Errorf("got warnings of %d bytes", sum)
	}
}
